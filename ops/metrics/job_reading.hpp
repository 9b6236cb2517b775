// The reader of a database's jobs for a JobTally. Not thread-safe: a tally is of one thread.
#pragma once

#include <optional>
#include <string>

#include "ops/metrics/job_tally.hpp"
#include "storage/postgres/administration.hpp"

namespace cairn {

// When a reading is made.
struct ReadingTime {
  TimeUs now_us = 0;  // of the database's clock: what is due by then is ready
  TimeUs steady_us = 0;
};

// Reads in the transaction that is open, in which read_by_index was asked. Throws PostgresError.
const std::optional<JobTally::Reading>& read_jobs(Administration& database, JobTally& tally, const ReadingTime& time);

// The same over a connection of its own, which is named `application`.
const std::optional<JobTally::Reading>& read_jobs(const std::string& dsn, const std::string& application,
                                                  JobTally& tally, const ReadingTime& time);

}  // namespace cairn
