#include "workers/tools/corpus/sentences.hpp"

namespace cairn {

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const std::size_t first = text.find_first_not_of(" \t\r\n", begin);
    if (first < end) sentences.emplace_back(text.substr(first, text.find_last_not_of(" \t\r\n", end - 1) + 1 - first));
    begin = end;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_mark = text[at] == '.' || text[at] == '!' || text[at] == '?';
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + 1);
    const bool goes_on =
        next != std::string_view::npos &&
        (next == at + 1 || (text[next] >= '0' && text[next] <= '9') || (text[next] >= 'a' && text[next] <= 'z'));
    const bool is_paragraph = text[at] == '\n' && at + 1 < text.size() && text[at + 1] == '\n';
    if ((is_mark && !goes_on) || is_paragraph) add(at + 1);
  }
  add(text.size());
  return sentences;
}

}  // namespace cairn
