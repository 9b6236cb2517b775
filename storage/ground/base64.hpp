// Bytes as base64 (RFC 4648, with padding). Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cairn {

std::string base64(std::string_view bytes);
std::optional<std::string> parse_base64(std::string_view text);

}  // namespace cairn
