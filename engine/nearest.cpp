#include "engine/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

namespace cairn {
namespace {

constexpr std::size_t bytes_max = 64;
constexpr std::size_t changes_max = 3;

// Damerau and Levenshtein's distance, where no part is changed twice ("optimal string alignment"); `most` + 1 if it is
// greater than `most`. Only places that are at most so far apart are compared, and no further than is needed.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
  using Row = std::array<std::size_t, bytes_max + 2>;
  const std::size_t more = most + 1;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return more;
  Row before_last{}, last{}, row{};
  std::iota(last.begin(), last.end(), std::size_t{0});
  std::size_t least_of_last = 0;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t first = i > most ? i - most : 1;
    const std::size_t end = std::min(b.size(), i + most);
    row[first - 1] = first == 1 ? i : more;
    std::size_t least = row[first - 1];
    for (std::size_t j = first; j <= end; ++j) {
      const bool is_same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (is_same ? 0 : 1)});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    row[end + 1] = more;
    if (least > most && least_of_last > most) return more;
    least_of_last = least;
    before_last = last;
    last = row;
  }
  return std::min(last[b.size()], more);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > bytes_max) return "";
  std::size_t least = std::min(changes_max, std::max<std::size_t>(1, word.size() / 3)) + 1;
  std::string found;
  for (const std::string& one : known) {
    if (one.size() > bytes_max || one == word) continue;
    const std::size_t changes = distance(word, one, least - 1);
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
