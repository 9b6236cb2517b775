#include "storage/limits/memory_limits.hpp"

#include <algorithm>
#include <iterator>

#include "storage/limits/rate.hpp"

namespace cairn {
namespace {

template <class Key, class Value>
QueueUse use_in(const std::map<Key, TimeUs>& full_at, const std::map<Key, Value>& budgets, const Key& key,
                std::int64_t held) {
  QueueUse use{.held = held};
  if (const auto found = full_at.find(key); found != full_at.end()) use.full_at = found->second;
  if (const auto found = budgets.find(key); found != budgets.end()) use.budgets = found->second;
  return use;
}

template <class Key>
std::size_t forget_full(std::map<Key, TimeUs>& full_at, TimeUs at_us) {
  return std::erase_if(full_at, [&](const auto& entry) { return entry.second < at_us; });
}

template <class Key>
std::size_t forget_over(std::map<Key, std::vector<UnitUse>>& budgets, TimeUs at_us) {
  std::size_t forgotten = 0;
  for (auto& [key, uses] : budgets)
    forgotten += std::erase_if(uses, [&](const UnitUse& use) { return use.since < window_start(use.per, at_us); });
  std::erase_if(budgets, [](const auto& entry) { return entry.second.empty(); });
  return forgotten;
}

}  // namespace

std::vector<QueueLimits> MemoryLimits::all() const {
  std::vector<QueueLimits> all;
  for (const auto& [name, limits] : limits_) all.push_back(limits);
  return all;
}

Result<QueueLimits> MemoryLimits::change(const LimitChange& change, TimeUs now_us) {
  if (const Status fine = check_limits(change.limits); !fine) return fine.error();
  const QueueLimits found = of(change.limits.name);
  QueueLimits next = change.limits;
  ++next.revision;
  if (found == next) return next;
  if (const Status fits = check_change(found, change); !fits) return fits.error();
  limits_[next.name] = next;
  changes_[next.name].push_back({next, now_us, change.actor});
  return next;
}

std::vector<LimitChangeRow> MemoryLimits::changes(const std::string& queue, std::int64_t before,
                                                  std::int32_t limit) const {
  std::vector<LimitChangeRow> newest;
  const auto found = changes_.find(queue);
  if (found == changes_.end()) return newest;
  for (auto row = found->second.rbegin(); row != found->second.rend() && std::ssize(newest) < limit; ++row)
    if (row->limits.revision < before) newest.push_back(*row);
  return newest;
}

std::vector<KeyUnitUse> MemoryLimits::budget_uses(const std::string& queue, std::int32_t limit, TimeUs now_us) const {
  std::map<std::string, QueueUse> keys;
  for (const auto& [of, budgets] : key_budgets_)
    if (of.first == queue) keys[of.second].budgets = budgets;
  return most_used(keys, limit, now_us);
}

QueueLimits MemoryLimits::of(const std::string& queue) const {
  const auto found = limits_.find(queue);
  return found == limits_.end() ? QueueLimits{.name = queue} : found->second;
}

QueueUse MemoryLimits::use(const std::string& queue, std::int64_t held) const {
  return use_in(full_at_, budgets_, queue, held);
}

QueueUse MemoryLimits::key_use(const std::string& queue, const std::string& key, std::int64_t held) const {
  return use_in(key_full_at_, key_budgets_, {queue, key}, held);
}

void MemoryLimits::begin(const QueueLimits& limits, const std::string& key, std::int64_t count, TimeUs now_us) {
  const auto spend = [&](const StartRate& rate, TimeUs& full_at) {
    full_at = full_at_after(rate, full_at, now_us, count);
  };
  if (limits.rate) spend(*limits.rate, full_at_[limits.name]);
  if (limits.key_rate) spend(*limits.key_rate, key_full_at_[{limits.name, key}]);
}

void MemoryLimits::add(const QueueLimits& limits, const std::string& key, const StepUse& use, TimeUs now_us) {
  for (const UnitBudget& budget : limits.budgets) add_use(budgets_[limits.name], budget, use.of(budget.unit), now_us);
  for (const UnitBudget& budget : limits.key_budgets)
    add_use(key_budgets_[{limits.name, key}], budget, use.of(budget.unit), now_us);
}

std::int64_t MemoryLimits::forget_spent(TimeUs at_us, const NextKey& next) {
  std::size_t forgotten = forget_full(full_at_, at_us) + forget_full(key_full_at_, at_us) +
                          forget_over(budgets_, at_us) + forget_over(key_budgets_, at_us);
  for (auto turn = turns_.begin(); turn != turns_.end();) {
    const std::optional<std::string> key = next(turn->first.first, turn->first.second, turn->second.key);
    const bool is_passed = key != turn->second.key;
    forgotten += is_passed ? 1 : 0;
    if (is_passed && key) turn->second = {*key, 0};
    turn = key ? std::next(turn) : turns_.erase(turn);
  }
  return static_cast<std::int64_t>(forgotten);
}

void MemoryLimits::forget_key(const std::string& queue, const std::string& key) {
  key_full_at_.erase({queue, key});
  key_budgets_.erase({queue, key});
}

}  // namespace cairn
