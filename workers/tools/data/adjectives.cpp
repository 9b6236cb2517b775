#include "workers/tools/data/adjectives.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr std::array<Adjective, 36> adjectives = {{
    {"most", true, ""},
    {"highest", true, ""},
    {"largest", true, ""},
    {"greatest", true, ""},
    {"biggest", true, ""},
    {"maximum", true, ""},
    {"top", true, ""},
    {"best", true, "rating scor star"},
    {"max", true, ""},
    {"least", false, ""},
    {"lowest", false, ""},
    {"smallest", false, ""},
    {"fewest", false, ""},
    {"minimum", false, ""},
    {"worst", false, "rating scor star"},
    {"min", false, ""},
    {"longest", true, "length duration distanc time"},
    {"shortest", false, "length duration distanc time"},
    {"tallest", true, "height altitud elevation"},
    {"oldest", false, "birthdat born found year dat"},
    {"youngest", true, "birthdat born ag"},
    {"newest", true, "dat year"},
    {"latest", true, "dat year"},
    {"recent", true, "dat year"},
    {"earliest", false, "dat year tim"},
    {"cheapest", false, "pric cost fare far"},
    {"expensive", true, "pric cost fare far"},
    {"busiest", true, ""},
    {"richest", true, "wealth income"},
    {"fastest", true, "speed"},
    {"slowest", false, "speed"},
    {"heaviest", true, "weight"},
    {"lightest", false, "weight"},
    {"deepest", true, "depth"},
    {"populous", true, "population"},
    {"popular", true, "popularity"},
}};

}  // namespace

const Adjective* adjective_of(std::string_view word) {
  const auto found =
      std::find_if(adjectives.begin(), adjectives.end(), [&](const Adjective& one) { return one.word == word; });
  return found == adjectives.end() ? nullptr : &*found;
}

}  // namespace cairn
