#include "ops/metrics/job_reading.hpp"

namespace cairn {
namespace {

JobPart jobs_after(Administration& database, const TallyPlace& after, std::int64_t count, TimeUs now_us) {
  const AdminRows rows =
      database.query("job_part", {std::to_string(after.shard), after.run, std::to_string(after.branch),
                                  std::to_string(count), std::to_string(now_us)});
  rows.expect_columns({"queue", "ready", "later", "held", "shard", "run_id", "branch"});
  JobPart part;
  std::int64_t found = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JobCounts counts{rows.number(i, 1), rows.number(i, 2), rows.number(i, 3)};
    part.queues.emplace_back(rows.text(i, 0), counts);
    found += counts.ready + counts.later + counts.held;
  }
  if (found == count) part.last = TallyPlace{rows.number(0, 4), rows.text(0, 5), rows.number(0, 6)};
  return part;
}

}  // namespace

const std::optional<JobTally::Reading>& read_jobs(Administration& database, JobTally& tally, const ReadingTime& time) {
  const JobReader reader = [&](const TallyPlace& after, std::int64_t count) {
    return jobs_after(database, after, count, time.now_us);
  };
  return tally.read(reader, time.steady_us);
}

const std::optional<JobTally::Reading>& read_jobs(const std::string& dsn, const std::string& application,
                                                  JobTally& tally, const ReadingTime& time) {
  Administration database(dsn, application, opening_limit_ms);
  database.begin();
  database.query("read_by_index");
  const std::optional<JobTally::Reading>& reading = read_jobs(database, tally, time);
  database.commit();
  return reading;
}

}  // namespace cairn
