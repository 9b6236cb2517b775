#include "engine/json_stream.hpp"

#include <algorithm>

#include "engine/text.hpp"

namespace cairn {
namespace {

constexpr std::size_t key_bytes_max = 256;  // a longer one is no member that is asked for
constexpr std::uint32_t replacement = 0xFFFD;

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void append_utf8(std::uint32_t code, std::string& into) {
  const auto add = [&into](std::uint32_t byte) { into += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | (code >> 6));
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | (code >> 18));
    add(0x80 | ((code >> 12) & 0x3F));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace

void MemberText::add(std::string_view more) {
  for (const char c : more) {
    if (at_ == At::after) return;
    take(c);
  }
}

void MemberText::take(char c) {
  switch (at_) {
    case At::before:
      if (c == '{') at_ = At::opened;
      return;
    case At::opened:  // a quote follows, or it was no object but a bracket in prose
      if (is_json_space(c)) return;
      key_.clear();
      at_ = c == '"' ? At::key : c == '{' ? At::opened : At::before;
      return;
    case At::key:
      if (take_quoted(c, key_)) at_ = At::colon;
      if (key_.size() > key_bytes_max) key_.resize(key_bytes_max);
      return;
    case At::colon:
      if (c == ':') at_ = At::value;
      return;
    case At::value:
      if (!is_json_space(c)) begin_value(c);
      return;
    case At::text:
      if (take_quoted(c, text_)) at_ = At::after;
      return;
    case At::skipped:
      return skip(c);
    case At::skipped_text:
      if (std::exchange(is_escaped_, !is_escaped_ && c == '\\')) return;
      if (c == '"') at_ = At::skipped;
      return;
    case At::after:
      return;
  }
}

void MemberText::begin_value(char c) {
  if (c == '"' && key_ == member_) {
    at_ = At::text;
    return;
  }
  depth_ = 0;
  at_ = At::skipped;
  skip(c);
}

// A value that is not asked for, to the comma after it.
void MemberText::skip(char c) {
  if (c == '"') {
    at_ = At::skipped_text;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if (c == '}' || c == ']') {
    if (--depth_ < 0) at_ = At::after;
  } else if (c == ',' && depth_ == 0) {
    at_ = At::opened;
  }
}

bool MemberText::take_quoted(char c, std::string& into) {
  if (digits_ > 0 || is_escaped_) {
    take_escape(c, into);
    return false;
  }
  if (c == '\\') {
    is_escaped_ = true;
    return false;
  }
  close_surrogate(into);
  if (c == '"') return true;
  into += c;
  return false;
}

void MemberText::take_escape(char c, std::string& into) {
  if (digits_ > 0) {
    const int digit = hex_digit(c);
    code_ = code_ * 16 + static_cast<std::uint32_t>(std::max(digit, 0));
    if (--digits_ == 0) add_code(code_, into);
    return;
  }
  is_escaped_ = false;
  if (c == 'u') {
    digits_ = 4;
    code_ = 0;
    return;
  }
  close_surrogate(into);
  constexpr std::string_view letters = "bfnrt", meanings = "\b\f\n\r\t";
  const std::size_t at = letters.find(c);
  into += at == std::string_view::npos ? c : meanings[at];
}

// The first half of a pair waits for the second one; a half alone is no character.
void MemberText::add_code(std::uint32_t code, std::string& into) {
  const bool is_low = code >= 0xDC00 && code < 0xE000;
  if (is_low && high_ != 0)
    return append_utf8(0x10000 + ((std::exchange(high_, 0) - 0xD800) << 10) + (code - 0xDC00), into);
  close_surrogate(into);
  if (code >= 0xD800 && code < 0xDC00)
    high_ = code;
  else
    append_utf8(is_low ? replacement : code, into);
}

void MemberText::close_surrogate(std::string& into) {
  if (std::exchange(high_, 0) != 0) append_utf8(replacement, into);
}

}  // namespace cairn
