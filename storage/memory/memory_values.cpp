#include "storage/memory/memory_values.hpp"

#include <algorithm>

namespace cairn {

void MemoryValues::put(Shard shard, const Hash& hash, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  values_.try_emplace({shard, hash}, bytes);
}

bool MemoryValues::renew(Shard shard, std::span<const Hash> hashes) {
  const std::lock_guard lock(mutex_);
  return std::all_of(hashes.begin(), hashes.end(), [&](const Hash& hash) { return values_.contains({shard, hash}); });
}

std::optional<std::string> MemoryValues::get(Shard shard, const Hash& hash) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find({shard, hash});
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cairn
