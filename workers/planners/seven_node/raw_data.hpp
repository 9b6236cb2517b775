// Answers that hand data out instead of explaining it. Pure function, safe from any thread.
#pragma once

#include <string_view>

namespace cairn {

// True unless some line of the text is a sentence to a person: at least three words in a row of text, or four after a
// label ("Owner: ..."), that are not JSON, a row of a table, a list of labels with values, or inside a fence. Scripts
// that write no spaces count by their length. "Bus factor: 2", "| owner | dev-004 |" and YAML are raw; "Ann owns it."
// is not.
bool is_raw(std::string_view answer);

}  // namespace cairn
