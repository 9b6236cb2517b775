#include "workers/schemas/percent_encoding.hpp"

#include <optional>

#include "engine/text.hpp"

namespace cairn {
namespace {

// The character that is written at this percent sign, if one is.
std::optional<char> character_at(std::string_view text, std::size_t percent) {
  if (percent + 2 >= text.size()) return std::nullopt;
  const int high = hex_digit(text[percent + 1]);
  const int low = hex_digit(text[percent + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

}  // namespace

bool is_percent_encoded(std::string_view text) {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (!character_at(text, at)) return false;
  return true;
}

std::string without_percents(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::optional<char> read = text[at] == '%' ? character_at(text, at) : std::nullopt;
    plain += read.value_or(text[at]);
    if (read) at += 2;
  }
  return plain;
}

}  // namespace cairn
