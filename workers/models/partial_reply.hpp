// The text that a model has written so far of an answer that streams: the reply itself, or one text member of the JSON
// object that it is, decoded as far as it goes. Thoughts before the reply (<think>...</think>) and prose before the
// object are left out. For people who watch: what counts is the whole reply, read by json_in_reply(). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

// A text member of the first object of a text that comes in pieces, cut anywhere. Never fails: where there is no such
// member, its text stays empty. Members of inner objects do not count.
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

class PartialReply {
 public:
  // `member` "": the reply is the text itself.
  explicit PartialReply(std::string member) : name_(std::move(member)), member_(name_) {}

  // The text so far, with this piece of the reply. Costs what the piece does.
  const std::string& add(std::string_view more);

 private:
  void begin_again(std::size_t from);

  std::string name_;
  MemberText member_;
  std::string reply_;     // without a member: from `from_` on, the text
  std::size_t from_ = 0;  // after the thoughts
  std::size_t fed_ = 0;   // to the member's reader, or to the text
  std::string text_;
};

}  // namespace cairn
