#include "storage/store.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "storage/starts/start_words.hpp"

namespace cairn {

Error no_such_run(const std::string& id) { return {Code::not_found, "Expected run " + id + ", but there is none."}; }

std::optional<FoundStart> start_to_come(Store& store, const RunId& id) {
  std::optional<FoundStart> found = is_derived(id) ? store.starts().start_of_run(id) : std::nullopt;
  return found && !found->start.refusal ? std::move(found) : std::nullopt;
}

Error no_such_run(Store& store, const RunId& id) {
  const std::optional<FoundStart> found = is_derived(id) ? store.starts().start_of_run(id) : std::nullopt;
  if (!found) return no_such_run(to_string(id));
  const std::string of =
      "graph " + found->of.graph + (found->of.key.empty() ? "" : ", key " + excerpt(Json(found->of.key), 60));
  const std::string expected = "Expected run " + to_string(id) + " to have begun, but its start ";
  if (found->start.refusal) return {Code::not_found, expected + "was refused (" + of + "): " + *found->start.refusal};
  return {Code::not_found, expected + "waits " + waits_text(*found) + " (" + of + ")."};
}

std::vector<StoredHistory> Store::histories(std::span<const HistoryRequest> requests, std::int32_t limit) {
  std::vector<StoredHistory> histories;
  histories.reserve(requests.size());
  for (const HistoryRequest& request : requests) {
    StoredHistory& history = histories.emplace_back();
    if (request.fold_version) history.snapshot = snapshots().newest(request.run, *request.fold_version, never_us);
    history.events = events(request.run, history.snapshot ? history.snapshot->seq : request.after_seq, limit);
  }
  return histories;
}

// The mark is read first: what is added after it is found by the next reading. A reader that knows the current ones
// alone has another mark, so that a reading of all of them finds the rest.
std::vector<GraphRow> new_graphs(Store& store, KnownGraphs& known, bool only_current) {
  const std::int64_t mark = only_current ? ~store.graphs().mark() : store.graphs().mark();
  if (mark == known.mark && !known.versions.empty()) return {};
  std::vector<std::string> wanted;
  std::vector<GraphRow> rows;
  for (GraphRow& row : store.graphs().names()) {
    const auto found = known.versions.find(row.version);
    if (found == known.versions.end()) {
      if (row.current || !only_current) wanted.push_back(row.version);
    } else if (std::exchange(found->second, row.current) != row.current) {
      rows.push_back(std::move(row));
    }
  }
  if (!wanted.empty())
    for (GraphRow& row : store.graphs().of(wanted)) rows.push_back(std::move(row));
  for (const GraphRow& row : rows) known.versions[row.version] = row.current;
  known.mark = mark;
  return rows;
}

}  // namespace cairn
