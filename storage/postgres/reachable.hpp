// A readiness probe: whether a database answers right now, and takes what is written (its disk is not full, it is no
// standby). Safe from any thread; blocks for two seconds until there is
// a connection, and for two more until there is an answer.
#pragma once

#include <string>

#include "engine/result.hpp"

namespace cairn {

// Done once a new connection was made and wrote a little, which is rolled back. Refuses `unavailable`: the error's text
// is for a log.
Status probe_database(const std::string& dsn);

}  // namespace cairn
