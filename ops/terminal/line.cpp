#include "ops/terminal/line.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "ops/terminal/columns.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t width_when_unknown = 1'000;
constexpr std::array<std::string_view, 5> paint_codes = {"1", "2", "31", "32", "33"};

// As it is written: foreign characters visible, colours as a terminal takes them.
std::string rendered(std::string_view text) {
  std::string line;
  bool is_painted = false;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find_first_of("\xFE\xFF"), text.size());
    line += visible(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto code = text.size() > 1 ? static_cast<std::size_t>(text[1] - '0') : paint_codes.size();
    const bool begins = text[0] == paint_begins && code < paint_codes.size();
    if (begins) line += "\033[" + std::string(paint_codes[code]) + "m";
    if (text[0] == paint_ends) line += "\033[0m";
    is_painted = begins || (is_painted && text[0] != paint_ends);
    text.remove_prefix(begins ? 2 : 1);
  }
  return is_painted ? line + "\033[0m" : line;
}

bool is_colour_wanted() {
  static const bool wanted = is_terminal() && std::getenv("NO_COLOR") == nullptr;
  return wanted;
}

}  // namespace

void print_line(std::string_view text) { std::cout << rendered(text) << '\n'; }

void print_paragraph(const std::string& text) {
  if (!is_terminal()) return print_line(text);
  for (const std::string& line : wrapped(text, line_width())) print_line(line);
}

void print_below(const std::string& lead, const std::string& below, const std::string& text) {
  constexpr std::size_t room_min = 20;
  if (!is_terminal()) return print_line(lead + text);
  const std::size_t taken = std::max(shown_width(lead), shown_width(below));
  std::string before = lead;
  for (const std::string& line : wrapped(text, std::max(line_width(), taken + room_min) - taken))
    print_line(std::exchange(before, below) + line);
}

bool is_terminal() {
  static const bool terminal = isatty(STDOUT_FILENO) == 1;
  return terminal;
}

std::size_t line_width() {
  winsize size{};
  if (is_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return width_when_unknown;
}

std::string painted(std::string_view text, Paint paint) {
  if (!is_colour_wanted()) return std::string(text);
  return std::string{paint_begins, static_cast<char>('0' + static_cast<int>(paint))} + std::string(text) + paint_ends;
}

}  // namespace cairn
