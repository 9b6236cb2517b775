// The starts of a rate as the database saw them: triggers note each claimed job, the time by which its claim was
// allowed, and how the rate stood then. One writer in a transaction; safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/id.hpp"

namespace cairn::test {

// From now on, if they are not noted yet. REQUIRES: the DSN's login owns the schema.
void note_starts(const std::string& dsn);

// The starts by all claims from queues with a rate, each job once, in order.
std::vector<TimeUs> noted_starts(const std::string& dsn);
// The starts of this key, by all claims from queues with a rate of each key, each job once, in order.
std::vector<TimeUs> noted_starts_of_key(const std::string& dsn, const std::string& key);
// The starts that were taken for jobs that were held already, from the one queue with a rate, whose starts are so far
// apart; in order.
std::vector<TimeUs> noted_taken_starts(const std::string& dsn, TimeUs interval_us);

}  // namespace cairn::test
