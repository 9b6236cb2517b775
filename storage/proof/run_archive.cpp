#include "storage/proof/run_archive.hpp"

#include <array>
#include <limits>
#include <map>

#include "engine/json.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr auto locked_columns = std::to_array<std::string_view>({"place"});
constexpr auto candidate_columns = std::to_array<std::string_view>({"run_id", "started_at"});
constexpr auto member_columns = std::to_array<std::string_view>({"run_id", ""});
constexpr auto kept_columns = std::to_array<std::string_view>({"kept"});

// The first of all placements, each of which gave its own first ones.
std::vector<RunArchive::Place> first_places(const std::vector<PgResult>& parts, std::int32_t limit) {
  std::vector<RunArchive::Place> found;
  for (const PgResult& rows : parts) {
    rows.expect_columns(candidate_columns);
    for (int row = 0; row < rows.rows(); ++row) found.emplace_back(rows.int8(row, 1), rows.uuid(row, 0));
  }
  std::sort(found.begin(), found.end());
  if (found.size() > static_cast<std::size_t>(limit)) found.resize(static_cast<std::size_t>(limit));
  return found;
}

PgArray ids(std::span<const Tombstone> runs) {
  PgArray array(PgType::uuid);
  for (const Tombstone& one : runs) array.add(one.head.run);
  return array;
}

PgParameters tombstone_parameters(Shard shard, const std::vector<Tombstone>& left) {
  PgArray seq(PgType::int8), chain_hash(PgType::bytes), signature(PgType::bytes);
  for (const Tombstone& one : left) {
    seq.add(one.head.seq);
    chain_hash.add(one.head.chain_hash);
    signature.add(one.signature);
  }
  const Tombstone& any = left.front();  // all are of one file and signed together
  PgParameters parameters;
  parameters.add(shard).add(any.file_digest).add(any.at_us).add(any.key).add(ids(left)).add(std::move(seq));
  return parameters.add(std::move(chain_hash)).add(std::move(signature)).add(any.file).add(any.erased_by);
}

// Leaves out those whose root has another member that is still there and is not to go. Earlier releases removed
// families in parts.
void keep_whole_families(std::span<const RunId> roots, std::span<const std::size_t> there,
                         std::vector<std::size_t>& places) {
  if (roots.empty()) return;
  std::map<RunId, std::size_t> left;
  for (const std::size_t place : there) ++left[roots[place]];
  for (const std::size_t place : places) --left[roots[place]];
  std::erase_if(places, [&](std::size_t place) { return left[roots[place]] > 0; });
}

// Removes the runs that have ended exactly where their tombstones say, and returns how many. The tombstone is written
// by the transaction that removes the run: there is always the one or the other.
std::int64_t remove_locked(PgConnection& connection, Shard shard, std::span<const Tombstone> runs,
                           std::span<const RunId> roots) {
  PgArray seqs(PgType::int8), hashes(PgType::bytes);
  for (const Tombstone& one : runs) {
    seqs.add(one.head.seq);
    hashes.add(one.head.chain_hash);
  }
  const PgResult rows = connection.query(
      statement("lock_archived"), PgParameters().add(shard).add(ids(runs)).add(std::move(seqs)).add(std::move(hashes)));
  rows.expect_columns(locked_columns);
  std::vector<std::size_t> places;
  places.reserve(static_cast<std::size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) places.push_back(place_of(rows, row, 0, runs.size()));
  if (!roots.empty()) {
    const PgResult heads = connection.query(statement("run_heads"), PgParameters().add(shard).add(ids(runs)));
    std::vector<std::size_t> there;
    for (int row = 0; row < heads.rows(); ++row) there.push_back(place_of(heads, row, 0, runs.size()));
    keep_whole_families(roots, there, places);
  }
  std::vector<Tombstone> left;
  left.reserve(places.size());
  for (const std::size_t place : places) left.push_back(runs[place]);
  if (left.empty()) return 0;
  connection.query(statement("note_erasing"), PgParameters().add(shard).add(ids(left)));
  connection.query(statement("put_tombstones"), tombstone_parameters(shard, left));
  for (const char* name :
       {"archive_delete_jobs", "archive_delete_questions", "drop_snapshots", "archive_delete_progress",
        "archive_delete_events", "archive_delete_imports", "archive_delete_runs"})
    connection.query(statement(name), PgParameters().add(shard).add(ids(left)));
  return std::ssize(left);
}

}  // namespace

Status as_archivist(Placements& placements, Shard shard, const std::function<void(PgConnection&)>& use) {
  try {
    return placements.run(shard, [&](PgConnection& connection) {
      connection.execute("BEGIN");
      connection.execute(statement("become_archivist").text);
      use(connection);
      connection.execute("COMMIT");
      return Status(Done{});
    });
  } catch (const PostgresError& failure) {
    if (const std::optional<Error> refusal = refusal_of_archivist(failure)) return *refusal;
    throw;
  }
}

RunArchive::RunArchive(const std::string& dsn)
    : dsn_(dsn),
      placements_(std::make_unique<Placements>(PgConnectOptions{dsn, "cairn archive"}, 1, removal_patience_ms,
                                               removal_silence_ms)) {}
RunArchive::~RunArchive() = default;

void RunArchive::give_up() { placements_->give_up(); }

Result<std::unique_ptr<ArchiveLock>> RunArchive::lock(std::int64_t patience_ms) const {
  return ArchiveLock::take(dsn_, patience_ms);
}

std::vector<RunArchive::Place> RunArchive::candidates(TimeUs ended_before, const Place& after, std::int32_t limit) {
  return first_places(
      placements_->query_each_widely("archive_candidates",
                                     PgParameters().add(ended_before).add(after.first).add(after.second).add(limit)),
      limit);
}

std::vector<RunArchive::Place> RunArchive::candidates(TimeUs ended_before, const Tags& tags) {
  CHECK(!tags.empty());
  return first_places(
      placements_->query_each("archive_candidates_tagged", PgParameters().add(ended_before).add(canonical(Json(tags)))),
      std::numeric_limits<std::int32_t>::max());
}

std::vector<RunArchive::Place> RunArchive::due(const std::string& graph, TimeUs ended_before, const Place& after,
                                               std::int32_t limit) {
  PgParameters parameters;
  parameters.add(graph).add(ended_before).add(after.first).add(after.second).add(limit);
  return first_places(placements_->query_each("archive_due", parameters), limit);
}

std::vector<RunArchive::Member> RunArchive::family(Shard shard, const RunId& run) {
  const PgResult rows = placements_->query_widely(shard, "archive_family", PgParameters().add(shard).add(run));
  rows.expect_columns(member_columns);
  std::vector<Member> found;
  found.reserve(static_cast<std::size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) found.push_back({rows.uuid(row, 0), rows.boolean(row, 1)});
  return found;
}

std::set<RunId> RunArchive::kept_for_open_runs(std::span<const Member> runs) {
  PgArray array(PgType::uuid);
  for (const Member& member : runs) array.add(member.run);
  std::set<RunId> kept;
  for (const PgResult& rows : placements_->query_each("kept_for_open_runs", PgParameters().add(std::move(array)))) {
    rows.expect_columns(kept_columns);
    for (int row = 0; row < rows.rows(); ++row) kept.insert(rows.uuid(row, 0));
  }
  return kept;
}

// Repeated after a lost answer: runs that the first attempt removed are not counted again.
Result<std::int64_t> RunArchive::remove(Shard shard, std::span<const Tombstone> runs, std::span<const RunId> roots) {
  CHECK(roots.empty() || roots.size() == runs.size());
  std::int64_t removed = 0;
  const Status done = as_archivist(
      *placements_, shard, [&](PgConnection& connection) { removed = remove_locked(connection, shard, runs, roots); });
  if (!done) return done.error();
  return removed;
}

}  // namespace cairn
