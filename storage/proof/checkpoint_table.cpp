#include "storage/proof/checkpoint_table.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "storage/postgres/placements.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr auto process_columns = std::to_array<std::string_view>({"process"});
constexpr auto checkpoint_columns =
    std::to_array<std::string_view>({"n", "at", "key", "heads", "previous", "signature"});
constexpr auto since_columns =
    std::to_array<std::string_view>({"process", "n", "at", "key", "heads", "previous", "signature"});
constexpr auto chain_hash_columns = std::to_array<std::string_view>({"place", "chain_hash", "head"});
constexpr auto tombstone_columns = std::to_array<std::string_view>(
    {"place", "seq", "chain_hash", "file_digest", "at", "key", "signature", "erased_by"});
constexpr auto erased_columns = std::to_array<std::string_view>(
    {"shard", "run_id", "seq", "chain_hash", "file_digest", "at", "key", "signature", "file", "erased_by"});

// All zeros, which is no event's hash, for a value that was shortened: every comparison with it fails.
Hash hash_of(const PgResult& rows, int row, int column) {
  const bool is_hash = rows.text(row, column).size() == Hash{}.size();
  return is_hash ? rows.hash(row, column) : Hash{};
}

}  // namespace

CheckpointTable::CheckpointTable(const std::string& dsn, std::int32_t shards)
    : placements_(std::make_unique<Placements>(PgConnectOptions{dsn, "cairn verify"}, 1)), shards_(shards) {}
CheckpointTable::~CheckpointTable() = default;

std::vector<std::int64_t> CheckpointTable::processes(std::int64_t after, std::int32_t limit) {
  const PgResult rows = placements_->whole().query("checkpoint_processes", PgParameters().add(after).add(limit));
  rows.expect_columns(process_columns);
  std::vector<std::int64_t> found;
  for (int row = 0; row < rows.rows(); ++row) found.push_back(rows.int8(row, 0));
  return found;
}

std::vector<Checkpoint> CheckpointTable::checkpoints(std::int64_t process, std::int64_t after_n, std::int32_t limit) {
  const PgResult rows = placements_->whole().query("checkpoints", PgParameters().add(process).add(after_n).add(limit));
  rows.expect_columns(checkpoint_columns);
  std::vector<Checkpoint> found;
  for (int row = 0; row < rows.rows(); ++row)
    found.push_back({process, rows.int8(row, 0), rows.int8(row, 1), hash_of(rows, row, 2),
                     std::string(rows.text(row, 3)), hash_of(rows, row, 4), std::string(rows.text(row, 5))});
  return found;
}

std::vector<Checkpoint> CheckpointTable::checkpoints_since(const Place& after, std::int32_t limit) {
  const PgResult rows = placements_->whole().query(
      "checkpoints_since", PgParameters().add(after.at_us).add(after.process).add(after.n).add(limit));
  rows.expect_columns(since_columns);
  std::vector<Checkpoint> found;
  for (int row = 0; row < rows.rows(); ++row)
    found.push_back({rows.int8(row, 0), rows.int8(row, 1), rows.int8(row, 2), hash_of(rows, row, 3),
                     std::string(rows.text(row, 4)), hash_of(rows, row, 5), std::string(rows.text(row, 6))});
  return found;
}

// The places of the heads, by their shards.
std::map<Shard, std::vector<std::size_t>> CheckpointTable::by_shard(std::span<const Head> heads) const {
  std::map<Shard, std::vector<std::size_t>> places;
  for (std::size_t at = 0; at < heads.size(); ++at) places[shard_of(heads[at].run, shards_)].push_back(at);
  return places;
}

std::vector<CheckpointTable::Found> CheckpointTable::find(std::span<const Head> heads) {
  std::vector<Found> found(heads.size());
  for (const auto& [shard, places] : by_shard(heads)) {
    PgArray shards(PgType::int4), runs(PgType::uuid), seqs(PgType::int8);
    for (const std::size_t at : places) {
      shards.add(shard);
      runs.add(heads[at].run);
      seqs.add(heads[at].seq);
    }
    const PgResult rows = placements_->query(
        shard, "chain_hashes", PgParameters().add(std::move(shards)).add(std::move(runs)).add(std::move(seqs)));
    rows.expect_columns(chain_hash_columns);
    for (int row = 0; row < rows.rows(); ++row) {
      Found& one = found[places[place_of(rows, row, 0, places.size())]];
      if (!rows.is_null(row, 1)) one.chain_hash = hash_of(rows, row, 1);
      if (!rows.is_null(row, 2)) one.head = rows.int8(row, 2);
    }
  }
  return found;
}

std::vector<std::optional<Tombstone>> CheckpointTable::tombstones(std::span<const Head> heads) {
  std::vector<std::optional<Tombstone>> found(heads.size());
  for (const auto& [shard, places] : by_shard(heads)) {
    PgArray shards(PgType::int4), runs(PgType::uuid);
    for (const std::size_t at : places) {
      shards.add(shard);
      runs.add(heads[at].run);
    }
    const PgResult rows =
        placements_->query(shard, "tombstones", PgParameters().add(std::move(shards)).add(std::move(runs)));
    rows.expect_columns(tombstone_columns);
    for (int row = 0; row < rows.rows(); ++row) {
      const std::size_t place = places[place_of(rows, row, 0, places.size())];
      found[place] = Tombstone{.shard = shard,
                               .head = {heads[place].run, rows.int8(row, 1), hash_of(rows, row, 2)},
                               .file_digest = hash_of(rows, row, 3),
                               .at_us = rows.int8(row, 4),
                               .key = hash_of(rows, row, 5),
                               .signature = std::string(rows.text(row, 6)),
                               .erased_by = std::string(rows.text(row, 7))};
    }
  }
  return found;
}

std::vector<Tombstone> CheckpointTable::erased(Shard after_shard, const RunId& after, std::int32_t limit) {
  std::vector<Tombstone> found;
  for (const PgResult& rows :
       placements_->query_each("erased", PgParameters().add(after_shard).add(after).add(limit))) {
    rows.expect_columns(erased_columns);
    for (int row = 0; row < rows.rows(); ++row)
      found.push_back({.shard = rows.int4(row, 0),
                       .head = {rows.uuid(row, 1), rows.int8(row, 2), hash_of(rows, row, 3)},
                       .file_digest = hash_of(rows, row, 4),
                       .at_us = rows.int8(row, 5),
                       .key = hash_of(rows, row, 6),
                       .signature = std::string(rows.text(row, 7)),
                       .file = std::string(rows.text(row, 8)),
                       .erased_by = std::string(rows.text(row, 9))});
  }
  std::sort(found.begin(), found.end(), [](const Tombstone& a, const Tombstone& b) {
    return std::tie(a.shard, a.head.run) < std::tie(b.shard, b.head.run);
  });
  if (std::ssize(found) > limit) found.erase(found.begin() + limit, found.end());
  return found;
}

}  // namespace cairn
