// The use that this process has seen of each token's quotas. Safe from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "ops/http/access/token_book.hpp"

namespace cairn {

class QuotaBook {
 public:
  // Each takes from the caller's quota, and gives the seconds until there is enough again if there is not. A quota
  // fills up evenly, to its count in its period.
  std::optional<std::int64_t> take_run(const Caller& caller);
  void give_back_run(const Caller& caller);  // nothing new came of it
  std::optional<std::int64_t> take_bytes(const Caller& caller, std::size_t bytes);

  // A place for a stream, given back when the last copy is gone; null: all of the caller's are taken.
  std::shared_ptr<void> take_stream(const Caller& caller);

 private:
  struct Bucket {
    double left = 0;
    std::chrono::steady_clock::time_point at;
  };
  std::optional<std::int64_t> take(const std::string& name, const std::optional<Rate>& rate, double amount);

  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;  // by kind and token
  std::map<std::string, std::shared_ptr<std::atomic<std::int64_t>>> streams_;
};

// Runs that were taken from a caller's quota for one request. Those that were not kept are given back at its end, also
// when that is an exception. Used by one thread.
class TakenRuns {
 public:
  TakenRuns(QuotaBook& quotas, const Caller& caller, std::size_t count)
      : quotas_(quotas), caller_(caller), count_(count) {}
  ~TakenRuns() {
    for (; count_ > 0; --count_) quotas_.give_back_run(caller_);
  }
  TakenRuns(const TakenRuns&) = delete;
  TakenRuns& operator=(const TakenRuns&) = delete;

  void keep(std::size_t count) { count_ -= std::min(count, count_); }  // so many runs have come of it

 private:
  QuotaBook& quotas_;
  const Caller& caller_;
  std::size_t count_;
};

}  // namespace cairn
