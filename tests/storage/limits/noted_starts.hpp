// The starts of a rate as the database saw them: triggers note each claimed job, and the time by which its claim was
// allowed. One writer in a transaction; safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/id.hpp"

namespace cairn::test {

// From now on. REQUIRES: the DSN's login owns the schema.
void note_starts(const std::string& dsn);

// The starts by all claims from queues with a rate, each job once, in order.
std::vector<TimeUs> noted_starts(const std::string& dsn);

}  // namespace cairn::test
