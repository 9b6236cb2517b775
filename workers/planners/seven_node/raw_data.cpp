#include "workers/planners/seven_node/raw_data.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/text.hpp"

namespace cairn {
namespace {

constexpr std::size_t words_min = 3;
constexpr std::size_t words_after_label_min = 4;
constexpr std::size_t label_words_max = 4;
constexpr std::size_t unspaced_bytes_min = 12;

std::string_view first_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return trimmed(line);
}

// "- ", "* ", "1. ", "> ", "# "
std::string_view without_bullet(std::string_view line) {
  const std::size_t end = line.find_first_not_of("-*>#0123456789.)");
  if (end == 0 || end == std::string_view::npos || line[end] != ' ') return line;
  return trimmed(line.substr(end));
}

bool is_letter_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

std::vector<std::string_view> tokens_in(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    tokens.push_back(text.substr(0, text.find_first_of(" \t")));
    text.remove_prefix(tokens.back().size());
  }
  return tokens;
}

// Mostly letters; no path, number, pair or list of values.
bool is_word_of_text(std::string_view token) {
  const auto letters = std::count_if(token.begin(), token.end(), is_letter_byte);
  const bool holds_values = token.find_first_of("{}[]=|/;") != std::string_view::npos ||
                            (token.find(',') != std::string_view::npos && token.find(',') + 1 < token.size());
  return 2 * letters > static_cast<std::ptrdiff_t>(token.size()) && !holds_values && token.back() != ':';
}

std::size_t unspaced_bytes(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }));
}

bool is_data_row(std::string_view line) {
  return line.starts_with('|') || line.find('\t') != std::string_view::npos || Json::accept(line);
}

// "owner: dev-004 commits: 20": every second token or so is a label.
bool is_list_of_pairs(const std::vector<std::string_view>& tokens) {
  const auto labels = std::count_if(tokens.begin(), tokens.end(), [](std::string_view token) {
    return token.ends_with(':') || token.find('=') != std::string_view::npos;
  });
  return labels >= 2 && 3 * labels >= static_cast<std::ptrdiff_t>(tokens.size());
}

// The rest of a line after a label such as "Owner:" at its start; the line if there is none.
std::string_view after_label(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || tokens_in(line.substr(0, colon)).size() > label_words_max) return line;
  return trimmed(line.substr(colon + 1));
}

bool explains(std::string_view line) {
  line = without_bullet(line);
  if (line.empty() || is_data_row(line)) return false;
  const std::vector<std::string_view> tokens = tokens_in(line);
  if (is_list_of_pairs(tokens)) return false;
  const std::string_view text = after_label(line);
  const std::vector<std::string_view> said = text.size() == line.size() ? tokens : tokens_in(text);
  const auto words = static_cast<std::size_t>(std::count_if(said.begin(), said.end(), is_word_of_text));
  const bool is_labelled = text.size() != line.size();
  if (unspaced_bytes(text) >= unspaced_bytes_min) return true;
  return words >= (is_labelled ? words_after_label_min : words_min) || (text.ends_with('?') && words > 0);
}

}  // namespace

bool is_raw(std::string_view answer) {
  if (Json::accept(trimmed(answer))) return true;
  bool is_fenced = false;
  while (!answer.empty()) {
    const std::string_view line = first_line(answer);
    const bool is_fence = line.starts_with("```") || line.starts_with("~~~");
    if (is_fence) is_fenced = !is_fenced;
    if (!is_fence && !is_fenced && explains(line)) return false;
  }
  return true;
}

}  // namespace cairn
