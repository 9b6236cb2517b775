// Reads JSON as we write it, and quickly: without spaces, keys in order, ASCII, whole numbers. What is written
// otherwise may be JSON all the same; that is left to the parser. Stored texts are read far more often than anything
// else. Not thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/json.hpp"

namespace cairn {

// A place in a text. A function that returns false has found something else there, and the place is lost.
class PlainJson {
 public:
  explicit PlainJson(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char expected);
  bool string(std::string& into);  // appends
  bool value(Json& into) { return value(into, 0); }

  bool is_at_end() const { return at_ == end_; }
  char next() const { return at_ == end_ ? '\0' : *at_; }
  const char* at() const { return at_; }
  void move_to(const char* at) { at_ = at; }

 private:
  bool value(Json& into, int depth);
  bool object(Json& into, int depth);
  bool array(Json& into, int depth);
  bool number(Json& into);
  bool word(std::string_view expected);
  bool escape(std::string& into);

  const char* at_;
  const char* end_;
};

// Behind the quote that closes the string whose first character is at `at`; the end of the text if none does.
std::size_t behind_string(std::string_view text, std::size_t at);

// The value of a text that is plain JSON; nothing if it may be any other.
std::optional<Json> read_plain_json(std::string_view text);

}  // namespace cairn
