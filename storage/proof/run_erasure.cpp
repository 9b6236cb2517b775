#include "storage/proof/run_erasure.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "storage/postgres/placements.hpp"
#include "storage/postgres/rows.hpp"
#include "storage/proof/run_archive.hpp"

namespace cairn {
namespace {

constexpr std::int32_t searched_runs_page = 2'000;
constexpr std::size_t values_at_once = 200;
constexpr auto family_columns = std::to_array<std::string_view>({"root", "run_id", "status", "head", "chain_hash"});
constexpr auto heir_columns = std::to_array<std::string_view>({"origin", "run_id", "status"});
constexpr auto value_columns = std::to_array<std::string_view>({"hash"});

std::set<Hash> read_hashes(const PgResult& rows) {
  rows.expect_columns(value_columns);
  std::set<Hash> hashes;
  for (int row = 0; row < rows.rows(); ++row) hashes.insert(rows.hash(row, 0));
  return hashes;
}

template <class Hashes>
PgArray array_of(const Hashes& hashes) {
  PgArray array(PgType::bytes);
  for (const Hash& hash : hashes) array.add(hash);
  return array;
}

RunStatus status_at(const PgResult& rows, int row, int column) {
  return parse_run_status(rows.text(row, column)).value_or(RunStatus::running);
}

// The values of the shard's list to which events refer. The log is searched a page of runs at a time. An event that is
// committed after its page was read refers to values that were put, or renewed, a moment before.
std::set<Hash> used_values(PgConnection& connection, Shard shard) {
  std::set<Hash> used;
  for (RunId after;;) {
    const PgResult page =
        connection.query(statement("erasing_page"), PgParameters().add(shard).add(after).add(searched_runs_page));
    if (page.rows() == 0) return used;
    const RunId last = page.uuid(0, 0);
    used.merge(
        read_hashes(connection.query(statement("erasing_used"), PgParameters().add(shard).add(after).add(last))));
    after = last;
  }
}

// The time comes first: whatever is not seen below was put after it, or not so long before. The log is searched only if
// a value was put long enough ago.
RunErasure::Values remove_unused(PgConnection& connection, Shard shard, std::int64_t unused_us) {
  RunErasure::Values values;
  connection.query(statement("lock_erasing"));
  const TimeUs put_before = connection.query(statement("database_time")).int8(0, 0) - unused_us;
  const std::set<Hash> due =
      read_hashes(connection.query(statement("erasing_due"), PgParameters().add(shard).add(put_before)));
  const std::set<Hash> used = due.empty() ? std::set<Hash>{} : used_values(connection, shard);
  std::vector<Hash> unused;
  std::set_difference(due.begin(), due.end(), used.begin(), used.end(), std::back_inserter(unused));
  for (std::size_t at = 0; at < unused.size(); at += values_at_once) {
    const auto some = std::span(unused).subspan(at, std::min(values_at_once, unused.size() - at));
    const PgResult gone =
        connection.query(statement("erase_blobs"), PgParameters().add(shard).add(array_of(some)).add(put_before));
    values.removed += gone.int8(0, 0);
    values.bytes += gone.int8(0, 1);
  }
  if (!due.empty()) connection.query(statement("forget_erasing"), PgParameters().add(shard).add(array_of(used)));
  values.used = std::ssize(used);
  values.recent = std::ssize(read_hashes(connection.query(statement("erasing"), PgParameters().add(shard))));
  return values;
}

}  // namespace

RunErasure::RunErasure(const std::string& dsn)
    : placements_(std::make_unique<Placements>(PgConnectOptions{dsn, "cairn erase"}, 1, removal_patience_ms,
                                               removal_silence_ms)) {}
RunErasure::~RunErasure() = default;

void RunErasure::give_up() { placements_->give_up(); }

std::vector<RunErasure::Member> RunErasure::families(Shard shard, std::span<const RunId> roots) {
  PgArray ids(PgType::uuid);
  for (const RunId& root : roots) ids.add(root);
  const PgResult rows =
      placements_->query_widely(shard, "erase_families", PgParameters().add(shard).add(std::move(ids)));
  rows.expect_columns(family_columns);
  std::vector<Member> found;
  found.reserve(static_cast<std::size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row)
    found.push_back(
        {rows.uuid(row, 0), rows.uuid(row, 1), status_at(rows, row, 2), rows.int8(row, 3), rows.hash(row, 4)});
  return found;
}

std::vector<RunErasure::Heir> RunErasure::heirs(std::span<const RunId> runs) {
  PgArray ids(PgType::uuid);
  for (const RunId& run : runs) ids.add(run);
  std::vector<Heir> found;
  for (const PgResult& rows : placements_->query_each("erase_heirs", PgParameters().add(std::move(ids)))) {
    rows.expect_columns(heir_columns);
    for (int row = 0; row < rows.rows(); ++row)
      found.push_back({rows.uuid(row, 0), rows.uuid(row, 1), !is_ended(status_at(rows, row, 2))});
  }
  std::sort(found.begin(), found.end(),
            [](const Heir& a, const Heir& b) { return std::tie(a.origin, a.run) < std::tie(b.origin, b.run); });
  return found;
}

Result<RunErasure::Values> RunErasure::remove_values(Shard shard, std::int64_t unused_us) {
  Values values;
  const Status removed = as_archivist(
      *placements_, shard, [&](PgConnection& connection) { values = remove_unused(connection, shard, unused_us); });
  if (!removed) return removed.error();
  return values;
}

}  // namespace cairn
