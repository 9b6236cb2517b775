// Files and standard input read as whole texts of bounded size, and files written whole. Blocks; safe from any thread.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// `what` names the text in a refusal's sentence. Refuses `not_found`: a file that cannot be read (absent, a directory,
// no permission); `limit`: more than json_bytes_max bytes.
Result<std::string> read_text_file(const std::string& path, const std::string& what);

// The same as JSON. Refuses `invalid` too: a text that is none.
Result<Json> read_json_file(const std::string& path, const std::string& what);

// Puts the text in the file's place, atomically: a reader sees the old text or the new one. Refuses `unavailable`: it
// cannot be written, and the file is as it was.
Status write_text_file(const std::string& path, const std::string& text, const std::string& what);

// The rest of an open file, such as stdin.
Result<std::string> read_text(int file, const std::string& what);

}  // namespace cairn
