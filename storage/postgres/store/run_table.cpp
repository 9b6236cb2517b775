#include "storage/postgres/store/run_table.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "storage/clock.hpp"
#include "storage/postgres/rows.hpp"
#include "storage/postgres/store/joined_rows.hpp"

namespace cairn {
namespace {

constexpr auto loose_end_columns = std::to_array<std::string_view>({"run_id", "caller_is_open"});
constexpr auto import_columns = std::to_array<std::string_view>({"at", "actor", "origin", "file_digest", "key"});
constexpr std::size_t lineage_max = 10'000;
constexpr std::array<std::int32_t, 2> tagged_windows{1'000, 10'000};  // so many of the newest runs
constexpr std::int32_t window_min = 1'000;
constexpr std::int32_t window_growth = 8;
constexpr std::int32_t window_max = 128'000;  // less than a second's work for the server
constexpr std::int32_t window_of_events_max = 8'000;
constexpr std::int64_t windows_us_max = 20'000'000;

bool asked_earlier(const QuestionRow& a, const QuestionRow& b) {
  return std::tie(a.asked_at, a.run, a.id) < std::tie(b.asked_at, b.run, b.id);
}

// A placement may have ended for its bytes: what others have after its last row is left to the next call.
std::vector<QuestionRow> joined_until_one_ends(const std::vector<PgResult>& parts, std::int32_t limit) {
  std::optional<QuestionRow> end;
  const auto read = [&end](const PgResult& part) {
    std::vector<QuestionRow> rows = read_questions(part);
    if (!rows.empty() && (!end || asked_earlier(rows.back(), *end))) end = rows.back();
    return rows;
  };
  std::vector<QuestionRow> rows = joined(parts, read, asked_earlier, limit);
  std::erase_if(rows, [&end](const QuestionRow& row) { return asked_earlier(*end, row); });
  return rows;
}

bool newer(const RunRow& a, const RunRow& b) { return std::tie(a.started_at, a.id) > std::tie(b.started_at, b.id); }

std::vector<RunId> read_ids(const PgResult& rows) {
  std::vector<RunId> found;
  for (int row = 0; row < rows.rows(); ++row) found.push_back(rows.uuid(row, 0));
  return found;
}

// The place of a list, newest first, after which its runs come. One bound for both: of two the index may begin at the
// later one, and pass all runs between them.
std::pair<TimeUs, RunId> upper_bound(const RunFilter& filter) {
  const std::pair until(filter.until.value_or(never_us), RunId{});
  return std::min(filter.after.value_or(until), until);
}

TimeUs lower_bound(const RunFilter& filter) { return filter.since.value_or(std::numeric_limits<TimeUs>::min()); }

// It has a condition that no index knows, so that any number of runs may be passed by until one is found.
bool is_sifted(const RunFilter& filter) {
  const auto are_none = [](const std::string& text) { return text.empty(); };
  const std::array texts{filter.version, filter.reason, filter.error, filter.node, filter.tool};
  return filter.status || filter.waiting || filter.lasted_us > 0 || !std::all_of(texts.begin(), texts.end(), are_none);
}

// It reads an event of a run to know.
bool reads_events(const RunFilter& filter) {
  return !filter.error.empty() || !filter.node.empty() || !filter.tool.empty();
}

// The parameters of parts/run_filter.sql.
PgParameters filtered(const RunFilter& filter) {
  PgParameters parameters;
  filter.graph.empty() ? parameters.add_null(PgType::text) : parameters.add(filter.graph);
  filter.status ? parameters.add(to_string(*filter.status)) : parameters.add_null(PgType::text);
  filter.waiting ? parameters.add(*filter.waiting) : parameters.add_null(PgType::boolean);
  parameters.add(lower_bound(filter)).add(filter.limit);
  const auto [started_at, id] = upper_bound(filter);
  parameters.add(started_at).add(id).add(filter.until.value_or(never_us));
  filter.lasted_us > 0 ? parameters.add(filter.lasted_us) : parameters.add_null(PgType::int8);
  for (const std::string* text : {&filter.version, &filter.reason, &filter.error, &filter.node, &filter.tool})
    text->empty() ? parameters.add_null(PgType::text) : parameters.add(*text);
  filter.tags.empty() ? parameters.add_null(PgType::text) : parameters.add(canonical(Json(filter.tags)));
  return parameters;
}

}  // namespace

std::optional<RunRow> RunTable::run(const RunId& id) {
  const PgResult rows = query_of(id, "run", of_run(id));
  std::vector<RunRow> found = read_runs(rows);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::vector<std::optional<RunHead>> RunTable::heads(std::span<const RunId> runs) {
  std::map<Shard, std::vector<std::size_t>> by_shard;
  for (std::size_t at = 0; at < runs.size(); ++at) by_shard[shard_of(runs[at], shards_)].push_back(at);
  std::vector<std::optional<RunHead>> heads(runs.size());
  for (const auto& [shard, places] : by_shard) {
    PgArray ids(PgType::uuid);
    for (const std::size_t at : places) ids.add(runs[at]);
    const PgResult rows = placements_.query(shard, "run_heads", PgParameters().add(shard).add(std::move(ids)));
    for (const auto& [place, found] : read_found_runs(rows, places.size()))
      heads[places[place]] = RunHead{found.head, found.status};
  }
  return heads;
}

std::optional<ImportOrigin> RunTable::imported(const RunId& id) {
  const PgResult rows = query_of(id, "imported", of_run(id));
  rows.expect_columns(import_columns);
  if (rows.rows() == 0) return std::nullopt;
  ImportOrigin origin{rows.int8(0, 0), std::string(rows.text(0, 1)), std::string(rows.text(0, 2)), rows.hash(0, 3)};
  if (!rows.is_null(0, 4)) origin.key = rows.hash(0, 4);
  return origin;
}

std::vector<RunRow> RunTable::runs(const RunFilter& filter) {
  if (filter.limit <= 0) return {};
  if (filter.lineage) return runs_of_lineage(filter);
  if (filter.parent)
    return read_runs(query_of(*filter.parent, "runs_called",
                              filtered(filter).add(shard_of(*filter.parent, shards_)).add(*filter.parent)));
  if (!filter.tags.empty()) return runs_tagged(filter);
  return is_sifted(filter) ? runs_sifted(filter) : runs_listed(filter);
}

std::vector<RunRow> RunTable::runs_listed(const RunFilter& filter) {
  return joined(placements_.query_each(filter.graph.empty() ? "runs" : "runs_of_graph", filtered(filter)), read_runs,
                newer, filter.limit);
}

// The start of the oldest of the newest runs, so many of them; nothing if there are fewer.
std::optional<TimeUs> RunTable::end_of_window(const RunFilter& filter, std::int32_t runs) {
  const auto [started_at, id] = upper_bound(filter);
  PgParameters place = PgParameters().add(started_at).add(id).add(lower_bound(filter)).add(runs);
  if (!filter.graph.empty()) place.add(filter.graph);
  std::optional<TimeUs> end;
  for (const PgResult& part :
       placements_.query_each(filter.graph.empty() ? "window_of_runs" : "window_of_graph", place))
    if (part.rows() > 0) end = std::max(end.value_or(part.int8(0, 0)), part.int8(0, 0));
  return end;
}

// The filter for one part of the time after the other, newest first, until `take` returns false: a statement passes
// only so many runs by, and the server answers each in time, however old the runs are that are looked for. All together
// have a time as well: a caller over HTTP keeps a thread.
void RunTable::for_each_window(RunFilter filter, const std::function<bool(RunFilter&)>& take) {
  const std::optional<TimeUs> since = filter.since;
  const std::int32_t runs_max = reads_events(filter) ? window_of_events_max : window_max;
  const std::int64_t end_us = steady_us() + windows_us_max;
  for (std::int32_t runs = window_min;; runs = std::min(runs * window_growth, runs_max)) {
    if (steady_us() > end_us)
      throw StoreUnavailable("Expected to find the runs within " + std::to_string(windows_us_max / 1'000'000) +
                             " s, but too many are to be passed by; a time that they started since narrows it.");
    const std::optional<TimeUs> end = end_of_window(filter, runs);
    filter.since = end ? end : since;
    if (!take(filter) || !end) return;
    filter.since = since;
    filter.until = end;  // pairs with `since`: each run is in one window
  }
}

std::vector<RunRow> RunTable::runs_sifted(const RunFilter& filter) {
  std::vector<RunRow> rows;
  for_each_window(filter, [&](RunFilter& window) {
    window.limit = filter.limit - static_cast<std::int32_t>(rows.size());
    std::vector<RunRow> more = runs_listed(window);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return rows.size() < static_cast<std::size_t>(filter.limit);
  });
  return rows;
}

// A tag that many runs have is found among the newest of them, one that few have by its index: the first costs the
// same however many there are, and the second as much as there are of these few.
std::vector<RunRow> RunTable::runs_tagged(const RunFilter& filter) {
  for (const std::int32_t newest : tagged_windows) {
    const std::vector<PgResult> parts = placements_.query_each("runs_tagged_lately", filtered(filter).add(newest));
    if (std::all_of(parts.begin(), parts.end(), [&](const PgResult& part) { return part.rows() >= filter.limit; }))
      return joined(parts, read_runs, newer, filter.limit);
  }
  return joined(placements_.query_each("runs_tagged", filtered(filter)), read_runs, newer, filter.limit);
}

// The run's predecessors and itself, and then all successors of one of them.
std::vector<RunRow> RunTable::runs_of_lineage(const RunFilter& filter) {
  std::map<RunId, RunRow> found;
  std::vector<RunId> edge;
  for (std::optional<RunId> next = filter.lineage; next && !found.contains(*next) && found.size() < lineage_max;) {
    const std::optional<RunRow> row = run(*next);
    if (!row) break;
    found[row->id] = *row;
    edge.push_back(row->id);
    next = predecessor(*row);
  }
  while (!edge.empty() && found.size() < lineage_max) {
    PgArray ids(PgType::uuid);
    for (const RunId& id : edge) ids.add(id);
    edge.clear();
    const auto limit = static_cast<std::int32_t>(lineage_max);
    for (const PgResult& part :
         placements_.query_each("runs_coming_from", PgParameters().add(std::move(ids)).add(limit)))
      for (RunRow& row : read_runs(part)) {
        if (!found.contains(row.id)) edge.push_back(row.id);
        found.try_emplace(row.id, std::move(row));
      }
  }
  std::vector<RunRow> runs;
  for (auto& [id, row] : found) {
    if (matches(filter, row)) runs.push_back(std::move(row));
  }
  std::sort(runs.begin(), runs.end(), newer);
  if (runs.size() > static_cast<std::size_t>(filter.limit)) runs.resize(static_cast<std::size_t>(filter.limit));
  return runs;
}

std::int64_t RunTable::count(const RunFilter& filter, std::int64_t at_most) {
  RunFilter all = filter;
  all.after.reset();
  all.limit = static_cast<std::int32_t>(std::min<std::int64_t>(at_most, std::numeric_limits<std::int32_t>::max()));
  if (all.parent) return std::ssize(runs(all));
  std::int64_t count = 0;
  const auto add = [&](RunFilter& window) {
    for (const PgResult& part : placements_.query_each("count_runs", filtered(window))) count += part.int8(0, 0);
    return count < at_most;
  };
  is_sifted(all) && all.tags.empty() ? for_each_window(all, add) : static_cast<void>(add(all));
  return std::min(count, at_most);
}

std::vector<RunId> RunTable::between(const RunId& first, const RunId& last, std::int32_t limit) {
  return joined(
      placements_.query_each("runs_between", PgParameters().add(first).add(last).add(shards_).add(std::max(limit, 0))),
      read_ids, std::less<>(), limit);
}

std::vector<RunId> RunTable::orphans(OrphanMark& mark, std::int32_t limit) {
  std::vector<RunId> runs;
  for (; mark.shard < shards_; mark = {mark.shard + 1, {}}) {
    const PgResult rows =
        placements_.query(mark.shard, "orphans", PgParameters().add(mark.shard).add(mark.parent).add(limit));
    const int run = rows.column("run_id"), parent = rows.column("open_child_of"), is_orphan = rows.column("is_orphan");
    for (int row = 0; row < rows.rows(); ++row) {
      if (rows.boolean(row, is_orphan)) runs.push_back(rows.uuid(row, run));
      mark.parent = std::max(mark.parent, rows.uuid(row, parent));
    }
    limit -= rows.rows();
    if (limit <= 0) return runs;
  }
  mark = {};
  return runs;
}

std::vector<LooseEnd> RunTable::loose_ends(const RunId& after, std::int32_t limit) {
  const Shard shard = after.is_nil() ? -1 : shard_of(after, shards_);
  const auto read = [](const PgResult& rows) {
    rows.expect_columns(loose_end_columns);
    std::vector<LooseEnd> ends;
    for (int row = 0; row < rows.rows(); ++row) ends.push_back({rows.uuid(row, 0), rows.boolean(row, 1)});
    return ends;
  };
  const auto in_order = [this](const LooseEnd& a, const LooseEnd& b) {
    return std::pair(shard_of(a.run, shards_), a.run) < std::pair(shard_of(b.run, shards_), b.run);
  };
  return joined(placements_.query_each("loose_ends", PgParameters().add(shard).add(after).add(std::max(limit, 0))),
                read, in_order, limit);
}

void RunTable::tie_ends(std::span<const RunId> runs) {
  std::map<Shard, PgArray> by_shard;
  for (const RunId& run : runs) by_shard.try_emplace(shard_of(run, shards_), PgType::uuid).first->second.add(run);
  for (auto& [shard, ids] : by_shard)
    placements_.query(shard, "tie_ends", PgParameters().add(shard).add(std::move(ids)));
}

std::vector<QuestionRow> RunTable::questions(const RunId& id, std::int32_t limit) {
  if (limit <= 0) return {};
  if (id.is_nil())
    return joined(placements_.query_each("questions", PgParameters().add(limit)), read_questions, asked_earlier, limit);
  return read_questions(query_of(id, "questions_of_run", of_run(id).add(limit)));
}

std::vector<QuestionRow> RunTable::questions_after(const QuestionPlace& after, std::int32_t limit,
                                                   std::int64_t bytes_max) {
  if (limit <= 0) return {};
  const PgParameters place = PgParameters().add(after.asked_at).add(after.run).add(after.id).add(limit).add(bytes_max);
  return joined_until_one_ends(placements_.query_each("questions_after", place), limit);
}

}  // namespace cairn
