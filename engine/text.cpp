#include "engine/text.hpp"

#include <charconv>

namespace cairn {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lowered(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = lowered(c);
  return made;
}

std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

int leading_number(std::string_view text, int most) {
  text = trimmed(text);
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} && number > 0 && number <= most ? number : 0;
}

}  // namespace cairn
