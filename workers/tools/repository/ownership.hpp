// Shares of the work on a place by its people. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "workers/tools/repository/history.hpp"

namespace cairn {

enum class Measure : std::uint8_t {
  commits,  // each commit counts 1
  recent,   // each counts its work(), which fades
};

std::optional<Measure> find_measure(std::string_view name);
std::string_view to_string(Measure measure);

inline constexpr int half_life_days = 180;
inline constexpr std::int64_t lines_counted_max = 999;

// 0.5^(age / half_life_days) x (1 + log10(1 + lines) / 3), with lines added and deleted in the place, at most
// lines_counted_max: a new commit counts from 1 (no line) to 2 (a thousand), so that size counts, but a reformatting
// of everything does not outweigh the work of months. A negative age is 0.
double work_of(double age_days, std::int64_t lines);

struct Share {
  std::uint32_t person = 0;
  std::size_t commits = 0;
  double work = 0;
  const CommitLog::Commit* latest = nullptr;
};

struct Shares {
  std::vector<Share> people;  // most work first; equals in the order of their latest commits
  double work = 0;            // of all
  std::size_t commits = 0;
  std::size_t bot_commits = 0;  // left out, as are their authors
};

// `as_of_us`: the time from which ages are counted.
Shares shares_of(const CodeHistory& history, Measure measure, TimeUs as_of_us, bool with_bots);

// The smallest number of people with half of the work.
std::size_t bus_factor_of(const Shares& shares);

}  // namespace cairn
