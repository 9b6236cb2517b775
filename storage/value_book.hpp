// Large values as a store keeps them, each under its hash: calls that both stores make. Safe from any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/log.hpp"

namespace cairn {

// All throw StoreUnavailable.
struct ValueBook {
  // Idempotent: a second one with the same hash changes nothing. A value that no event refers to may be removed when it
  // was not put for a while.
  std::function<void(Shard, const Hash&, std::string_view bytes)> put;
  // Counts as a put of the values that are there. False: not all of them are. REQUIRES: no hash twice.
  std::function<bool(Shard, std::span<const Hash>)> renew;
  std::function<std::optional<std::string>(Shard, const Hash&)> get;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
ValueBook value_book_of(Table& table) {
  return {.put = [&table](Shard shard, const Hash& hash, std::string_view bytes) { table.put(shard, hash, bytes); },
          .renew = [&table](Shard shard, std::span<const Hash> hashes) { return table.renew(shard, hashes); },
          .get = [&table](Shard shard, const Hash& hash) { return table.get(shard, hash); }};
}

}  // namespace cairn
