#include "storage/postgres/store/job_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr std::int32_t priorities_max = 1'000;  // of a queue in a shard
constexpr std::int32_t entries_max = 10'000;    // of a priority
constexpr auto oldest_columns = std::to_array<std::string_view>({"queue", "min"});
constexpr auto standing_columns = std::to_array<std::string_view>({"place", "is_there", "is_held"});
constexpr auto begun_columns = std::to_array<std::string_view>({"place"});

// Holds as the arrays that statements take.
class FenceArrays {
 public:
  void add(const RunId& run, const Fence& fence) {
    runs_.add(run);
    branches_.add(fence.branch);
    sessions_.add(fence.session);
    epochs_.add(fence.epoch);
    steps_.add(fence.step);
  }
  PgParameters add_to(PgParameters parameters) {
    parameters.add(std::move(runs_)).add(std::move(branches_)).add(std::move(sessions_)).add(std::move(epochs_));
    return parameters.add(std::move(steps_));
  }

 private:
  PgArray runs_{PgType::uuid}, branches_{PgType::int4}, sessions_{PgType::int8}, epochs_{PgType::int8},
      steps_{PgType::int4};
};

using Fences = std::map<std::pair<RunId, BranchId>, Fence>;

FenceArrays arrays_of(const Fences& fences) {
  FenceArrays arrays;
  for (const auto& [key, fence] : fences) arrays.add(key.first, fence);
  return arrays;
}

PgParameters runs_of(Shard shard, const Fences& fences) {
  PgArray runs(PgType::uuid);
  std::optional<RunId> last;
  for (const auto& [key, fence] : fences) {
    if (last != key.first) runs.add(key.first);
    last = key.first;
  }
  return PgParameters().add(shard).add(std::move(runs));
}

PgParameters release_parameters(Shard shard, const Fences& fences, TimeUs run_at_us) {
  return arrays_of(fences).add_to(PgParameters().add(shard)).add(run_at_us);
}

HoldStanding standing_of(const PgResult& rows, int row) {
  if (!rows.boolean(row, 1)) return HoldStanding::gone;
  return rows.boolean(row, 2) ? HoldStanding::held : HoldStanding::lost;
}

std::size_t place_in(const PgResult& rows, int row) { return static_cast<std::size_t>(rows.int8(row, 0) - 1); }

// From the rows of holds_standing.sql: one for each hold, in any order.
std::vector<HoldStanding> standings_of(const PgResult& rows) {
  rows.expect_columns(standing_columns);
  std::vector<HoldStanding> found(static_cast<std::size_t>(rows.rows()), HoldStanding::gone);
  for (int row = 0; row < rows.rows(); ++row) found.at(place_in(rows, row)) = standing_of(rows, row);
  return found;
}

// `begun`: the rows of holds_begun.sql.
void mark_unsaid(const PgResult& begun, std::vector<HoldStanding>& found) {
  begun.expect_columns(begun_columns);
  std::vector<bool> is_said(found.size(), false);
  for (int row = 0; row < begun.rows(); ++row) is_said.at(place_in(begun, row)) = true;
  for (std::size_t at = 0; at < found.size(); ++at)
    if (found[at] == HoldStanding::held && !is_said[at]) found[at] = HoldStanding::unsaid;
}

}  // namespace

std::map<Shard, JobTable::Fences> JobTable::by_shard(std::span<const std::pair<RunId, Fence>> holds) const {
  std::map<Shard, Fences> by_shard;
  for (const auto& [run, fence] : holds) by_shard[shard_of(run, shards_)][{run, fence.branch}] = fence;
  return by_shard;
}

std::size_t JobTable::release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) {
  std::size_t released = 0;
  for (const auto& [shard, fences] : by_shard(holds)) released += release_on(shard, fences, run_at_us);
  return released;
}

std::size_t JobTable::release_unbegun(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) {
  std::size_t released = 0;
  for (const auto& [shard, fences] : by_shard(holds)) released += release_unbegun_on(shard, fences, run_at_us);
  return released;
}

std::size_t JobTable::release_on(Shard shard, const Fences& fences, TimeUs run_at_us) {
  const PgParameters runs = runs_of(shard, fences);
  const PgParameters parameters = release_parameters(shard, fences, run_at_us);
  return placements_.run(shard, [&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_statement());
    connection.send(statement("lock_runs"), runs);
    connection.send(statement("release_jobs"), parameters);
    connection.send(commit_statement());
    connection.sync();
    connection.receive();  // of BEGIN
    connection.receive();  // the locked runs
    const PgResult released = connection.receive();
    connection.finish();
    return static_cast<std::size_t>(released.rows());
  });
}

// Under the locks of the runs, which standing_begun() takes as well, after the session's row was written.
std::size_t JobTable::release_unbegun_on(Shard shard, const Fences& fences, TimeUs run_at_us) {
  return placements_.run(shard, [&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_statement());
    connection.send(statement("lock_runs"), runs_of(shard, fences));
    connection.send(statement("holds_begun"), arrays_of(fences).add_to(PgParameters().add(shard)));
    connection.sync();
    connection.receive();  // of BEGIN
    connection.receive();  // the locked runs
    const PgResult begun = connection.receive();
    begun.expect_columns(begun_columns);
    Fences unbegun = fences;
    for (int row = 0; row < begun.rows(); ++row)
      unbegun.erase(std::next(fences.begin(), static_cast<std::ptrdiff_t>(begun.int8(row, 0) - 1))->first);
    connection.send(statement("release_jobs"), release_parameters(shard, unbegun, run_at_us));
    connection.send(commit_statement());
    connection.sync();
    const PgResult released = connection.receive();
    connection.finish();
    return static_cast<std::size_t>(released.rows());
  });
}

// On a cluster the session's row has a copy on each node, and that of the job's node is what release_unbegun() reads. A
// copy may be older than what was written to the row: its node may still have to carry out a commit in two phases.
std::vector<HoldStanding> JobTable::standing_begun(std::span<const std::pair<RunId, Fence>> holds) {
  const std::map<Shard, Fences> locked = by_shard(holds);
  return standing_by(holds, [&](Shard shard, const PgParameters& parameters) {
    return placements_.run(shard, [&](PgConnection& connection) {
      connection.begin_pipeline();
      connection.send(begin_statement());
      connection.send(statement("lock_runs"), runs_of(shard, locked.at(shard)));
      connection.send(statement("holds_standing"), parameters);
      connection.send(statement("holds_begun"), parameters);
      connection.send(commit_statement());
      connection.sync();
      connection.receive();  // of BEGIN
      connection.receive();  // the locked runs
      std::vector<HoldStanding> found = standings_of(connection.receive());
      mark_unsaid(connection.receive(), found);
      connection.finish();
      return found;
    });
  });
}

std::vector<HoldStanding> JobTable::standing(std::span<const std::pair<RunId, Fence>> holds) {
  return standing_by(holds, [this](Shard shard, const PgParameters& parameters) {
    return standings_of(placements_.query(shard, "holds_standing", parameters));
  });
}

// Each by its place: there may be several of one branch, of which one is newer.
std::vector<HoldStanding> JobTable::standing_by(std::span<const std::pair<RunId, Fence>> holds,
                                                const ReadStandings& read) const {
  std::map<Shard, std::vector<std::size_t>> by_shard;
  for (std::size_t at = 0; at < holds.size(); ++at) by_shard[shard_of(holds[at].first, shards_)].push_back(at);
  std::vector<HoldStanding> found(holds.size(), HoldStanding::gone);
  for (const auto& [shard, places] : by_shard) {
    FenceArrays fences;
    for (const std::size_t at : places) fences.add(holds[at].first, holds[at].second);
    const std::vector<HoldStanding> of_shard = read(shard, fences.add_to(PgParameters().add(shard)));
    CHECK(of_shard.size() == places.size());
    for (std::size_t at = 0; at < places.size(); ++at) found[places[at]] = of_shard[at];
  }
  return found;
}

std::vector<HeldJob> JobTable::of(const RunId& id) {
  const Shard shard = shard_of(id, shards_);
  const PgResult rows = placements_.query(shard, "jobs", PgParameters().add(shard).add(id));
  std::vector<HeldJob> jobs = read_held_jobs(rows);
  const int home = rows.column("home");
  for (int row = 0; row < rows.rows(); ++row)
    if (!rows.is_null(row, home)) jobs[static_cast<std::size_t>(row)].home = rows.int8(row, home);
  return jobs;
}

std::vector<QueueRow> JobTable::queues() {
  std::map<std::string, QueueRow> queues;
  for (const PgResult& part : placements_.query_each_widely("queues", PgParameters().add(clock_.now())))
    for (QueueRow& row : read_queues(part)) {
      QueueRow& sum = queues.try_emplace(row.name, QueueRow{row.name, 0, 0, 0, std::nullopt}).first->second;
      sum.ready += row.ready;
      sum.later += row.later;
      sum.held += row.held;
      if (row.oldest_us) sum.oldest_us = std::min(sum.oldest_us.value_or(never_us), *row.oldest_us);
    }
  std::vector<QueueRow> rows;
  for (auto& [name, row] : queues) rows.push_back(std::move(row));
  return rows;
}

std::map<std::string, TimeUs> JobTable::oldest() {
  const auto parameters = PgParameters().add(clock_.now()).add(priorities_max).add(entries_max);
  std::map<std::string, TimeUs> oldest;
  for (const PgResult& part : placements_.query_each("oldest_jobs", parameters)) {
    part.expect_columns(oldest_columns);
    for (int row = 0; row < part.rows(); ++row) {
      TimeUs& run_at_us = oldest.try_emplace(std::string(part.text(row, 0)), never_us).first->second;
      run_at_us = std::min(run_at_us, part.int8(row, 1));
    }
  }
  return oldest;
}

}  // namespace cairn
