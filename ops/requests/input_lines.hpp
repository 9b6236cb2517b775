// A file of inputs as JSON lines: one object a line; empty lines are counted and skipped. Read as a stream, never
// whole. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// Calls `take` for each input with its line's number. Refuses `invalid` with the number of the first line that is no
// object, `not_found` for a file that cannot be read, and passes on a refusal of `take`.
Status for_each_input(const std::string& path, const std::function<Status(std::int64_t line, Json input)>& take);

// The hexadecimal SHA-256 of the file's bytes. Refuses `not_found`.
Result<std::string> file_digest(const std::string& path);

// A path of a file that may be read more than once: the same for a regular file; for "-", stdin, and for a pipe one of
// a copy, which is gone when this process ends. Refuses `not_found`.
Result<std::string> readable_again(const std::string& path);

}  // namespace cairn
