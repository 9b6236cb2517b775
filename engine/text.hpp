// Texts without the space around them and in lower case, digits and numbers: of ASCII alone, whatever the locale is.
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace cairn {

// The text without spaces, tabs, carriage returns and line breaks at its ends. It points into `text`.
std::string_view trimmed(std::string_view text);

constexpr char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// Each letter of A to Z as its small one; all other bytes as they are.
std::string lowered(std::string_view text);

// The text as one word of a POSIX shell, in single quotes.
std::string shell_quoted(std::string_view text);

// The value of a hexadecimal digit, small or capital; -1 if the character is none.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The whole number whose digits a text begins with, after space: 2026 of "2026-Q1". 0: it begins with no digit, or the
// number is above `most`.
int leading_number(std::string_view text, int most);

}  // namespace cairn
