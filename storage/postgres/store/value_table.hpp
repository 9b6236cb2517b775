// Large values in PostgreSQL. Safe from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/postgres/placements.hpp"

namespace cairn {

class ValueTable {
 public:
  // REQUIRES: `placements` outlives it.
  explicit ValueTable(Placements& placements) : placements_(placements) {}

  // As ValueBook says.
  void put(Shard shard, const Hash& hash, std::string_view bytes);
  bool renew(Shard shard, std::span<const Hash> hashes);
  std::optional<std::string> get(Shard shard, const Hash& hash);

 private:
  Placements& placements_;
};

}  // namespace cairn
