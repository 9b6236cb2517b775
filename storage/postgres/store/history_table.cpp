#include "storage/postgres/store/history_table.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/ground/packed_text.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr std::size_t runs_of_a_piece = 64;  // whose events are read by one statement

}  // namespace

std::vector<EventRow> HistoryTable::events(const RunId& id, std::int64_t after_seq, std::int32_t limit) {
  return read_events(query_of(id, "events", of_run(id).add(after_seq).add(std::max(limit, 0))));
}

std::vector<StoredHistory> HistoryTable::histories(std::span<const HistoryRequest> requests, std::int32_t limit) {
  std::vector<StoredHistory> histories(requests.size());
  std::map<Shard, std::vector<std::size_t>> by_shard;
  for (std::size_t at = 0; at < requests.size(); ++at) by_shard[shard_of(requests[at].run, shards_)].push_back(at);
  for (const auto& [shard, places] : by_shard) {
    add_snapshots(shard, requests, places, histories);
    add_events(shard, requests, places, limit, histories);
  }
  return histories;
}

void HistoryTable::add_snapshots(Shard shard, std::span<const HistoryRequest> requests,
                                 const std::vector<std::size_t>& places, std::vector<StoredHistory>& histories) {
  PgArray runs(PgType::uuid), versions(PgType::int4);
  std::vector<std::size_t> asked;
  for (const std::size_t at : places) {
    if (!requests[at].fold_version) continue;
    runs.add(requests[at].run);
    versions.add(*requests[at].fold_version);
    asked.push_back(at);
  }
  if (asked.empty()) return;
  const PgResult rows =
      placements_.query(shard, "snapshots", PgParameters().add(shard).add(std::move(runs)).add(std::move(versions)));
  const int place = rows.column("place");
  std::vector<SnapshotRow> snapshots = read_snapshots(rows);
  for (int row = 0; row < rows.rows(); ++row)
    histories[asked[place_of(rows, row, place, asked.size())]].snapshot =
        std::move(snapshots[static_cast<std::size_t>(row)]);
}

// One round trip for all pieces: the server reads the next piece while this one is unpacked.
void HistoryTable::add_events(Shard shard, std::span<const HistoryRequest> requests,
                              std::span<const std::size_t> places, std::int32_t limit,
                              std::vector<StoredHistory>& histories) {
  std::vector<std::span<const std::size_t>> pieces;
  for (; !places.empty(); places = places.subspan(pieces.back().size()))
    pieces.push_back(places.first(std::min(places.size(), runs_of_a_piece)));
  placements_.run(shard, [&](PgConnection& connection) {
    connection.begin_pipeline();
    for (const auto& piece : pieces) {
      PgArray runs(PgType::uuid), after(PgType::int8);
      for (const std::size_t at : piece) {
        histories[at].events.clear();
        runs.add(requests[at].run);
        after.add(histories[at].snapshot ? histories[at].snapshot->seq : requests[at].after_seq);
      }
      connection.send(statement("events_of_runs"),
                      PgParameters().add(shard).add(std::move(runs)).add(std::move(after)).add(std::max(limit, 0)));
    }
    connection.sync();
    for (const auto& piece : pieces) {
      const PgResult rows = connection.receive();
      rows.expect_columns(event_columns);
      const int place = rows.column("place");
      for (int row = 0; row < rows.rows(); ++row)
        histories[piece[place_of(rows, row, place, piece.size())]].events.push_back(read_event(rows, row));
    }
    connection.finish();
  });
}

std::optional<SnapshotRow> HistoryTable::snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most) {
  const PgResult rows = query_of(id, "snapshot", of_run(id).add(fold_version).add(at_most));
  std::vector<SnapshotRow> found = read_snapshots(rows);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

void HistoryTable::put_snapshot(const RunId& id, const SnapshotRow& snapshot) {
  PgParameters parameters;
  parameters.add(shard_of(id, shards_)).add(id).add(snapshot.fold_version).add(snapshot.seq);
  query_of(id, "put_snapshot", parameters.add(snapshot.chain_hash).add(packed_text(snapshot.state)));
}

}  // namespace cairn
