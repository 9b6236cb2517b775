#include "engine/json_writing.hpp"

#include <array>
#include <charconv>

#include "engine/json.hpp"

namespace cairn {
namespace {

bool is_printable(char c) { return c >= ' ' && c < 0x7f; }

// JSON inside a text is all quotes: what is ASCII needs no look at its UTF-8.
void append_string(std::string& text, const std::string& value) {
  if (!std::all_of(value.begin(), value.end(), is_printable)) {
    text += Json(value).dump();
    return;
  }
  text += '"';
  std::size_t written = 0;
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] != '"' && value[at] != '\\') continue;
    text.append(value, written, at - written);
    text += '\\';
    written = at;
  }
  text.append(value, written);
  text += '"';
}

template <class Number>
void append_number(std::string& text, Number value) {
  std::array<char, 24> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append(std::string& text, const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: {
      text += '{';
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        if (text.back() != '{') text += ',';
        append_string(text, key);
        text += ':';
        append(text, member);
      }
      text += '}';
      return;
    }
    case Json::value_t::array: {
      text += '[';
      for (const Json& member : value.get_ref<const Json::array_t&>()) {
        if (&member != &value.front()) text += ',';
        append(text, member);
      }
      text += ']';
      return;
    }
    case Json::value_t::string:
      return append_string(text, value.get_ref<const std::string&>());
    case Json::value_t::number_integer:
      return append_number(text, value.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return append_number(text, value.get<std::uint64_t>());
    default:
      text += value.dump();
  }
}

}  // namespace

std::string canonical(const Json& value) {
  std::string text;
  append(text, value);
  return text;
}

}  // namespace cairn
