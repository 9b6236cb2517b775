// A large text in fewer bytes: `zstd:` and the text compressed (RFC 8878) as base64. The server would compress it as
// well, but later, more slowly, and after it has been sent. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// Shorter texts stay as they are, and those that would not become shorter.
inline constexpr std::size_t packed_bytes_min = 256u * 1024;

std::string packed_text(std::string_view text);

// Any text that is not packed, and a packed one that is damaged, comes back as it is: no JSON begins so.
// Throws std::bad_alloc.
std::string unpacked_text(std::string_view stored);

}  // namespace cairn
