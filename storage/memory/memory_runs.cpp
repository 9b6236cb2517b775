#include "storage/memory/memory_runs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "engine/event_types.hpp"
#include "storage/commit_rules.hpp"

namespace cairn {
namespace {

// With the cause of its failure, as its last event has it.
// With the cause of its failure, as its last event has it.
RunRow with_cause(const StoredRun& run) {
  RunRow row = run.row;
  if (row.status != RunStatus::failed && row.status != RunStatus::aborted) return row;
  const EventRow& last = run.events.back();
  if (last.type == event_type_of<RunFinished>.number)
    row.cause = read_cause(parse_stored(last.payload).value("cause", Json()));
  return row;
}

// Whether the run has ended, or gave this child up to clean up.
// Whether the run has ended, or gave this child up to clean up.
bool is_given_up(const StoredRun& run, const RunId& child) {
  if (is_ended(run.row.status)) return true;
  return std::any_of(run.events.begin(), run.events.end(), [&](const EventRow& event) {
    if (event.type != event_type_of<RunEnding>.number) return false;
    const Json children = parse_stored(event.payload).at("closed").at("children");
    return std::find(children.begin(), children.end(), Json(to_string(child))) != children.end();
  });
}

// "" is called by every run.
// "" is called by every run.
bool has_called(const StoredRun& run, const std::string& tool) {
  return tool.empty() || std::any_of(run.events.begin(), run.events.end(), [&](const EventRow& event) {
           return record_kind(event.type) == RecordKind::tool_called &&
                  parse_stored(event.payload).value("tool", Json()) == tool;
         });
}

std::set<RunId> lineage_of(const MemoryRows& rows, const RunId& id) {
  std::set<RunId> lineage;
  for (std::optional<RunId> next = id; next && rows.runs.contains(*next) && lineage.insert(*next).second;) {
    next = predecessor(rows.runs.at(*next).row);
  }
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [run, stored] : rows.runs) {
      const RunRow& row = stored.row;
      const bool is_next = (row.continues && lineage.contains(*row.continues)) ||
                           (row.forked_from && lineage.contains(row.forked_from->run));
      grew = (is_next && lineage.insert(run).second) || grew;
    }
  }
  return lineage;
}

}  // namespace

std::optional<RunRow> MemoryRuns::run(const RunId& id) {
  const std::lock_guard lock(rows_.mutex);
  const auto found = rows_.runs.find(id);
  if (found == rows_.runs.end()) return std::nullopt;
  return with_cause(found->second);
}

std::vector<std::optional<RunHead>> MemoryRuns::heads(std::span<const RunId> runs) {
  const std::lock_guard lock(rows_.mutex);
  std::vector<std::optional<RunHead>> heads;
  for (const RunId& id : runs) {
    const auto found = rows_.runs.find(id);
    const bool is_there = found != rows_.runs.end();
    heads.push_back(is_there ? std::optional(RunHead{found->second.row.head, found->second.row.status}) : std::nullopt);
  }
  return heads;
}

std::vector<RunRow> MemoryRuns::runs(const RunFilter& filter) {
  const std::lock_guard lock(rows_.mutex);
  const std::set<RunId> lineage = filter.lineage ? lineage_of(rows_, *filter.lineage) : std::set<RunId>{};
  std::vector<RunRow> rows;
  for (const auto& [id, run] : rows_.runs) {
    if (filter.lineage && !lineage.contains(id)) continue;
    if (RunRow row = with_cause(run); matches(filter, row) && has_called(run, filter.tool))
      rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) {
    return std::tie(a.started_at, a.id) > std::tie(b.started_at, b.id);
  });
  cut(rows, filter.limit);
  return rows;
}

std::int64_t MemoryRuns::count(const RunFilter& filter, std::int64_t at_most) {
  const std::lock_guard lock(rows_.mutex);
  RunFilter all = filter;
  all.after.reset();
  std::int64_t count = 0;
  for (const auto& [id, run] : rows_.runs)
    if (matches(all, with_cause(run)) && has_called(run, all.tool)) ++count;
  return std::min(count, at_most);
}

std::vector<RunId> MemoryRuns::between(const RunId& first, const RunId& last, std::int32_t limit) {
  const std::lock_guard lock(rows_.mutex);
  std::vector<RunId> found;
  for (auto run = rows_.runs.lower_bound(first); run != rows_.runs.end() && !(last < run->first); ++run) {
    if (found.size() >= static_cast<std::size_t>(std::max(limit, 0))) break;
    found.push_back(run->first);
  }
  return found;
}

std::vector<RunId> MemoryRuns::orphans(OrphanMark& mark, std::int32_t limit) {
  const std::lock_guard lock(rows_.mutex);
  std::multimap<std::pair<Shard, RunId>, RunId> children;  // open ones, by their parents
  for (const auto& [id, run] : rows_.runs)
    if (run.row.parent && !is_ended(run.row.status) && run.row.reason.empty())
      children.emplace(std::pair(shard_of(id, rows_.shards), *run.row.parent), id);
  std::vector<RunId> found;
  auto child = children.upper_bound({mark.shard, mark.parent});
  mark = {};  // the end is reached unless the limit is: the next round begins from the start
  for (std::int32_t n = 0; n < limit && child != children.end(); ++n, ++child) {
    const auto parent = rows_.runs.find(child->first.second);
    if (parent != rows_.runs.end() && is_given_up(parent->second, child->second)) found.push_back(child->second);
    if (n + 1 == limit) mark = {child->first.first, child->first.second};
  }
  return found;
}

std::vector<LooseEnd> MemoryRuns::loose_ends(const RunId& after, std::int32_t limit) {
  const std::lock_guard lock(rows_.mutex);
  std::vector<LooseEnd> ends;
  const auto place = [this](const RunId& id) { return std::pair(shard_of(id, rows_.shards), id); };
  for (const RunId& id : rows_.loose_ends) {
    if (!after.is_nil() && place(id) <= place(after)) continue;
    const auto caller = rows_.runs.find(*rows_.runs.at(id).row.parent);
    ends.push_back({id, caller != rows_.runs.end() && !is_ended(caller->second.row.status)});
  }
  std::sort(ends.begin(), ends.end(),
            [&](const LooseEnd& a, const LooseEnd& b) { return place(a.run) < place(b.run); });
  cut(ends, limit);
  return ends;
}

void MemoryRuns::tie_ends(std::span<const RunId> runs) {
  const std::lock_guard lock(rows_.mutex);
  for (const RunId& run : runs) rows_.loose_ends.erase(run);
}

std::vector<QuestionRow> MemoryRuns::questions(const RunId& id, std::int32_t limit) {
  const std::lock_guard lock(rows_.mutex);
  std::vector<QuestionRow> open;
  for (const auto& [run, stored] : rows_.runs) {
    if (!id.is_nil() && run != id) continue;
    for (const auto& [name, question] : stored.questions) open.push_back(question);
  }
  std::sort(open.begin(), open.end(), [](const QuestionRow& a, const QuestionRow& b) {
    return std::tie(a.asked_at, a.run, a.id) < std::tie(b.asked_at, b.run, b.id);
  });
  cut(open, limit);
  return open;
}

std::vector<QuestionRow> MemoryRuns::questions_after(const QuestionPlace& after, std::int32_t limit,
                                                     std::int64_t bytes_max) {
  std::vector<QuestionRow> open = questions(RunId{}, std::numeric_limits<std::int32_t>::max());
  std::erase_if(open, [&after](const QuestionRow& one) {
    return std::tie(one.asked_at, one.run, one.id) <= std::tie(after.asked_at, after.run, after.id);
  });
  cut(open, limit);
  std::int64_t bytes = 0;
  const auto beyond = std::find_if(open.begin(), open.end(), [&](const QuestionRow& one) {
    bytes += std::ssize(canonical(one.prompt)) + std::ssize(canonical(one.schema)) +
             (one.fallback ? std::ssize(canonical(*one.fallback)) : 0);
    return bytes > bytes_max;
  });
  if (beyond != open.end()) open.erase(std::max(beyond, open.begin() + 1), open.end());
  return open;
}

}  // namespace cairn
