// The store's write in PostgreSQL: locks, verdicts, rows; two round trips for a batch. Safe from any thread.
#pragma once

#include <span>
#include <vector>

#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/notifier.hpp"
#include "storage/store.hpp"

namespace cairn {

// Contract: Store::commit. `notifier`: null for no hint.
std::vector<Verdict> commit_batch(PostgresPool& pool, Shard shard, std::span<const Entry> batch, Notifier* notifier);

}  // namespace cairn
