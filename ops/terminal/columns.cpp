#include "ops/terminal/columns.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace cairn {
namespace {

// The first and the last number of characters that take two columns.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 12> wide_characters = {{{0x1100, 0x115F},
                                                                                      {0x2E80, 0x303E},
                                                                                      {0x3041, 0xA4CF},
                                                                                      {0xA960, 0xA97C},
                                                                                      {0xAC00, 0xD7A3},
                                                                                      {0xF900, 0xFAFF},
                                                                                      {0xFE30, 0xFE6F},
                                                                                      {0xFF00, 0xFF60},
                                                                                      {0xFFE0, 0xFFE6},
                                                                                      {0x1F300, 0x1F64F},
                                                                                      {0x1F680, 0x1FAFF},
                                                                                      {0x20000, 0x3FFFD}}};
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 3> accents = {
    {{0x0300, 0x036F}, {0x200B, 0x200D}, {0xFE00, 0xFE0F}}};

template <std::size_t size>
bool is_in(const std::array<std::pair<std::uint32_t, std::uint32_t>, size>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const auto& range) { return range.first <= code && code <= range.second; });
}

// A character or the begin or end of a colour.
struct Glyph {
  std::size_t bytes = 1;
  std::size_t columns = 0;
};

Glyph glyph_at(std::string_view text, std::size_t at) {
  if (text[at] == paint_begins) return {std::min<std::size_t>(2, text.size() - at), 0};
  if (text[at] == paint_ends) return {1, 0};
  const auto first = static_cast<unsigned char>(text[at]);
  std::uint32_t code = first < 0x80 ? first : first < 0xE0 ? first & 0x1Fu : first < 0xF0 ? first & 0x0Fu : first & 7u;
  std::size_t bytes = 1;
  for (; at + bytes < text.size() && (static_cast<unsigned char>(text[at + bytes]) & 0xC0u) == 0x80u; ++bytes)
    code = (code << 6) | (static_cast<unsigned char>(text[at + bytes]) & 0x3Fu);
  return {bytes, is_in(accents, code) ? 0u : is_in(wide_characters, code) ? 2u : 1u};
}

// The bytes of the beginning that takes at most so many columns; at least one character.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Glyph glyph = glyph_at(text, at);
    used += glyph.columns;
    if (used > columns && at > 0) break;
    at += glyph.bytes;
  }
  return at;
}

void wrap_line(std::string_view rest, std::size_t columns, std::vector<std::string>& lines) {
  for (std::size_t end; (end = bytes_within(rest, std::max<std::size_t>(columns, 1))) < rest.size();) {
    const std::size_t blank = end < rest.size() && rest[end] == ' ' ? end : rest.substr(0, end).rfind(' ');
    const bool at_blank = blank != std::string_view::npos && blank > 0;
    lines.emplace_back(rest.substr(0, at_blank ? blank : end));
    rest.remove_prefix(at_blank ? blank + 1 : end);
  }
  lines.emplace_back(rest);
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = glyph_at(text, at);
    width += glyph.columns;
    at += glyph.bytes;
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  constexpr std::string_view goes_on = "...";
  if (shown_width(text) <= columns) return std::string(text);
  const bool has_room = columns > goes_on.size();
  std::string kept(text.substr(0, bytes_within(text, has_room ? columns - goes_on.size() : columns)));
  if (has_room) kept += goes_on;
  const std::size_t begins = kept.rfind(paint_begins);
  const bool is_painted = begins != std::string::npos && kept.find(paint_ends, begins) == std::string::npos;
  return is_painted ? kept + paint_ends : kept;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string_view all = text;
  for (bool goes_on = true; goes_on;) {
    const std::size_t line_break = all.find('\n');
    goes_on = line_break != std::string_view::npos;
    wrap_line(all.substr(0, line_break), columns, lines);
    if (goes_on) all.remove_prefix(line_break + 1);
  }
  return lines;
}

}  // namespace cairn
