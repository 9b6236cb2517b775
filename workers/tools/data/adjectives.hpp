// Adjectives that put rows in an order: "largest", "oldest". Safe from any thread.
#pragma once

#include <string_view>

namespace cairn {

// An adjective, the columns that it compares, and whether the most of them is meant.
struct Adjective {
  std::string_view word;
  bool is_most;
  std::string_view columns;  // stems, best first; "": any figure that is named
};

// By a word in lower case; null if it is none.
const Adjective* adjective_of(std::string_view word);

}  // namespace cairn
