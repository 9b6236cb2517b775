// The store's group commit in PostgreSQL. Safe from any thread.
//
// First it is optimistic: all statements in one round trip and one transaction, each of which fails unless the rows it
// touches are as its entries expect. If one fails, the batch is written again under locks: run rows in order of their
// ids, then job rows in order of run and branch, as every writer locks them. Each entry's verdict is decided on the
// locked rows, and only the entries that pass are written. A batch that the database refuses for good is divided until
// the refused entries stand alone.
//
// A run that several processes write is locked first, and its entry is decided under the lock: in one transaction, the
// server's queue for the row is the order of the writers, so that the slowest of them has its turn as well.
#pragma once

#include <span>
#include <vector>

#include "storage/postgres/notifier.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/store.hpp"

namespace cairn {

// Contract: Store::commit. `notifier`: null to send no notification.
std::vector<Verdict> commit_batch(Placements& placements, Shard shard, std::span<const Entry> batch,
                                  Notifier* notifier);

// Contract: Store::commit_locked.
LockedCommitted commit_locked_batch(Placements& placements, Shard shard, std::span<const KnownRun> runs,
                                    const DecideLocked& decide, Notifier& notifier);

}  // namespace cairn
