// The log of this program on stderr: lines for people, or one JSON object a line for machines. Entries of the spdlog
// library pass through it, too. Safe from any thread, after it was opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/json.hpp"

namespace cairn {

enum class LogForm : std::uint8_t { text, json };
enum class LogLevel : std::uint8_t { debug, info, warning, error, off };

// debug, info, warn, error or off, or one of the library's words for about the same (trace, warning, err, critical);
// nothing for another word.
std::optional<LogLevel> parse_log_level(const std::string& word);

// Once, at the start of the program. Text has the time with its zone, the process, the level and the entry; JSON
// {"at", "level", "pid", "message", ...}. `file`: lines also go there (log_file.hpp), those of `level_of_file`, which
// may be more than stderr gets; "": they do not.
void open_log(LogForm form, LogLevel level, const std::string& file = "", LogLevel level_of_file = LogLevel::off);
bool is_logged(LogLevel level);  // on stderr or in the file

// An entry with the fields that it is about, {"run": ..., "step": 3, ...}: as `run=... step=3` after a text.
void log_about(LogLevel level, const std::string& text, const Json& fields);

}  // namespace cairn
