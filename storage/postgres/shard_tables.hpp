// ShardTables: the names that Cairn's tables have in one Citus shard, where statements find them in place of
// `cairn.run` and the others; reference tables by the name of the node's own copy. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "storage/postgres/statements.hpp"

namespace cairn {

// The server's refusal of a transaction about a shard that is not on its node (see schema/cluster/hold_shard.sql).
inline constexpr std::string_view shard_is_elsewhere = "CN001";

class ShardTables {
 public:
  // `suffixes`: the Citus shard of each table, by the table's name. REQUIRES: there is one of `run`.
  explicit ShardTables(std::map<std::string, std::int64_t, std::less<>> suffixes);

  // The statement about the tables of this shard. It lives as long as this.
  const PgStatement& renamed(const PgStatement& statement) const;
  // Begins each transaction: keeps the shard on its node until the end.
  const PgStatement& guard() const { return guard_; }

 private:
  std::string with_names(std::string_view text) const;

  const std::map<std::string, std::int64_t, std::less<>> suffixes_;
  const PgStatement guard_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, PgStatement, std::less<>> renamed_;  // by the statement's name
};

}  // namespace cairn
