#include "ops/answers/run_json.hpp"

#include "engine/run_json.hpp"
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
  const Result<std::vector<Event>> page = client.events(run, wanted.after, wanted.limit);
  if (!page) return page.error();
  for (const Event& event : *page) {
    Json line = event_json(run, event);
    if (!use(wanted.raw ? line : client.expand_blobs(std::move(line), shard))) break;
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

bool has_ended_by(Store& store, const RunId& run, std::int64_t seq) {
  const std::optional<RunRow> row = store.run(run);
  return !row || (is_ended(row->status) && row->head <= seq);
}

}  // namespace cairn
