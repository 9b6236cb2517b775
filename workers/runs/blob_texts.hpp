// The texts of large values that steps are reading: one copy of each, however many steps ask, as long as one of them
// uses it or there is room for it. Reading blocks on the store. Safe from any thread.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "storage/store.hpp"
#include "workers/handlers/large_values.hpp"

namespace cairn {

class BlobTexts {
 public:
  static constexpr std::size_t bytes_max = 64u << 20;

  BlobText read(Store& store, Shard shard, const Hash& hash);

 private:
  using Key = std::pair<Shard, Hash>;
  struct Kept {
    BlobText text;
    std::list<Key>::iterator use;
  };
  BlobText find(const Key& key);
  void keep(const Key& key, const BlobText& text);

  std::mutex mutex_;
  std::map<Key, Kept> kept_;
  std::list<Key> by_use_;  // latest first
  std::size_t bytes_ = 0;
};

}  // namespace cairn
