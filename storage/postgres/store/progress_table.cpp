#include "storage/postgres/store/progress_table.hpp"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cairn {
namespace {

constexpr auto progress_columns =
    std::to_array<std::string_view>({"branch", "step", "attempt", "session", "at", "written", "node", "text"});

}  // namespace

void ProgressTable::put(SessionId session, std::span<const ProgressRow> texts, std::span<const ProgressPlace> ended) {
  std::map<Shard, std::pair<std::vector<const ProgressRow*>, std::vector<const ProgressPlace*>>> by_shard;
  for (const ProgressRow& row : texts) by_shard[shard_of(row.place.run, shards_)].first.push_back(&row);
  for (const ProgressPlace& place : ended) by_shard[shard_of(place.run, shards_)].second.push_back(&place);
  for (const auto& [shard, rows] : by_shard) put_on(shard, session, rows.first, rows.second);
}

std::vector<ProgressRow> ProgressTable::of(const RunId& run) {
  if (is_replica_) return {};
  const Shard shard = shard_of(run, shards_);
  const PgResult rows = placements_.query(shard, "progress", PgParameters().add(shard).add(run).add(progress_rows_max));
  rows.expect_columns(progress_columns);
  std::vector<ProgressRow> found;
  for (int row = 0; row < rows.rows(); ++row)
    found.push_back({.place = {run, rows.int4(row, 1), rows.int4(row, 2)},
                     .branch = rows.int4(row, 0),
                     .session = rows.int8(row, 3),
                     .node = std::string(rows.text(row, 6)),
                     .text = std::string(rows.text(row, 7)),
                     .written = rows.int8(row, 5),
                     .at_us = rows.int8(row, 4)});
  return found;
}

void ProgressTable::put_on(Shard shard, SessionId session, std::span<const ProgressRow* const> texts,
                           std::span<const ProgressPlace* const> ended) {
  PgArray shards(PgType::int4), run(PgType::uuid), branch(PgType::int4), step(PgType::int4), attempt(PgType::int4),
      written(PgType::int8), node(PgType::text), text(PgType::text);
  for (const ProgressRow* row : texts) {
    shards.add(shard);
    run.add(row->place.run);
    branch.add(row->branch);
    step.add(row->place.step);
    attempt.add(row->place.attempt);
    written.add(row->written);
    node.add(row->node);
    text.add(row->text);
  }
  PgArray ended_shard(PgType::int4), ended_run(PgType::uuid), ended_step(PgType::int4), ended_attempt(PgType::int4);
  for (const ProgressPlace* place : ended) {
    ended_shard.add(shard);
    ended_run.add(place->run);
    ended_step.add(place->step);
    ended_attempt.add(place->attempt);
  }
  PgParameters parameters;
  parameters.add(session).add(std::move(shards)).add(std::move(run)).add(std::move(branch)).add(std::move(step));
  parameters.add(std::move(attempt)).add(std::move(written)).add(std::move(node)).add(std::move(text));
  parameters.add(clock_.now()).add(std::move(ended_shard)).add(std::move(ended_run));
  placements_.query(shard, "put_progress", parameters.add(std::move(ended_step)).add(std::move(ended_attempt)));
}

}  // namespace cairn
