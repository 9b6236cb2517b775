// The hooks of the chosen database, opened for a command. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "ops/service/database.hpp"
#include "storage/feed/feed.hpp"
#include "storage/hooks/hook_table.hpp"
#include "storage/hooks/stalled_runs.hpp"
#include "workers/hooks/hook_desk.hpp"

namespace cairn {

struct OpenedHooks {
  std::string dsn;
  std::unique_ptr<Store> store;
  std::unique_ptr<HookTable> table;
  std::unique_ptr<Feed> feed;
  std::unique_ptr<StalledRuns> stalled;
  std::unique_ptr<HookDesk> desk;
};

// Refuses as reach_database and open_store.
Result<std::unique_ptr<OpenedHooks>> open_hooks(const Settings& settings);

}  // namespace cairn
