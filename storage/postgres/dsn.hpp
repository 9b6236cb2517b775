// PostgreSQL connection strings as texts. Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>

namespace cairn {

// Why the text, given in `place`, is no connection string or URL, in a sentence that shows nothing of it, for it may
// hold a password.
std::optional<std::string> dsn_fault(const std::string& dsn, const std::string& place);

// "host='a' dbname='b'": what it names, without secrets. "" for one that cannot be read.
std::string public_dsn(const std::string& dsn);

// The folder of the server's socket, if it is named by that; else "".
std::string socket_folder_of(const std::string& dsn);

}  // namespace cairn
