// The text that a model has written so far of an answer that streams: the reply itself, or one text member of the JSON
// object that it is, decoded as far as it goes. Thoughts before the reply (<think>...</think>) and prose before the
// object are left out. For people who watch: what counts is the whole reply, read by json_in_reply(). Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "engine/json_stream.hpp"

namespace cairn {

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
