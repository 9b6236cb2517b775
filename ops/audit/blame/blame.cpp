#include "ops/audit/blame/blame.hpp"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "engine/bounds.hpp"
#include "ops/answers/words.hpp"
#include "ops/audit/blame/blame_words.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

Json text_or_none(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json outcome_json(const BlamedOutcome& outcome, const std::string& says) {
  Json links = Json::array();
  for (const BlameLink& link : outcome.leads_to)
    links.push_back({{"seq", link.seq}, {"how", to_string(link.way)}, {"name", text_or_none(link.name)}});
  return {{"seq", outcome.seq},
          {"step", outcome.step},
          {"node", text_or_none(outcome.node)},
          {"kind", to_string(outcome.kind)},
          {"who", text_or_none(outcome.who)},
          {"sub_goal", text_or_none(outcome.sub_goal)},
          {"decision", text_or_none(outcome.decision)},
          {"run", outcome.run ? Json(to_string(*outcome.run)) : Json(nullptr)},
          {"distance", outcome.distance},
          {"certain", outcome.is_certain},
          {"outside", is_from_outside(outcome.kind)},
          {"says", says},
          {"leads_to", std::move(links)}};
}

}  // namespace

ReadsOf reads_of(const HandlerTable& handlers) {
  return [&handlers](const std::string& name) {
    HandlerReads reads;
    const Handler* handler = handlers.find(name);
    if (handler == nullptr) {
      reads.all = reads.plan = true;
      return reads;
    }
    reads.channels = handler->reads;
    reads.all = std::erase(reads.channels, "*") > 0;
    reads.plan = handler->reads_plan;
    reads.given = !handler->settings.has_value();
    reads.is_pure = handler->is_pure();
    return reads;
  };
}

Status Blamer::read(const RunId& run, Blame& blame) {
  for (std::int64_t last = 0;;) {
    const std::vector<EventRow> rows = store_.events(run, last, history_page);
    if (rows.empty()) return Done{};
    try {
      for (const EventRow& row : rows) {
        const Result<Event> event = event_of(row);
        if (!event) return Error{event.error().code, "Event " + std::to_string(row.seq) + ": " + event.error().message};
        blame.add(*event);
      }
    } catch (const std::bad_alloc&) {
      return no_memory();
    } catch (const std::exception& bad) {  // CorruptHistory, or JSON of a shape that no event of ours has
      return Error{Code::corrupt, recordable(bad.what(), BlameWords::message_shown_max)};
    }
    last = rows.back().seq;
    if (rows.size() < static_cast<std::size_t>(history_page)) return Done{};
  }
}

// The values that outcomes gave, read in as few pages as hold their events. An event is not kept, as it may have
// megabytes.
Result<Blamer::Words> Blamer::words_of(const RunId& run, const BlameSlice& slice) {
  std::multimap<std::int64_t, const BlamedOutcome*> wanted = {{slice.of.seq, &slice.of}};
  for (const BlamedOutcome& cause : slice.causes) wanted.emplace(cause.seq, &cause);
  Words words;
  for (auto next = wanted.upper_bound(0); next != wanted.end();) {
    const std::int64_t first = next->first;
    const std::int64_t span = std::min<std::int64_t>(history_page, wanted.rbegin()->first - first + 1);
    for (const EventRow& row : store_.events(run, first - 1, static_cast<std::int32_t>(span))) {
      const auto [begin, end] = wanted.equal_range(row.seq);
      if (begin == end) continue;
      const Result<Event> event = event_of(row);
      if (!event) return event.error();
      for (auto one = begin; one != end; ++one) words.emplace(one->second, blame_words(*one->second, *event));
    }
    next = wanted.lower_bound(first + span);
  }
  return words;
}

Result<Json> Blamer::blame(const RunId& run, const BlameRequest& request) {
  Blame blame(run, graphs_, reads_);
  if (Status done = read(run, blame); !done) return done.error();
  const RunState& state = blame.state();
  if (state.seq == 0) return Error{Code::not_found, "Expected events of run " + to_string(run) + ", but it has none."};
  const Result<BlameSlice> slice = blame.slice(request.target, std::min(request.causes, Blame::causes_max));
  if (!slice) return slice.error();
  const Result<Words> words = words_of(run, *slice);
  if (!words) return words.error();
  const auto shown = [&words](const BlamedOutcome& outcome) {
    const auto says = words->find(&outcome);
    return outcome_json(outcome, says == words->end() ? "It is open." : says->second);
  };
  Json causes = Json::array();
  for (const BlamedOutcome& cause : slice->causes) causes.push_back(shown(cause));
  return Json{{"run", to_string(run)},
              {"graph", state.graph->name},
              {"version", state.graph->version},
              {"status", is_waiting(state) ? "waiting" : std::string(to_string(state.status))},
              {"of", shown(slice->of)},
              {"causes", std::move(causes)},
              {"left_out", slice->left_out}};
}

// --- many runs -------------------------------------------------------------------------------------------------------

void BlameReport::add(const Json& blame) {
  const std::lock_guard lock(mutex_);
  ++failed_;
  std::set<std::array<std::string, 3>> seen;
  for (const Json& cause : blame["causes"]) {
    const std::string node = cause["node"].is_null() ? "" : cause["node"].get<std::string>();
    const std::array<std::string, 3> key = {blame["graph"], node, cause["kind"]};
    if (!seen.insert(key).second) continue;  // the first one is the nearest
    Cause& of = causes_[key];
    const std::int64_t distance = cause["distance"];
    of.nearest = of.runs == 0 ? distance : std::min(of.nearest, distance);
    ++of.runs;
    if (cause["certain"] == true) ++of.certain;
    of.is_outside = cause["outside"];
    if (of.examples.size() < examples_max)
      of.examples.push_back({{"run", blame["run"]}, {"seq", cause["seq"]}, {"says", cause["says"]}});
  }
}

void BlameReport::add_other() {
  const std::lock_guard lock(mutex_);
  ++others_;
}

void BlameReport::add_fault(const RunId& run, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (++unreadable_ <= static_cast<std::int64_t>(examples_max)) faults_.emplace_back(run, message);
}

std::string BlameReport::summary() const {
  const std::lock_guard lock(mutex_);
  return counted(failed_ + others_ + unreadable_, "run") + ": " + std::to_string(failed_) + " failed, " +
         std::to_string(others_) + " did not, " + std::to_string(unreadable_) + " unreadable";
}

Json BlameReport::json() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::array<std::string, 3>, const Cause*>> sorted;
  for (const auto& [key, cause] : causes_) sorted.emplace_back(key, &cause);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.second->runs, a.second->nearest) < std::pair(-b.second->runs, b.second->nearest);
  });
  Json causes = Json::array();
  for (const auto& [key, cause] : sorted)
    causes.push_back({{"graph", key[0]},
                      {"node", text_or_none(key[1])},
                      {"kind", key[2]},
                      {"runs", cause->runs},
                      {"certain", cause->certain},
                      {"nearest", cause->nearest},
                      {"outside", cause->is_outside},
                      {"examples", cause->examples}});
  Json faults = Json::array();
  for (const auto& [run, says] : faults_) faults.push_back({{"run", to_string(run)}, {"says", says}});
  return {{"runs", failed_ + others_ + unreadable_},
          {"failed", failed_},
          {"others", others_},
          {"unreadable", unreadable_},
          {"causes", std::move(causes)},
          {"faults", std::move(faults)}};
}

}  // namespace cairn
