// The reports that plan with tools which no session is known to have: each waits for a scan that began after it, as a
// session with the tool may have come meanwhile. Then it goes out, and the plan hears what is unknown. Not thread-safe.
#pragma once

#include <utility>
#include <vector>

#include "workers/session/steps_in_flight.hpp"

namespace cairn {

class UnknownTools {
 public:
  void wait(TimeUs since_us, HeldJob job, StepsInFlight::Report report) {
    waiting_.push_back({since_us, std::move(job), std::move(report)});
  }
  bool empty() const { return waiting_.empty(); }
  // Those for which a scan that began at `scanned_at` says enough; without those whose hold was lost meanwhile.
  std::vector<StepsInFlight::Report> after_scan(TimeUs scanned_at, const StepsInFlight& steps);

 private:
  struct Waiting {
    TimeUs since_us = 0;  // steady
    HeldJob job;
    StepsInFlight::Report report;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace cairn
