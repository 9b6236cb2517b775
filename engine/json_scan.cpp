#include "engine/json_scan.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace cairn {

std::size_t after_string(std::string_view text, std::size_t at) {
  for (;;) {
    const std::size_t quote = text.find('"', at);
    if (quote == std::string_view::npos) return text.size();
    const std::size_t escape = text.substr(at, quote - at).find('\\');
    if (escape == std::string_view::npos) return quote + 1;
    at += escape + 2;
    if (at > text.size()) return text.size();
  }
}

namespace {

constexpr int plain_depth_max = 64;
constexpr int plain_digits_max = 18;  // every number of so many digits fits 64 bits

// --- brackets and quotes ---------------------------------------------------------------------------------------------

// The position of the bracket that closes the one opened just before `at`; the text's size if none does. The kinds of
// brackets inside are not compared: a text with the wrong kind is found out when that part is parsed.
std::size_t closing_bracket(std::string_view text, std::size_t at) {
  int open = 1;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = after_string(text, at + 1) - 1;
    } else if (c == '{' || c == '[') {
      ++open;
    } else if ((c == '}' || c == ']') && --open == 0) {
      return at;
    }
  }
  return text.size();
}

// The position of the comma or bracket after the value that begins at `at`; the text's size if there is none.
std::size_t after_value(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '"')
    at = after_string(text, at + 1);
  else if (at < text.size() && (text[at] == '{' || text[at] == '['))
    at = closing_bracket(text, at + 1) + 1;
  return std::min(text.find_first_of(",}]", at), text.size());
}

// --- plain JSON ------------------------------------------------------------------------------------------------------

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

// A cursor over plain JSON. A function that returns false has found something else, and the position is lost.
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
  std::uint64_t number = 0;  // holds the one digit too many that ends the loop, too
  for (; at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - first <= plain_digits_max; ++at_)
    number = number * 10 + static_cast<std::uint64_t>(*at_ - '0');
  const auto digits = at_ - first;
  const bool is_led_by_zero = digits > 0 && *first == '0' && (digits > 1 || is_negative);
  if (digits == 0 || digits > plain_digits_max || is_led_by_zero || !ends_number(next())) return false;
  into = is_negative ? Json(-static_cast<std::int64_t>(number)) : Json(number);
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
  if (depth > plain_depth_max || !take('{')) return false;
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
  if (depth > plain_depth_max || !take('[')) return false;
  if (take(']')) return true;
  do {
    if (!value(parts.emplace_back(), depth)) return false;
  } while (take(','));
  return take(']');
}

// --- members ---------------------------------------------------------------------------------------------------------

// One scan of an object: plainly if it is written so, else by the parser, which is given only the outermost brackets.
class MemberScan {
 public:
  explicit MemberScan(std::string_view text) : text_(text) { members_.reserve(12); }

  Result<std::vector<JsonMember>, NoObject> members() && {
    if (text_.find('\0') != std::string_view::npos) return NoObject{"it is not JSON"};  // the parser would end there
    if (scan_plain()) return std::move(members_);
    members_.clear();
    if (!read_json(text_, at_, *this)) return NoObject{"it is not JSON"};
    if (!is_object_) return NoObject{"it is not an object"};
    return std::move(members_);
  }

  // The parser's calls.
  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(std::int64_t value) { return scalar(value, 1); }
  bool number_unsigned(std::uint64_t value) { return scalar(value, 1); }
  bool number_float(double value, const std::string&) { return scalar(value, 1); }
  bool string(std::string& value) { return scalar(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    members_.push_back({std::move(value), Json(Json::value_t::discarded), {}});
    const auto colon = text_.find(':', offset(at_));
    value_starts_ = text_.find_first_not_of(" \t\r\n", colon == std::string_view::npos ? colon : colon + 1);
    return value_starts_ != std::string_view::npos;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - text_.data()); }

  // The parser's result, faster; false for a text that is not plain.
  bool scan_plain() {
    PlainJson plain(text_);
    is_object_ = plain.take('{');
    if (!is_object_) return false;
    if (plain.take('}')) return plain.is_at_end();
    do {
      if (!member(plain)) return false;
    } while (plain.take(','));
    return plain.take('}') && plain.is_at_end();
  }
  bool member(PlainJson& plain) {
    JsonMember& member = members_.emplace_back(JsonMember{{}, Json(Json::value_t::discarded), {}});
    if (!plain.string(member.key) || !plain.take(':')) return false;
    const char* begins = plain.at();
    if (plain.next() == '{' || plain.next() == '[') {
      const std::size_t last = closing_bracket(text_, offset(begins) + 1);
      if (last == text_.size() || text_[last] != (*begins == '{' ? '}' : ']')) return false;
      plain.move_to(begins + (last + 1 - offset(begins)));
    } else if (!plain.value(member.scalar)) {
      return false;
    }
    member.text = std::string_view(begins, static_cast<std::size_t>(plain.at() - begins));
    return true;
  }

  template <class T>
  bool scalar(T&& value, std::size_t read_too_far = 0) {
    if (depth_ != 1 || !is_object_) return true;
    members_.back().scalar = std::forward<T>(value);
    take_text(read_too_far);
    return true;
  }
  // The parser is moved to the closing bracket of a value inside the object: it stays text.
  bool open(bool is_object) {
    if (depth_++ == 0) {
      is_object_ = is_object;
    } else {
      at_ = text_.data() + closing_bracket(text_, offset(at_));
    }
    return true;
  }
  bool close() {
    if (--depth_ == 1) take_text(0);
    return true;
  }
  void take_text(std::size_t read_too_far) {
    if (!is_object_) return;
    const std::size_t end = offset(at_) - read_too_far;
    members_.back().text = text_.substr(value_starts_, end - value_starts_);
  }

  std::string_view text_;
  const char* at_ = nullptr;
  std::size_t value_starts_ = 0;
  int depth_ = 0;
  bool is_object_ = false;
  std::vector<JsonMember> members_;
};

}  // namespace

int levels_of(std::string_view text) {
  int level = 0;
  int deepest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c == '"') at = after_string(text, at);
    if (c == '[' || c == '{') deepest = std::max(deepest, ++level);
    if (c == ']' || c == '}') --level;
  }
  return deepest;
}

std::size_t after_brackets(std::string_view text, std::size_t at) {
  const std::size_t last = closing_bracket(text, at + 1);
  return last < text.size() ? last + 1 : std::string_view::npos;
}

std::optional<Json> read_plain_json(std::string_view text) {
  PlainJson plain(text);
  std::optional<Json> value(std::in_place);
  if (!plain.value(*value) || !plain.is_at_end()) return std::nullopt;
  return value;
}

Result<std::vector<JsonMember>, NoObject> members_of(std::string_view text) { return MemberScan(text).members(); }

std::optional<std::vector<std::string_view>> keys_of(std::string_view text) {
  std::vector<std::string_view> keys;
  for (std::size_t at = 0; at + 1 < text.size() && text[at + 1] == '"';) {
    const std::size_t begin = at + 2;
    const std::size_t end = text.find_first_of("\"\\", begin);
    if (end == std::string_view::npos || text.substr(end, 2) != "\":") return std::nullopt;
    keys.push_back(text.substr(begin, end - begin));
    at = after_value(text, end + 2);
    if (at + 1 == text.size() && text[at] == '}') return keys;
    if (at < text.size() && text[at] != ',') return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace cairn
