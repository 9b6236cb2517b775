#include "storage/postgres/claims/job_claimer.hpp"

#include <algorithm>
#include <tuple>

namespace cairn {
namespace {

bool earlier(const HeldJob& a, const HeldJob& b) {
  return std::tie(a.job.priority, a.job.run_at_us, a.run, a.job.branch) <
         std::tie(b.job.priority, b.job.run_at_us, b.run, b.job.branch);
}

}  // namespace

ClaimedBatch JobClaimer::claim(const ClaimRequest& request) {
  ClaimedBatch all;
  ClaimRequest rest = request;
  const auto gain = [&](ClaimedBatch claimed) {
    rest.limit -= static_cast<std::int32_t>(claimed.jobs.size());
    append(all, std::move(claimed));
  };
  // Ends: each round that fails has learnt of a limited queue (KnownLimits::record), and the next one splits it off.
  for (bool is_known = false; !is_known;) {
    KnownLimits::Split queues = limits_.split(rest);
    if (queues.limited_first) gain(limited_.claim(queues.limited));
    queues.unlimited.limit = rest.limit;
    ClaimAttempt claimed = unlimited_.claim(queues.unlimited);
    is_known = claimed.has_value();
    if (claimed) gain(*std::move(claimed));
    queues.limited.limit = rest.limit;
    if (is_known && !queues.limited_first) gain(limited_.claim(queues.limited));
  }
  CHECK(std::ssize(all.jobs) <= std::max(request.limit, 0));
  std::sort(all.jobs.begin(), all.jobs.end(), earlier);
  return all;
}

}  // namespace cairn
