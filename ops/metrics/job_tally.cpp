#include "ops/metrics/job_tally.hpp"

#include <algorithm>
#include <utility>

#include "engine/id.hpp"

namespace cairn {
namespace {

void sum_up(std::map<std::string, QueueRow>& queues, const std::vector<QueueRow>& rows) {
  for (const QueueRow& row : rows) {
    QueueRow& sum = queues.try_emplace(row.name, QueueRow{row.name, 0, 0, 0, std::nullopt}).first->second;
    sum.ready += row.ready;
    sum.later += row.later;
    sum.held += row.held;
    if (row.oldest_us) sum.oldest_us = std::min(sum.oldest_us.value_or(never_us), *row.oldest_us);
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
    sum_up(counting_.queues, found.queues);
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
