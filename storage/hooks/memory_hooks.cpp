#include "storage/hooks/memory_hooks.hpp"

#include <algorithm>

namespace cairn {

HookCalls MemoryHooks::calls() { return hook_calls_of(*this); }

std::int64_t MemoryHooks::put_note(const std::string& hook, const HookNote& note) {
  std::vector<KeptHookNote>& notes = notes_[hook];
  notes.push_back({static_cast<std::int64_t>(notes.size()) + 1, clock_(), note});
  rows_.at(hook).notes = notes.back().number;
  return notes.back().number;
}

std::optional<std::int64_t> MemoryHooks::add(const HookRow& row, TimeUs lease_us, const HookNote& note) {
  const std::lock_guard lock(mutex_);
  if (const auto found = rows_.find(row.name); found != rows_.end()) {
    HookRow& begun = found->second;
    if (begun.is_ready || begun.is_removed || begun.definition != row.definition) return std::nullopt;
    begun.due_at = clock_() + lease_us;
    return ++begun.fence;
  }
  HookRow& added = rows_[row.name] = row;
  added.is_ready = added.is_removed = false;
  added.fence = 1;
  added.created_at = added.resumed_at = clock_();
  added.due_at = clock_() + lease_us;
  put_note(row.name, note);
  return 1;
}

std::vector<HookRow> MemoryHooks::hooks() const {
  const std::lock_guard lock(mutex_);
  std::vector<HookRow> all;
  for (const auto& [name, row] : rows_)
    if (!row.is_removed) all.push_back(row);
  return all;
}

std::optional<HookRow> MemoryHooks::take(TimeUs lease_us, TimeUs making_us) {
  const std::lock_guard lock(mutex_);
  const auto first = std::min_element(rows_.begin(), rows_.end(),
                                      [](const auto& a, const auto& b) { return a.second.due_at < b.second.due_at; });
  if (first == rows_.end() || first->second.due_at > clock_()) return std::nullopt;
  HookRow& row = first->second;
  ++row.fence;
  row.due_at = clock_() + (row.is_ready || row.is_removed ? lease_us : making_us);
  return row;
}

bool MemoryHooks::keep(const HookScan& scan) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(scan.row.name);
  if (found == rows_.end() || found->second.fence != scan.row.fence || found->second.is_removed) return false;
  HookRow& row = found->second;
  row.due_at = clock_() + scan.pause_us;
  row.is_ready = scan.row.is_ready;
  row.scan_shard = scan.row.scan_shard;
  row.scan_run = scan.row.scan_run;
  for (const NoticeId& id : scan.notices) {
    HookDelivery fresh{row.name, id};
    fresh.noted_at = fresh.next_at = clock_();
    deliveries_[row.name].emplace(id, fresh);
  }
  return true;
}

bool MemoryHooks::change(const std::string& hook, const HookChange& change) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(hook);
  if (found == rows_.end() || (found->second.is_removed && !change.is_removed)) return false;
  HookRow& row = found->second;
  if (change.taken_at && (row.paused_at || row.resumed_at > *change.taken_at)) return false;
  if (change.paused_by.empty()) row.resumed_at = clock_();
  row.paused_at = change.paused_by.empty() ? std::nullopt : std::optional(row.paused_at.value_or(clock_()));
  row.paused_by = change.paused_by;
  row.paused_reason = change.reason;
  row.is_removed = change.is_removed;
  if (row.is_removed) row.due_at = clock_();
  put_note(hook, change.note);
  return true;
}

bool MemoryHooks::edit(const std::string& hook, const HookEdit& edit) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(hook);
  if (found == rows_.end() || !found->second.is_ready || found->second.is_removed) return false;
  if (found->second.definition != edit.before) return false;
  found->second.definition = edit.definition;
  found->second.is_ordered = edit.is_ordered;
  found->second.resumed_at = clock_();
  put_note(hook, edit.note);
  return true;
}

std::optional<std::int64_t> MemoryHooks::note(const std::string& hook, const HookNote& note) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(hook);
  if (found == rows_.end() || found->second.is_removed) return std::nullopt;
  return put_note(hook, note);
}

bool MemoryHooks::put(const std::string& hook, const NoticeId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(hook);
  if (found == rows_.end() || found->second.is_removed) return false;
  HookDelivery fresh{hook, id};
  fresh.noted_at = fresh.next_at = clock_();
  return deliveries_[hook].emplace(id, fresh).second;
}

void MemoryHooks::erase(const std::string& hook) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(hook);
  if (found == rows_.end() || !found->second.is_removed) return;
  rows_.erase(found);
  deliveries_.erase(hook);
}

std::int64_t MemoryHooks::count_waiting(const std::string& hook, std::int32_t most) const {
  const std::lock_guard lock(mutex_);
  const auto found = deliveries_.find(hook);
  if (found == deliveries_.end()) return 0;
  const auto waiting = std::count_if(found->second.begin(), found->second.end(),
                                     [](const auto& one) { return one.second.status == DeliveryStatus::waiting; });
  return std::min<std::int64_t>(waiting, most);
}

bool MemoryHooks::has_parked(const std::string& hook) const {
  const std::lock_guard lock(mutex_);
  const auto found = deliveries_.find(hook);
  return found != deliveries_.end() && std::any_of(found->second.begin(), found->second.end(), [](const auto& one) {
           return one.second.status == DeliveryStatus::parked;
         });
}

// Samples are not of a run.
bool MemoryHooks::is_behind_another(const Deliveries& all, const NoticeId& id) const {
  const auto place = [](const NoticeId& of) { return std::pair(of.seq, of.kind == NoticeKind::stalled); };
  return std::any_of(all.begin(), all.end(), [&](const auto& one) {
    const bool is_open = one.second.status == DeliveryStatus::waiting || one.second.status == DeliveryStatus::parked;
    return is_open && one.first.kind != NoticeKind::test && one.first.run == id.run && place(one.first) < place(id);
  });
}

std::vector<HookDelivery> MemoryHooks::claim(const std::vector<HookSlots>& asked) {
  const std::lock_guard lock(mutex_);
  std::vector<HookDelivery> taken;
  for (const HookSlots& one : asked) {
    Deliveries& all = deliveries_[one.hook];
    std::int32_t left = one.slots;
    for (auto& [id, delivery] : all) {
      if (left == 0) break;
      if (delivery.status != DeliveryStatus::waiting || delivery.next_at > clock_()) continue;
      if (one.is_ordered && is_behind_another(all, id)) continue;
      ++delivery.sends;
      delivery.next_at = clock_() + one.lease_us;
      taken.push_back(delivery);
      --left;
    }
  }
  return taken;
}

bool MemoryHooks::record_send(const HookSettlement& settled) {
  const std::lock_guard lock(mutex_);
  Deliveries& all = deliveries_[settled.delivery.hook];
  const auto found = all.find(settled.delivery.id);
  if (found == all.end()) return false;
  HookDelivery& kept = found->second;
  if (kept.status != DeliveryStatus::waiting || kept.sends != settled.delivery.sends) return false;
  kept.status = settled.delivery.status;
  kept.failures = settled.delivery.failures;
  kept.answer = settled.delivery.answer;
  kept.says = settled.delivery.says;
  kept.next_at = clock_() + settled.pause_us;
  if (kept.status != DeliveryStatus::waiting) kept.settled_at = clock_();
  return true;
}

std::int64_t MemoryHooks::resend(const std::string& hook, const std::optional<NoticeId>& id, bool passes) {
  const std::lock_guard lock(mutex_);
  std::int64_t count = 0;
  for (auto& [of, delivery] : deliveries_[hook]) {
    const bool is_parked = delivery.status == DeliveryStatus::parked;
    if (id ? of != *id : !is_parked) continue;
    if (passes && !is_parked && delivery.status != DeliveryStatus::waiting) continue;
    delivery.status = passes ? DeliveryStatus::skipped : DeliveryStatus::waiting;
    delivery.settled_at = passes ? std::optional(clock_()) : std::nullopt;
    delivery.failures = 0;
    delivery.next_at = clock_();
    ++count;
  }
  return count;
}

std::int64_t MemoryHooks::trim(const std::string& hook, TimeUs kept_us, TimeUs stalled_us, std::int32_t most) {
  const std::lock_guard lock(mutex_);
  std::int64_t removed = 0;
  std::erase_if(deliveries_[hook], [&](const auto& one) {
    const HookDelivery& delivery = one.second;
    if (delivery.status == DeliveryStatus::waiting || delivery.status == DeliveryStatus::parked) return false;
    const TimeUs kept = one.first.kind == NoticeKind::stalled ? std::max(kept_us, stalled_us) : kept_us;
    const bool is_old = removed < most && *delivery.settled_at < clock_() - kept;
    removed += is_old ? 1 : 0;
    return is_old;
  });
  return removed;
}

std::vector<HookDelivery> MemoryHooks::deliveries(const std::string& hook) const {
  const std::lock_guard lock(mutex_);
  std::vector<HookDelivery> all;
  const auto found = deliveries_.find(hook);
  if (found == deliveries_.end()) return all;
  for (const auto& [id, delivery] : found->second) all.push_back(delivery);
  return all;
}

std::vector<KeptHookNote> MemoryHooks::notes(const std::string& hook) const {
  const std::lock_guard lock(mutex_);
  const auto found = notes_.find(hook);
  return found == notes_.end() ? std::vector<KeptHookNote>() : found->second;
}

}  // namespace cairn
