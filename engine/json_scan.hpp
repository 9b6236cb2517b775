// A scanner for JSON text: finds values, members and keys without building a tree of all of it. It is the only place
// that reads whole JSON other than through the library's parser (json_stream.hpp reads what has come so far of a text,
// and read_succeeded() of codec.hpp three fields of a text that the codec wrote), and it exists for speed: stored
// payloads are decoded far more often than anything else is done, and most folds never look into a patch (decisions
// 0001 and 0008). Texts are read fast when they are written as this program writes them (no spaces, keys in order,
// ASCII, whole numbers); every other text is left to the parser, with the same result. Pure functions, safe from any
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json_value.hpp"
#include "engine/result.hpp"

namespace cairn {

// Printable ASCII that stands for itself inside quotes. The library writes everything else and checks its UTF-8.
inline bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

// The position after the quote that closes the string whose first character is at `at`; the text's size if none does.
std::size_t after_string(std::string_view text, std::size_t at);

// The levels of arrays and objects of a JSON text, without building it: as depth_of its value.
int levels_of(std::string_view text);

// The position after the bracket that closes the array or object at `at`, whatever follows it; npos if none does.
std::size_t after_brackets(std::string_view text, std::size_t at);

// The value of a text that is plain JSON; nothing if it may be any other JSON, or none.
std::optional<Json> read_plain_json(std::string_view text);

// A member of an object. Its scalar is read; an array or object stays text until it is needed.
struct JsonMember {
  std::string key;
  Json scalar;            // discarded if the value is an array or an object
  std::string_view text;  // the value's bytes, inside the scanned text
};

// Why a text has no members: "it is not JSON", "it is not an object".
struct NoObject {
  std::string_view says;
};

// The members in the order they are written. The inside of an array or object is skipped by its brackets, not parsed.
Result<std::vector<JsonMember>, NoObject> members_of(std::string_view text);

// The keys of an object that is written as this program writes it, with no value read; nothing if it is not.
std::optional<std::vector<std::string_view>> keys_of(std::string_view text);

// An input iterator over a text whose position is shared with its copies and with the handler, which may move it.
struct SharedPosition {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char** at = nullptr;

  reference operator*() const { return **at; }
  SharedPosition& operator++() {
    ++*at;
    return *this;
  }
  bool operator==(const SharedPosition& other) const { return *at == *other.at; }
  bool operator!=(const SharedPosition& other) const { return *at != *other.at; }
};

// Gives the text to a handler (the library's SAX interface). While the handler runs, `at` is just after the token it is
// given; after a number, one byte further. False if the handler refused or the text is not JSON.
template <class Handler>
bool read_json(std::string_view text, const char*& at, Handler& handler) {
  at = text.data();
  const char* end = text.data() + text.size();
  return Json::sax_parse(SharedPosition{&at}, SharedPosition{&end}, &handler);
}

}  // namespace cairn
