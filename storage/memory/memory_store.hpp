// The store in memory, as slow and as plain as a specification: for the simulator, for tests of everything above the
// store, and as the test oracle of the Postgres store. Safe from any thread (one lock). Nothing survives the process.
#pragma once

#include <functional>
#include <memory>

#include "storage/store.hpp"

namespace cairn {

// `clock` gives database_time(); the system clock if empty.
std::unique_ptr<Store> make_memory_store(std::int32_t shards, std::function<TimeUs()> clock = {});

// The jobs of such a store.
struct MemoryQueue {
  std::int64_t held = 0;       // by sessions that are there
  std::int64_t lost = 0;       // held by sessions that are there no more
  TimeUs next_due = never_us;  // of those that no one holds; never_us: there are none
};
MemoryQueue queue_in_memory(Store& store);

// Removes a run that has ended and leaves its tombstone, as an archive does (storage/proof/run_archive.hpp). REQUIRES:
// such a store, and such a run in it.
void archive_in_memory(Store& store, const RunId& run, const std::string& file, const Hash& file_digest);

}  // namespace cairn
