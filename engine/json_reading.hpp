// Reading JSON text event by event while knowing the byte where reading is.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "engine/json.hpp"

namespace cairn {

// Walks over a text at a place that it shares with its copies and with the handler, who may move it.
struct Reading {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char** at = nullptr;

  reference operator*() const { return **at; }
  Reading& operator++() {
    ++*at;
    return *this;
  }
  bool operator==(const Reading& other) const { return *at == *other.at; }
  bool operator!=(const Reading& other) const { return *at != *other.at; }
};

// Gives the text to a handler (nlohmann's SAX interface). While the handler runs, `at` is just behind the token it is
// given; behind a number, one byte further. False if the handler refused or the text is not JSON.
template <class Handler>
bool read_json(std::string_view text, const char*& at, Handler& handler) {
  at = text.data();
  const char* end = text.data() + text.size();
  return Json::sax_parse(Reading{&at}, Reading{&end}, &handler);
}

}  // namespace cairn
