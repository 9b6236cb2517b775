// The table of hooks in memory, for the simulator and tests. Safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/hooks/hook_rows.hpp"

namespace cairn {

class MemoryHooks {
 public:
  // `clock`: the database's.
  explicit MemoryHooks(std::function<TimeUs()> clock) : clock_(std::move(clock)) {}

  HookCalls calls();  // REQUIRES: this outlives them
  // As HookCalls says.
  std::optional<std::int64_t> add(const HookRow& row, TimeUs lease_us, const HookNote& note);
  std::vector<HookRow> hooks() const;
  std::optional<HookRow> take(TimeUs lease_us, TimeUs making_us);
  bool keep(const HookScan& scan);
  bool change(const std::string& hook, const HookChange& change);
  bool edit(const std::string& hook, const HookEdit& edit);
  std::optional<std::int64_t> note(const std::string& hook, const HookNote& note);
  bool put(const std::string& hook, const NoticeId& id);
  void erase(const std::string& hook);
  std::int64_t count_waiting(const std::string& hook, std::int32_t most) const;
  bool has_parked(const std::string& hook) const;
  std::vector<HookDelivery> claim(const std::vector<HookSlots>& asked);
  bool record_send(const HookSettlement& settled);
  std::int64_t resend(const std::string& hook, const std::optional<NoticeId>& id, bool passes);
  std::int64_t trim(const std::string& hook, TimeUs kept_us, TimeUs stalled_us, std::int32_t most);

  std::vector<HookDelivery> deliveries(const std::string& hook) const;  // by their ids
  std::vector<KeptHookNote> notes(const std::string& hook) const;       // the oldest first

 private:
  using Deliveries = std::map<NoticeId, HookDelivery>;
  std::int64_t put_note(const std::string& hook, const HookNote& note);
  bool is_behind_another(const Deliveries& all, const NoticeId& id) const;

  const std::function<TimeUs()> clock_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, HookRow> rows_;
  std::map<std::string, Deliveries> deliveries_;
  std::map<std::string, std::vector<KeptHookNote>> notes_;
};

}  // namespace cairn
