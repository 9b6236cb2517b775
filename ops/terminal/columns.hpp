// Text in the columns of a terminal: how many it takes, and how it is cut or broken to fit. A letter of an Asian script
// or a picture takes two columns, an accent of its own none. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Colours within a text: a begin and the place of its code, or an end. Bytes that no UTF-8 has, so that no foreign text
// brings them: what it brings of a terminal's own sequences is made visible.
constexpr char paint_begins = '\xFE';
constexpr char paint_ends = '\xFF';

std::size_t shown_width(std::string_view text);  // colours aside

// The text if it fits, or its beginning and "...".
std::string cut_to(std::string_view text, std::size_t columns);

// Lines of at most this many columns, broken where the text has line breaks, at blanks, or within a word that is
// longer. At least one line.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns);

}  // namespace cairn
