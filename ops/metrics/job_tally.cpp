#include "ops/metrics/job_tally.hpp"

#include <utility>

namespace cairn {
namespace {

void sum_up(std::map<std::string, JobCounts>& queues, const JobPart& part) {
  for (const auto& [queue, counts] : part.queues) {
    JobCounts& sum = queues[queue];
    sum.ready += counts.ready;
    sum.later += counts.later;
    sum.held += counts.held;
  }
}

}  // namespace

void JobTally::begin(TimeUs now_us) {
  next_ = first_job();
  counting_ = {{}, now_us};
}

const std::optional<JobTally::Reading>& JobTally::read(const JobReader& reader, TimeUs now_us) {
  TallyPlace from = std::exchange(next_, first_job());
  if (from == first_job()) begin(now_us);
  for (int part = 0; part < parts_max_; ++part) {
    JobPart found = reader(from, part_rows_);
    sum_up(counting_.queues, found);
    if (!found.last) {
      counted_ = std::move(counting_);
      return counted_;
    }
    from = *std::move(found.last);
  }
  next_ = std::move(from);
  return counted_;
}

}  // namespace cairn
