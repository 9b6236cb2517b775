#include "workers/models/partial_reply.hpp"

#include <algorithm>

#include "workers/models/thought_tags.hpp"

namespace cairn {
namespace {

constexpr std::string_view spaces = " \t\r\n";
constexpr std::size_t tag_bytes_max = 12;

std::string_view without_spaces_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(spaces), text.size()));
}

// The text begins with thoughts, or may do so with the next piece.
bool may_be_thoughts(std::string_view text) {
  text = without_spaces_before(text);
  return std::any_of(thoughts_begin.begin(), thoughts_begin.end(),
                     [&](std::string_view tag) { return text.starts_with(tag) || tag.starts_with(text); });
}

// The position after the last end of thoughts at or after `from`; npos: none.
std::size_t after_thoughts_from(std::string_view text, std::size_t from) {
  std::size_t after = std::string_view::npos;
  for (const std::string_view tag : thoughts_end) {
    const std::size_t at = text.rfind(tag);
    if (at == std::string_view::npos || at < from) continue;
    if (after == std::string_view::npos || at + tag.size() > after) after = at + tag.size();
  }
  return after;
}

}  // namespace

const std::string& PartialReply::add(std::string_view more) {
  const std::size_t before = reply_.size();
  reply_ += more;
  const bool is_object = without_spaces_before(reply_).starts_with('{');
  if (!is_object) {
    const std::size_t scanned_from = std::max(from_, before > tag_bytes_max ? before - tag_bytes_max : 0);
    const std::size_t said = after_thoughts_from(reply_, scanned_from);
    if (said != std::string::npos) begin_again(said);
  }
  if (from_ == 0 && may_be_thoughts(reply_)) return text_;
  const std::string_view rest = std::string_view(reply_).substr(fed_);
  fed_ = reply_.size();
  if (!name_.empty()) {
    member_.add(rest);
    return member_.text();
  }
  text_ += text_.empty() ? without_spaces_before(rest) : rest;
  return text_;
}

void PartialReply::begin_again(std::size_t from) {
  from_ = from;
  fed_ = from;
  member_ = MemberText(name_);
  text_.clear();
}

}  // namespace cairn
