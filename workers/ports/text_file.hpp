// Texts from outside, whole and of bounded size. Pure but for the reading; safe from any thread.
#pragma once

#include <string>

#include "engine/result.hpp"

namespace cairn {

// `what` names the text in the sentence of a refusal: `not_found` for a file that cannot be read (there is none, it is
// a directory, it may not be), `limit` for more than json_bytes_max bytes.
Result<std::string> read_text_file(const std::string& path, const std::string& what);

// What is left of an open file, as stdin.
Result<std::string> read_text(int file, const std::string& what);

}  // namespace cairn
