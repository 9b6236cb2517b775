// The store's write in PostgreSQL: locks, verdicts, rows; two round trips for a batch. Safe from any thread.
#pragma once

#include <span>
#include <vector>

#include "storage/postgres_pool.hpp"
#include "storage/store.hpp"

namespace cairn {

// Contract: Store::commit.
std::vector<Verdict> commit_batch(PostgresPool& pool, Shard shard, std::span<const Entry> batch);

}  // namespace cairn
