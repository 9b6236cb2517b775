// Reading JSON text event by event while knowing the byte where reading is.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "engine/json.hpp"

namespace cairn {

// Walks over a text and notes in `furthest` the end of what was read.
struct Reading {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** furthest = nullptr;

  reference operator*() const {
    *furthest = at + 1;
    return *at;
  }
  Reading& operator++() {
    ++at;
    return *this;
  }
  bool operator==(const Reading& other) const { return at == other.at; }
  bool operator!=(const Reading& other) const { return at != other.at; }
};

// Gives the text to a handler (nlohmann's SAX interface). While the handler runs, `furthest` is just behind the token
// it is given; behind a number, one byte further. False if the handler refused.
template <class Handler>
bool read_json(std::string_view text, const char*& furthest, Handler& handler) {
  furthest = text.data();
  const Reading first{text.data(), &furthest};
  const Reading last{text.data() + text.size(), &furthest};
  return Json::sax_parse(first, last, &handler);
}

}  // namespace cairn
