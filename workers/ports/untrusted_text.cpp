#include "workers/ports/untrusted_text.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace cairn {
namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u;
}

// Bytes of the well-formed character at `at`; 0 if there is none.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !continues(text, at + 1)) return 0;
  if (first < 0xE0) return 2;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  if (overlong || beyond || !continues(text, at + 2)) return 0;
  if (first < 0xF0) return 3;
  return continues(text, at + 3) ? 4 : 0;
}

// The number of the well-formed character `bytes`.
std::uint32_t code_point(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return first;
  std::uint32_t code = first & (0xFFu >> (bytes.size() + 1));
  for (const char next : bytes.substr(1)) code = (code << 6) | (static_cast<unsigned char>(next) & 0x3Fu);
  return code;
}

// C0, DEL and C1; the Arabic letter mark, the marks, embeddings, overrides and isolates of direction.
bool is_obeyed(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string_view without_blanks_around(std::string_view text) {
  const std::size_t from = text.find_first_not_of(blanks);
  return from == std::string_view::npos ? std::string_view{}
                                        : text.substr(from, text.find_last_not_of(blanks) - from + 1);
}

}  // namespace

std::string visible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    const std::string_view piece = text.substr(at, bytes);
    const std::uint32_t code = bytes == 0 ? 0 : code_point(piece);
    if (bytes == 0) {
      shown += '?';
    } else if (is_obeyed(code) && code != '\n' && code != '\t') {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
      shown += escape.data();
    } else {
      shown += piece;
    }
    at += bytes == 0 ? 1 : bytes;
  }
  return shown;
}

std::string readable_line(std::string_view text, std::size_t bytes_max) {
  text = without_blanks_around(text);
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    const bool shown = bytes > 0 && !is_obeyed(code_point(text.substr(at, bytes)));
    const std::string_view piece = shown ? text.substr(at, bytes) : std::string_view(bytes > 0 ? " " : "?");
    if (line.size() + piece.size() > bytes_max) return line + "...";
    line += piece;
    at += bytes == 0 ? 1 : bytes;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

std::string with_replacements(std::string_view text) {
  std::string fit;
  fit.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    fit += bytes == 0 ? std::string_view("?") : text.substr(at, bytes);
    at += bytes == 0 ? 1 : bytes;
  }
  return fit;
}

std::string_view last_line(std::string_view text) {
  text = without_blanks_around(text);
  const std::size_t line_break = text.find_last_of("\r\n");
  return line_break == std::string_view::npos ? text : without_blanks_around(text.substr(line_break + 1));
}

void LastLines::add(std::string_view more) {
  if (is_within_) {
    const std::size_t end = more.find('\n');
    if (end == std::string_view::npos) return;
    more.remove_prefix(end + 1);
    is_within_ = false;
  }
  text_ += more;
  if (text_.size() <= 2 * bytes_max_) return;
  const std::size_t end = text_.find('\n', text_.size() - bytes_max_ - 1);
  is_within_ = end == std::string::npos;
  text_.erase(0, is_within_ ? text_.size() : end + 1);
}

}  // namespace cairn
