#include "ops/http/access/quota_book.hpp"

#include <algorithm>
#include <cmath>

namespace cairn {

std::optional<std::int64_t> QuotaBook::take(const std::string& name, const std::optional<Rate>& rate, double amount) {
  if (!rate) return {};
  const auto now = std::chrono::steady_clock::now();
  const auto count = static_cast<double>(rate->count);
  const double each_second = count / static_cast<double>(rate->period_s);
  const std::lock_guard lock(mutex_);
  Bucket& bucket = buckets_.try_emplace(name, Bucket{count, now}).first->second;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket = {std::min(count, bucket.left + passed.count() * each_second), now};
  if (amount > bucket.left)
    return std::max<std::int64_t>(1, std::llround(std::ceil((std::min(amount, count) - bucket.left) / each_second)));
  bucket.left -= amount;
  return {};
}

std::optional<std::int64_t> QuotaBook::take_run(const Caller& caller) {
  return take("runs " + caller.token, caller.access.quotas.runs, 1);
}

void QuotaBook::give_back_run(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  const auto found = buckets_.find("runs " + caller.token);
  if (found != buckets_.end()) found->second.left += 1;
}

std::optional<std::int64_t> QuotaBook::take_bytes(const Caller& caller, std::size_t bytes) {
  return take("bytes " + caller.token, caller.access.quotas.bytes, static_cast<double>(bytes));
}

std::shared_ptr<void> QuotaBook::take_stream(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  auto& open = streams_[caller.token];
  if (!open) open = std::make_shared<std::atomic<std::int64_t>>(0);
  const std::optional<std::int64_t>& most = caller.access.quotas.streams;
  if (most && *open >= *most) return nullptr;
  ++*open;
  return {open.get(), [open](void*) { --*open; }};
}

}  // namespace cairn
