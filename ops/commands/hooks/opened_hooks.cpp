#include "ops/commands/hooks/opened_hooks.hpp"

namespace cairn {

Result<std::unique_ptr<OpenedHooks>> open_hooks(const Settings& settings) {
  Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  Result<std::unique_ptr<Store>> store = open_store(*dsn);
  if (!store) return store.error();
  auto all = std::make_unique<OpenedHooks>();
  all->dsn = *std::move(dsn);
  all->store = *std::move(store);
  const std::string identity = all->store->identity();
  const std::int32_t shards = all->store->shards();
  all->table = std::make_unique<HookTable>(all->dsn, identity);
  all->feed = std::make_unique<Feed>(all->dsn, shards, identity);
  all->stalled = std::make_unique<StalledRuns>(all->dsn, shards, identity);
  all->desk = std::make_unique<HookDesk>(all->table->calls(), hook_feed_of(*all->feed, *all->stalled));
  return all;
}

}  // namespace cairn
