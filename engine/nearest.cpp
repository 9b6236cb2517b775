#include "engine/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cairn {
namespace {

constexpr std::size_t bytes_max = 64;
constexpr std::size_t changes_max = 3;

// Damerau and Levenshtein's distance, where no part is changed twice ("optimal string alignment").
std::size_t distance(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, bytes_max + 1>;
  Row before_last{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (is_same ? 0 : 1)});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > bytes_max) return "";
  std::size_t least = std::min(changes_max, std::max<std::size_t>(1, word.size() / 3)) + 1;
  std::string found;
  for (const std::string& one : known) {
    if (one.size() > bytes_max || one == word) continue;
    const std::size_t changes = distance(word, one);
    if (changes >= least || changes >= one.size()) continue;
    least = changes;
    found = one;
  }
  return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string found = nearest(word, known);
  return found.empty() ? "" : " (did you mean " + found + "?)";
}

}  // namespace cairn
