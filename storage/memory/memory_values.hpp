// Large values of the store in memory. Safe from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "storage/value_book.hpp"

namespace cairn {

class MemoryValues {
 public:
  // As ValueBook says.
  void put(Shard shard, const Hash& hash, std::string_view bytes);
  bool renew(Shard shard, std::span<const Hash> hashes);
  std::optional<std::string> get(Shard shard, const Hash& hash);

 private:
  std::mutex mutex_;
  std::map<std::pair<Shard, Hash>, std::string> values_;
};

}  // namespace cairn
