#include "storage/postgres/store/value_table.hpp"

#include <iterator>
#include <utility>

namespace cairn {

void ValueTable::put(Shard shard, const Hash& hash, std::string_view bytes) {
  placements_.query(shard, "put_blob", PgParameters().add(shard).add(hash).add_bytes(bytes));
}

bool ValueTable::renew(Shard shard, std::span<const Hash> hashes) {
  PgArray wanted(PgType::bytes);
  for (const Hash& hash : hashes) wanted.add(hash);
  if (wanted.size() == 0) return true;
  return placements_.query(shard, "renew_blobs", PgParameters().add(shard).add(std::move(wanted))).int8(0, 0) ==
         std::ssize(hashes);
}

std::optional<std::string> ValueTable::get(Shard shard, const Hash& hash) {
  const PgResult rows = placements_.query(shard, "blob", PgParameters().add(shard).add(hash));
  if (rows.rows() == 0) return std::nullopt;
  return std::string(rows.text(0, 0));
}

}  // namespace cairn
