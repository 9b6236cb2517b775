#include "workers/ports/progress_board.hpp"

#include <algorithm>
#include <utility>

#include "storage/progress.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }

// The end of the text, from the beginning of a character on.
std::string_view end_of(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.remove_prefix(text.size() - bytes_max);
  while (!text.empty() && !begins_character(text.front())) text.remove_prefix(1);
  return text;
}

std::size_t bytes_of_character(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// As a row and a JSON text hold it. A last character of which a part has come is left out until it is whole.
std::string storable(std::string text) {
  std::replace(text.begin(), text.end(), '\0', ' ');
  const auto last = std::find_if(text.rbegin(), text.rend(), begins_character);
  if (last != text.rend()) {
    const auto bytes = static_cast<std::size_t>(last - text.rbegin()) + 1;
    if (bytes < bytes_of_character(*last)) text.resize(text.size() - bytes);
  }
  return is_utf8(text) ? text : with_replacements(text);
}

}  // namespace

void ProgressBoard::say(Slot slot, std::string_view text) {
  const std::int64_t written = std::count_if(text.begin(), text.end(), begins_character);
  const std::string_view end = end_of(text, progress_bytes_max);
  Text& said = texts_[slot];
  if (said.written == written && said.end == end) return;
  said.end = end;
  said.written = written;
  if (!std::exchange(said.is_changed, true)) changed_.push_back(slot);
}

std::vector<ProgressBoard::Said> ProgressBoard::take(std::size_t bytes_max) {
  std::vector<Said> taken;
  for (std::size_t bytes = 0; !changed_.empty(); changed_.pop_front()) {
    const auto found = texts_.find(changed_.front());
    if (found == texts_.end()) continue;
    Text& text = found->second;
    bytes += text.end.size();
    if (bytes > bytes_max && !taken.empty()) break;
    text.is_changed = false;
    taken.push_back({found->first, storable(text.end), text.written});
  }
  return taken;
}

}  // namespace cairn
