// A reader of JSON text that comes in pieces, cut anywhere: one text member of the first object in it, decoded as far
// as it has come. For people who watch a text being written; a whole text is read by the parser (json_value.hpp) or by
// the scanner (json_scan.hpp). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cairn {

// Never fails: where there is no such member, its text stays empty. Members of inner objects do not count.
class MemberText {
 public:
  explicit MemberText(std::string member) : member_(std::move(member)) {}
  void add(std::string_view more);
  const std::string& text() const { return text_; }

 private:
  enum class At : std::uint8_t { before, opened, key, colon, value, text, skipped, skipped_text, after };
  void take(char c);
  void begin_value(char c);
  void skip(char c);
  // True when the text's closing quote was taken.
  bool take_quoted(char c, std::string& into);
  void take_escape(char c, std::string& into);
  void add_code(std::uint32_t code, std::string& into);
  void close_surrogate(std::string& into);

  std::string member_;
  std::string text_;
  std::string key_;
  At at_ = At::before;
  int depth_ = 0;            // of what is skipped
  bool is_escaped_ = false;  // a backslash came
  int digits_ = 0;           // of \uXXXX, still to come
  std::uint32_t code_ = 0;   // of the digits so far
  std::uint32_t high_ = 0;   // the first half of a pair; 0: none
};

}  // namespace cairn
