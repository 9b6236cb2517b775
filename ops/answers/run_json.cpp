#include "ops/answers/run_json.hpp"

#include <algorithm>

#include "engine/nearest.hpp"
#include "engine/run_json.hpp"
#include "ops/answers/answer_room.hpp"
#include "ops/answers/words.hpp"

namespace cairn {
namespace {

Json or_null(const std::optional<RunId>& run) { return run ? Json(to_string(*run)) : Json(nullptr); }

}  // namespace

Json run_json(const RunRow& row) {
  return {
      {"run", to_string(row.id)},
      {"graph", row.graph},
      {"version", row.version},
      {"status", status_word(row)},
      {"reason", row.reason.empty() ? Json(nullptr) : Json(row.reason)},
      {"cause", row.cause ? cause_json(*row.cause) : Json(nullptr)},
      {"events", row.head},
      {"started_at", time_text(row.started_at)},
      {"updated_at", time_text(row.updated_at)},
      {"parent", or_null(row.parent)},
      {"continues", or_null(row.continues)},
      {"forked_from",
       row.forked_from ? Json{{"run", to_string(row.forked_from->run)}, {"seq", row.forked_from->seq}} : Json(nullptr)},
      {"tags", row.tags}};
}

Result<RunState> state_at(Client& client, const RunId& run, const Moment& at) {
  if (!at.at_us) return client.state(run, at.seq);
  const Result<std::int64_t> seq = client.seq_at(run, *at.at_us);
  if (!seq) return seq.error();
  return client.state(run, *seq);
}

Status for_each_event(Client& client, const RunId& run, Shard shard, const EventsWanted& wanted,
                      const std::function<bool(const Json& line)>& use) {
  constexpr std::int32_t read_first = 16;  // few, because each may be large; more while they are small
  constexpr std::size_t read_bytes_small = 1 << 20;
  std::int32_t at_once = read_first;
  for (std::int64_t after = wanted.after, left = wanted.limit; left > 0;) {
    const auto asked = static_cast<std::int32_t>(std::min<std::int64_t>(at_once, left));
    const Result<std::vector<Event>> page = client.events(run, after, asked);
    if (!page) return page.error();
    AnswerRoom small(read_bytes_small);
    bool is_small = true;
    for (const Event& event : *page) {
      Json line = event_json(run, event);
      if (!wanted.raw) line = client.expand_blobs(std::move(line), shard);
      is_small = is_small && small.take(line);
      if (!use(line)) return Done{};
    }
    if (page->size() < static_cast<std::size_t>(asked)) return Done{};
    after = page->back().seq;
    left -= asked;
    at_once = is_small ? at_once * 4 : read_first;
  }
  return Done{};
}

Result<std::vector<Json>> event_lines(Client& client, const RunId& run, Shard shard, const EventsWanted& wanted) {
  std::vector<Json> lines;
  const Status read = for_each_event(client, run, shard, wanted, [&lines](const Json& line) {
    lines.push_back(line);
    return true;
  });
  if (!read) return read.error();
  return lines;
}

std::string hint_at_signal(Client& client, const RunId& run, const std::string& name) {
  const Result<RunState> state = client.state(run);
  if (!state) return "";
  std::vector<std::string> known;
  for (const Node& node : state->graph->nodes)
    if (const auto* wait = node.as<WaitNode>(); wait != nullptr && wait->signal) known.push_back(*wait->signal);
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  return "No node of graph " + state->graph->name + " waits for a signal " + name + did_you_mean(name, known) +
         "; it is kept for nothing.";
}

Json signal_json(Client& client, const RunId& run, const SignalRequest& sent) {
  const std::string hint = hint_at_signal(client, run, sent.name);
  Json shown = {{"run", to_string(run)},
                {"signal", sent.name},
                {"id", sent.id.empty() ? Json(nullptr) : Json(sent.id)},
                {"waited_for", hint.empty()}};
  if (!hint.empty()) shown["hint"] = hint;
  return shown;
}

bool has_ended_by(Store& store, const RunId& run, std::int64_t seq) {
  const std::optional<RunRow> row = store.run(run);
  return !row || (is_ended(row->status) && row->head <= seq);
}

}  // namespace cairn
