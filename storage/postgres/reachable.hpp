// Whether a database answers right now. Safe from any thread; blocks, two seconds until there is a connection, and then
// for as long as the server takes.
#pragma once

#include <optional>
#include <string>

namespace cairn {

// Why it does not; nothing: a new connection, which may take two seconds, was made and a query answered.
std::optional<std::string> unreachable(const std::string& dsn);

}  // namespace cairn
