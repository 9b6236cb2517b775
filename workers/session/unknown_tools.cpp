#include "workers/session/unknown_tools.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn {
namespace {

bool is_same_hold(const HeldJob* now, const HeldJob& then) {
  return now != nullptr && now->run == then.run && now->epoch == then.epoch && now->job.branch == then.job.branch &&
         now->job.step == then.job.step;
}

}  // namespace

std::vector<StepsInFlight::Report> UnknownTools::after_scan(TimeUs scanned_at, const StepsInFlight& steps) {
  const auto still_waits = [scanned_at](const Waiting& one) { return one.since_us > scanned_at; };
  const auto first = std::stable_partition(waiting_.begin(), waiting_.end(), still_waits);
  std::vector<StepsInFlight::Report> reports;
  for (auto one = first; one != waiting_.end(); ++one)
    if (is_same_hold(steps.job(one->report.slot), one->job)) reports.push_back(std::move(one->report));
  waiting_.erase(first, waiting_.end());
  return reports;
}

}  // namespace cairn
