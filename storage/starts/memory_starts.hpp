// The keys of starts of the store in memory. Safe from any thread (one lock).
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/starts/start_book.hpp"

namespace cairn {

class MemoryStarts {
 public:
  // `clock`: the database's.
  explicit MemoryStarts(std::function<TimeUs()> clock) : clock_(std::move(clock)) {}

  // As StartBook says.
  void decide_named(std::vector<StartKey> keys, const DecideStarts& decide);
  std::size_t decide_due(int limit, const DecideStarts& decide);
  NextDue next_due() const;
  std::int64_t count(std::int64_t most) const;
  std::vector<WaitingStart> starts(const StartKey& of, std::int64_t first, std::int64_t last) const;
  std::optional<FoundStart> start_of_run(const RunId& run) const;
  std::vector<StartKeyRow> keys(const std::string& graph, const StartKey& after, std::int32_t limit) const;
  void forget_refused(TimeUs before_us);
  void recall();

 private:
  using Starts = std::map<std::int64_t, WaitingStart>;  // by number

  StartKeyRow with_front(StartKeyRow row) const;
  void decide(const std::vector<StartKeyRow>& rows, const DecideStarts& decide);
  void keep(const StartKeyWrite& write);

  const std::function<TimeUs()> clock_;
  mutable std::recursive_mutex mutex_;
  std::map<StartKey, StartKeyRow> rows_;
  std::map<StartKey, Starts> starts_;
};

}  // namespace cairn
