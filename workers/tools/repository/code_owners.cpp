#include "workers/tools/repository/code_owners.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::size_t npos = std::string_view::npos;

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) segments.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return segments;
}

// Wildcards in time of pattern by text: after a mismatch only the last star takes one element more.
template <class IsStar, class Fits>
bool matches(std::size_t pattern_size, std::size_t text_size, IsStar is_star, Fits fits) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = npos;
  std::size_t from = 0;
  while (in < text_size) {
    if (at < pattern_size && is_star(at)) {
      star = at++;
      from = in;
    } else if (at < pattern_size && fits(at, in)) {
      ++at;
      ++in;
    } else if (star != npos) {
      at = star + 1;
      in = ++from;
    } else {
      return false;
    }
  }
  while (at < pattern_size && is_star(at)) ++at;
  return at == pattern_size;
}

bool segment_fits(std::string_view pattern, std::string_view text) {
  return matches(
      pattern.size(), text.size(), [&](std::size_t at) { return pattern[at] == '*'; },
      [&](std::size_t at, std::size_t in) { return pattern[at] == '?' || pattern[at] == text[in]; });
}

struct OwnerRule {
  std::string pattern;
  std::vector<std::string> owners;
};

// A line's words; a "\ " is a space within one, a "#" at the start of one begins a comment.
OwnerRule rule_of(std::string_view line) {
  OwnerRule rule;
  std::vector<std::string> words;
  bool begins = true;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_space = line[i] == ' ' || line[i] == '\t' || line[i] == '\r';
    if (!is_space && begins && line[i] == '#') break;
    if (!is_space && begins) words.emplace_back();
    begins = is_space;
    if (is_space) continue;
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    words.back() += line[i];
  }
  if (words.empty()) return rule;
  rule.pattern = words.front();
  rule.owners.assign(words.begin() + 1, words.end());
  return rule;
}

bool is_section(std::string_view line) { return line.starts_with('[') || line.starts_with("^["); }

}  // namespace

bool covers(std::string_view pattern, std::string_view path, bool is_directory) {
  const bool of_directory = pattern.ends_with('/');
  std::vector<std::string_view> wanted = segments_of(pattern);
  const std::vector<std::string_view> segments = segments_of(path);
  if (wanted.empty()) return pattern == "/";
  const bool from_top = pattern.starts_with('/') || wanted.size() > 1;
  const bool of_files = wanted.size() > 1 && wanted.back() == "*";  // "docs/*": files directly in docs
  if (!from_top) wanted.insert(wanted.begin(), "**");
  for (std::size_t count = 1; count <= segments.size(); ++count) {
    const bool is_whole = count == segments.size();
    if (is_whole && of_directory && !is_directory) continue;
    if (of_files && (!is_whole || is_directory)) continue;
    const bool fits = matches(
        wanted.size(), count, [&](std::size_t at) { return wanted[at] == "**"; },
        [&](std::size_t at, std::size_t in) { return segment_fits(wanted[at], segments[in]); });
    if (fits) return true;
  }
  return segments.empty() && wanted.back() == "*" && !of_files;  // the repository as a whole
}

std::vector<std::string> declared_owners(std::string_view text, std::string_view path, bool is_directory) {
  std::vector<std::string> owners;
  text = text.substr(0, code_owners_bytes_max);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (is_section(line)) continue;
    OwnerRule rule = rule_of(line);
    if (!rule.pattern.empty() && covers(rule.pattern, path, is_directory)) owners = std::move(rule.owners);
  }
  return owners;
}

}  // namespace cairn
