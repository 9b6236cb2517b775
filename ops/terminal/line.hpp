// A line on stdout for people and scripts, with colours on a terminal alone. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// A line, with every foreign control character visible; only painted() makes a terminal change.
void print_line(std::string_view text);
void print_paragraph(const std::string& text);  // on a terminal in lines of its width; a colour ends with its line
// A text after its lead, as a branch of a tree; on a terminal what does not fit goes on after `below`.
void print_below(const std::string& lead, const std::string& below, const std::string& text);

enum class Paint { bold, dim, red, green, yellow };
std::string painted(std::string_view text, Paint paint);

bool is_terminal();        // stdout
std::size_t line_width();  // of the terminal; generous when there is none

}  // namespace cairn
