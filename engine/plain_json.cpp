#include "engine/plain_json.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace cairn {
namespace {

constexpr int depth_max = 64;
constexpr int digits_max = 18;  // any number of so many fits

constexpr std::uint64_t each(std::uint8_t byte) { return 0x0101010101010101U * byte; }

// A bit is set if one of eight bytes stands for more than itself in a string: a quote, a backslash, a control
// character, a part of a character beyond ASCII.
std::uint64_t has_special(std::uint64_t bytes) {
  const auto has_zero = [](std::uint64_t part) { return (part - each(1)) & ~part & each(0x80); };
  const std::uint64_t control = (bytes - each(0x20)) & ~bytes & each(0x80);
  return control | (bytes & each(0x80)) | has_zero(bytes ^ each('"')) | has_zero(bytes ^ each('\\'));
}

bool is_special(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || (c & 0x80) != 0; }

const char* end_of_plain(const char* at, const char* end) {
  for (std::uint64_t bytes = 0; end - at >= 8; at += 8) {
    std::memcpy(&bytes, at, 8);
    if (has_special(bytes) != 0) break;
  }
  while (at != end && !is_special(*at)) ++at;
  return at;
}

bool ends_number(char c) { return c == ',' || c == '}' || c == ']' || c == '\0'; }

}  // namespace

bool PlainJson::take(char expected) {
  if (at_ == end_ || *at_ != expected) return false;
  ++at_;
  return true;
}

bool PlainJson::word(std::string_view expected) {
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected)) return false;
  at_ += expected.size();
  return true;
}

bool PlainJson::string(std::string& into) {
  if (!take('"')) return false;
  for (;;) {
    const char* begin = std::exchange(at_, end_of_plain(at_, end_));
    into.append(begin, at_);
    if (take('"')) return true;
    if (!take('\\') || !escape(into)) return false;
  }
}

bool PlainJson::escape(std::string& into) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
  const std::size_t letter = at_ == end_ ? std::string_view::npos : letters.find(*at_++);
  if (letter == std::string_view::npos) return false;
  into.push_back(meant[letter]);
  return true;
}

bool PlainJson::number(Json& into) {
  const bool is_negative = take('-');
  const char* first = at_;
  std::int64_t number = 0;
  for (; at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - first <= digits_max; ++at_)
    number = number * 10 + (*at_ - '0');
  const auto digits = at_ - first;
  const bool is_led_by_zero = digits > 0 && *first == '0' && (digits > 1 || is_negative);
  if (digits == 0 || digits > digits_max || is_led_by_zero || !ends_number(next())) return false;
  into = is_negative ? Json(-number) : Json(static_cast<std::uint64_t>(number));
  return true;
}

bool PlainJson::value(Json& into, int depth) {
  switch (next()) {
    case '{':
      return object(into, depth + 1);
    case '[':
      return array(into, depth + 1);
    case '"': {
      into = std::string();
      return string(into.get_ref<std::string&>());
    }
    case 't':
      into = true;
      return word("true");
    case 'f':
      into = false;
      return word("false");
    case 'n':
      into = nullptr;
      return word("null");
    default:
      return number(into);
  }
}

bool PlainJson::object(Json& into, int depth) {
  into = Json::object();
  auto& members = into.get_ref<Json::object_t&>();
  if (depth > depth_max || !take('{')) return false;
  if (take('}')) return true;
  do {
    std::string key;
    if (!string(key) || !take(':')) return false;
    if (!members.empty() && members.rbegin()->first >= key) return false;
    if (!value(members.emplace_hint(members.end(), std::move(key), nullptr)->second, depth)) return false;
  } while (take(','));
  return take('}');
}

bool PlainJson::array(Json& into, int depth) {
  into = Json::array();
  auto& parts = into.get_ref<Json::array_t&>();
  if (depth > depth_max || !take('[')) return false;
  if (take(']')) return true;
  do {
    if (!value(parts.emplace_back(), depth)) return false;
  } while (take(','));
  return take(']');
}

std::size_t behind_string(std::string_view text, std::size_t at) {
  for (;;) {
    const std::size_t quote = text.find('"', at);
    if (quote == std::string_view::npos) return text.size();
    const std::size_t escape = text.substr(at, quote - at).find('\\');
    if (escape == std::string_view::npos) return quote + 1;
    at += escape + 2;
    if (at > text.size()) return text.size();
  }
}

std::optional<Json> read_plain_json(std::string_view text) {
  PlainJson plain(text);
  std::optional<Json> value(std::in_place);
  if (!plain.value(*value) || !plain.is_at_end()) return std::nullopt;
  return value;
}

}  // namespace cairn
