// The hooks in PostgreSQL, their notices and notes. Safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/hooks/hook_rows.hpp"
#include "storage/postgres/connection_pool.hpp"

namespace cairn {

class HookTable {
 public:
  // Throws AnotherDatabase later if the DSN leads to another database than that of `identity`. `patience_ms`: how long
  // a failing database is asked again.
  HookTable(std::string dsn, const std::string& identity, std::int64_t patience_ms = 10'000);

  // All functions throw StoreUnavailable and PostgresError as the store does; see HookCalls.
  HookCalls calls();  // REQUIRES: this outlives them

  std::optional<std::int64_t> add(const HookRow& row, TimeUs lease_us, const HookNote& note);
  std::vector<HookRow> hooks();
  std::optional<HookRow> take(TimeUs lease_us, TimeUs making_us);
  bool keep(const HookScan& scan);
  bool change(const std::string& hook, const HookChange& change);
  bool edit(const std::string& hook, const HookEdit& edit);
  std::optional<std::int64_t> note(const std::string& hook, const HookNote& note);
  bool put(const std::string& hook, const NoticeId& id);
  void erase(const std::string& hook);
  std::int64_t count_waiting(const std::string& hook, std::int32_t most);
  bool has_parked(const std::string& hook);
  std::vector<HookDelivery> claim(const std::vector<HookSlots>& asked);
  bool record_send(const HookSettlement& settled);
  std::int64_t resend(const std::string& hook, const std::optional<NoticeId>& id, bool passes);
  std::int64_t trim(const std::string& hook, TimeUs kept_us, TimeUs stalled_us, std::int32_t most);

  std::optional<HookRow> hook(const std::string& name);
  std::vector<HookCounts> counts(const HookCountsAsked& asked = {});  // by name
  std::vector<HookDelay> delays();                                    // by name, of those that are not paused
  std::optional<HookDelivery> delivery(const std::string& hook, const NoticeId& id);
  // The newest first.
  std::vector<HookDelivery> deliveries(const std::string& hook, const DeliveriesAsked& asked = {});
  // The newest of each hook, by name, or of one; without those that have none.
  std::vector<HookDelivery> lasts(const std::optional<std::string>& hook = {});
  // The newest first, those before the number `before`.
  std::vector<KeptHookNote> notes(const std::string& hook, std::int64_t before, std::int32_t limit);

 private:
  std::vector<HookRow> named(const std::optional<std::string>& name);
  std::int64_t resend_parked(const std::string& hook);

  PostgresPool pool_;
};

}  // namespace cairn
