#include "engine/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/corrupt_history.hpp"
#include "engine/json_scan.hpp"

namespace cairn {
namespace {

constexpr std::size_t quote_bytes_max = 60;

// Cuts on a UTF-8 boundary.
std::string cut(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const std::string_view dots = std::string_view("...").substr(0, bytes_max);
  std::size_t end = bytes_max - dots.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text.append(dots);
}

// Builds the value and refuses, on the way, what JSON allows and we do not.
class CheckedBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit CheckedBuilder(Json& root) : root_(root) {}

  const std::string& fault() const { return fault_; }
  std::size_t fault_byte() const { return fault_byte_; }  // 0: where reading stopped

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") == std::string::npos) return refuse("an integer beyond 64 bits");
    return put(value);
  }
  bool string(string_t& value) override {
    if (value.find('\0') != std::string::npos) return refuse("the character NUL in a string");
    return put(std::move(value));
  }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& value) override {
    if (value.find('\0') != std::string::npos) return refuse("the character NUL in a key");
    auto [member, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(std::move(value), nullptr);
    member_ = &member->second;
    return is_new || refuse("the key " + cut(Json(member->first).dump(), quote_bytes_max) + " twice in one object");
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    fault_byte_ = byte;
    return refuse(reason_in(error.what()));
  }

 private:
  // The X in "[json.exception...] parse error at line 1, column 3: syntax error while parsing value - unexpected X;
  // expected Y".
  static std::string reason_in(std::string_view what) {
    if (const auto dash = what.find(" - "); dash != std::string_view::npos) what.remove_prefix(dash + 3);
    if (what.starts_with('[')) what.remove_prefix(what.find("] ") + 2);
    if (what.starts_with("unexpected ")) what.remove_prefix(std::string_view("unexpected ").size());
    return cut(std::string(what.substr(0, what.find(';'))), quote_bytes_max);
  }

  bool refuse(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  Json& place(Json&& value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_object()) return *member_ = std::move(value);
    return open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json empty) {
    if (open_.size() == static_cast<std::size_t>(json_depth_max)) {
      return refuse("more than " + std::to_string(json_depth_max) + " levels of arrays and objects");
    }
    open_.push_back(&place(std::move(empty)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<Json*> open_;  // the arrays and objects around the next value
  Json* member_ = nullptr;   // where the value of the last key goes
  std::string fault_;
  std::size_t fault_byte_ = 0;
};

// "byte 7", or of a text with several lines "line 2, column 3"; both count from 1, a column in bytes.
std::string place_in(std::string_view text, std::size_t byte) {
  if (text.find('\n') == std::string_view::npos) return "byte " + std::to_string(byte);
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t last = before.rfind('\n');
  const std::size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(column);
}

Error not_json(std::string_view what, const std::string& found, std::string_view text, std::size_t byte) {
  return {Code::invalid,
          "Expected " + std::string(what) + " to be JSON, but found " + found + " at " + place_in(text, byte) + "."};
}

// --- writing ---------------------------------------------------------------------------------------------------------

// Printable ASCII that stands in a JSON text as it is.
bool is_plain(char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; }

// The number of plain bytes at the beginning. Eight are tested at a time, by a word's tests for a byte that is zero or
// less than another (graphics.stanford.edu/~seander/bithacks.html).
std::size_t plain_length(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
  const auto has_zero = [](std::uint64_t word) { return (word - ones) & ~word & tops; };
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    const std::uint64_t below_space = (word - ones * ' ') & ~word & tops;
    const std::uint64_t named =
        has_zero(word ^ (ones * '"')) | has_zero(word ^ (ones * '\\')) | has_zero(word ^ (ones * 0x7f));
    if (((word & tops) | below_space | named) != 0) break;
  }
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

// JSON inside a text is all quotes; ASCII needs no check of its UTF-8, so only quotes and backslashes are escaped.
void append_string(std::string& text, const std::string& value) {
  const std::size_t before = text.size();
  text += '"';
  for (std::string_view left = value;;) {
    const std::size_t plain = plain_length(left);
    text.append(left, 0, plain);
    if (plain == left.size()) break;
    if (left[plain] != '"' && left[plain] != '\\') {
      text.resize(before);
      text += Json(value).dump();
      return;
    }
    text += '\\';
    text += left[plain];
    left.remove_prefix(plain + 1);
  }
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

Result<Json> parse_json(std::string_view text, std::string_view what) {
  if (text.size() > json_bytes_max) {
    return Error{Code::limit, "Expected " + std::string(what) + " to have at most " + std::to_string(json_bytes_max) +
                                  " bytes, but it has " + std::to_string(text.size()) + "."};
  }
  Json value;
  CheckedBuilder builder(value);
  const char* at = nullptr;
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {  // the parser would take it for the end
    return not_json(what, "the character NUL", text, nul + 1);
  }
  if (read_json(text, at, builder)) return value;
  const auto read = static_cast<std::size_t>(at - text.data());
  return not_json(what, builder.fault(), text, builder.fault_byte() != 0 ? builder.fault_byte() : read);
}

Json parse_stored(std::string_view text) {
  if (std::optional<Json> plain = read_plain_json(text)) return *std::move(plain);
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) throw CorruptHistory("Expected a stored text to be JSON, but it is not.");
  return value;
}

Json parse_stored_object(std::string_view text) {
  Json value = parse_stored(text);
  if (!value.is_object()) throw CorruptHistory("Expected a stored object, but found " + excerpt(value, 100) + ".");
  return value;
}

std::string canonical(const Json& value) {
  std::string text;
  append(text, value);
  return text;
}

void append_canonical(std::string& text, const Json& value) { append(text, value); }
void append_canonical(std::string& text, const std::string& value) { append_string(text, value); }

std::string excerpt(const Json& value, std::size_t bytes_max) {
  return cut(value.dump(-1, ' ', false, Json::error_handler_t::replace), bytes_max);
}

int depth_of(const Json& value) {
  if (!value.is_structured()) return 0;
  int deepest = 0;
  for (const Json& part : value) deepest = std::max(deepest, depth_of(part));
  return deepest + 1;
}

bool CompositionBound::take(const Json& part, int level) {
  constexpr std::size_t bytes_of_small = 8;
  const auto take_bytes = [this](std::size_t bytes) {
    const bool fits = bytes <= left_;
    left_ = fits ? left_ - bytes : 0;
    return fits;
  };
  if (part.is_string()) return take_bytes(bytes_of_small + part.get_ref<const std::string&>().size());
  if (!take_bytes(bytes_of_small)) return false;
  if (!part.is_structured()) return true;
  if (level >= json_depth_max) return false;
  if (part.is_array()) {
    return std::all_of(part.begin(), part.end(), [&](const Json& inner) { return take(inner, level + 1); });
  }
  for (const auto& [key, inner] : part.get_ref<const Json::object_t&>()) {
    if (!take_bytes(bytes_of_small + key.size()) || !take(inner, level + 1)) return false;
  }
  return true;
}

Status CompositionBound::add(const Json& part, int level) {
  if (take(part, level)) return Done{};
  return Error{Code::limit, "Expected a value composed of references to take at most " +
                                std::to_string(composed_bytes_max) + " bytes and " + std::to_string(json_depth_max) +
                                " levels, but this one takes more."};
}

}  // namespace cairn
