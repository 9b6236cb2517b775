#include "workers/tools/corpus/sentences.hpp"

namespace cairn {

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t first = part.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos)
      sentences.emplace_back(part.substr(first, part.find_last_not_of(" \t\r\n") + 1 - first));
    begin = end;
  };
  const auto goes_on = [&](std::size_t after) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", after);
    return next != std::string_view::npos &&
           (next == after || (text[next] >= '0' && text[next] <= '9') || (text[next] >= 'a' && text[next] <= 'z'));
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_mark = text[at] == '.' || text[at] == '!' || text[at] == '?';
    const bool is_paragraph = text[at] == '\n' && at + 1 < text.size() && text[at + 1] == '\n';
    if ((is_mark && !goes_on(at + 1)) || is_paragraph) add(at + 1);
  }
  add(text.size());
  return sentences;
}

}  // namespace cairn
