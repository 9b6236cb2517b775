#include "ops/audit/diff.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/run_json.hpp"
#include "ops/answers/run_json.hpp"
#include "ops/answers/usage_report.hpp"

namespace cairn {
namespace {

// An event without the fields in which two runs of one kind always differ.
Json comparable(const Event& event) {
  Json json = event_json(RunId{}, event);
  for (const char* key : {"run", "seq", "at", "actor", "worker", "started_at", "retry_at", "child", "latency_ms"})
    json.erase(key);
  return json;
}

bool is_decision(const EventBody& body) {
  const auto* record = std::get_if<Record>(&body);
  return record != nullptr &&
         (record->kind == RecordKind::decision_proposed || record->kind == RecordKind::decision_rewritten ||
          record->kind == RecordKind::decision_enforced);
}

// A side's events one after another, with their cost.
class Walk {
 public:
  Walk(const DiffSide& side, std::int64_t after) : side_(side), seq_(after) {}

  std::optional<Event> next() {
    if (seq_ >= side_.state.seq) return std::nullopt;
    if (at_ == page_.size()) {
      page_ = side_.events(seq_);
      at_ = 0;
    }
    if (at_ == page_.size()) return std::nullopt;
    Event event = std::move(page_[at_++]);
    seq_ = event.seq;
    cost_ += model_cost(event.body);
    return event;
  }

  // The remaining decisions, from `first` on.
  Json decisions_from(std::optional<Event> first) {
    Json decisions = Json::array();
    for (; first; first = next()) {
      if (is_decision(first->body)) decisions.push_back(event_json(side_.state.id, *first));
    }
    return decisions;
  }

  double cost() const { return cost_; }

 private:
  const DiffSide& side_;
  std::int64_t seq_;
  std::vector<Event> page_;
  std::size_t at_ = 0;
  double cost_ = 0;
};

// [{"path", "a"?, "b"?}]
Json changes(const Json& a, const Json& b) {
  Json list = Json::array();
  for (const Json& step : Json::diff(a, b)) {
    const std::string path = step["path"];
    Json change = {{"path", path}};
    if (step["op"] != "add") change["a"] = a.at(Json::json_pointer(path));
    if (step["op"] != "remove") change["b"] = step["value"];
    list.push_back(std::move(change));
  }
  return list;
}

// By name, so that one more or less does not shift all after it.
Json plan_by_id(const Json& plan) {
  Json by_id = Json::object();
  for (const Json& goal : plan) by_id[goal.value("id", "")] = goal;
  return by_id;
}

Json side_json(const DiffSide& side, const Walk& walk) {
  return {{"run", to_string(side.state.id)},
          {"seq", side.state.seq},
          {"status", is_waiting(side.state) ? "waiting" : std::string(to_string(side.state.status))},
          {"cost", walk.cost()},
          {"ms", (side.state.last_at - side.state.started_at) / 1000}};
}

// The last event of each side that is not compared.
std::pair<std::int64_t, std::int64_t> common_part(const RunState& a, const RunState& b) {
  if (a.id == b.id) return {std::min(a.seq, b.seq), std::min(a.seq, b.seq)};
  if (b.forked_from && b.forked_from->run == a.id && b.forked_from->seq <= a.seq) return {b.forked_from->seq, 1};
  if (a.forked_from && a.forked_from->run == b.id && a.forked_from->seq <= b.seq) return {1, a.forked_from->seq};
  return {0, 0};
}

}  // namespace

DiffSide diff_side(Client& client, RunState state) {
  const RunId run = state.id;
  return {std::move(state), [&client, run](std::int64_t after) {
            Result<std::vector<Event>> page = client.events(run, after, events_page);
            return page ? *std::move(page) : std::vector<Event>{};
          }};
}

Json diff_json(const DiffSide& a, const DiffSide& b) {
  const auto [after_a, after_b] = common_part(a.state, b.state);
  Walk walk_a(a, after_a);
  Walk walk_b(b, after_b);
  std::optional<Event> event_a = walk_a.next();
  std::optional<Event> event_b = walk_b.next();
  while (event_a && event_b && comparable(*event_a) == comparable(*event_b)) {
    event_a = walk_a.next();
    event_b = walk_b.next();
  }
  Json diff;
  diff["first"] = nullptr;
  if (event_a || event_b)
    diff["first"] = {{"a", event_a ? event_json(a.state.id, *event_a) : Json(nullptr)},
                     {"b", event_b ? event_json(b.state.id, *event_b) : Json(nullptr)}};
  diff["decisions"] = {{"a", walk_a.decisions_from(std::move(event_a))},
                       {"b", walk_b.decisions_from(std::move(event_b))}};
  const Json shown_a = state_json(a.state);
  const Json shown_b = state_json(b.state);
  diff["plan"] = changes(plan_by_id(shown_a["plan"]), plan_by_id(shown_b["plan"]));
  for (const char* part : {"channels", "budgets", "questions"}) diff[part] = changes(shown_a[part], shown_b[part]);
  diff["same"] = diff["first"].is_null();
  diff["a"] = side_json(a, walk_a);
  diff["b"] = side_json(b, walk_b);
  return diff;
}

}  // namespace cairn
