// Whether a database answers right now, asked with little patience. Safe from any thread; blocks for a few seconds at
// most.
#pragma once

#include <optional>
#include <string>

namespace cairn {

// Why it does not; nothing: a new connection was made and a query answered. Each may take two seconds.
std::optional<std::string> unreachable(const std::string& dsn);

}  // namespace cairn
