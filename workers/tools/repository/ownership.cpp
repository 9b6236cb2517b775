#include "workers/tools/repository/ownership.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace cairn {
namespace {

constexpr double day_us = 86'400e6;

std::int64_t lines_inside(const CodeHistory& history, const PlaceCommit& commit) {
  std::int64_t lines = 0;
  for (std::uint32_t i = 0; i < commit.changes; ++i) {
    const PlaceChange& change = history.changes[commit.change_at + i];
    if (change.is_inside) lines += std::int64_t{change.added} + change.deleted;
  }
  return lines;
}

}  // namespace

std::optional<Measure> find_measure(std::string_view name) {
  if (name == "commits") return Measure::commits;
  if (name == "recent") return Measure::recent;
  return std::nullopt;
}

std::string_view to_string(Measure measure) { return measure == Measure::commits ? "commits" : "recent"; }

double work_of(double age_days, std::int64_t lines) {
  const auto counted = static_cast<double>(std::clamp<std::int64_t>(lines, 0, lines_counted_max));
  return std::pow(0.5, std::max(age_days, 0.0) / half_life_days) * (1 + std::log10(1 + counted) / 3);
}

Shares shares_of(const CodeHistory& history, Measure measure, TimeUs as_of_us, bool with_bots) {
  Shares shares;
  std::unordered_map<std::uint32_t, std::size_t> by_person;
  for (const PlaceCommit& commit : history.commits) {
    if (!with_bots && history.people[commit.person].is_bot) {
      ++shares.bot_commits;
      continue;
    }
    const double age_days = static_cast<double>(as_of_us - commit.commit->at_s * 1'000'000) / day_us;
    const double work = measure == Measure::commits ? 1 : work_of(age_days, lines_inside(history, commit));
    const auto [at, is_new] = by_person.try_emplace(commit.person, shares.people.size());
    if (is_new) shares.people.push_back({commit.person, 0, 0, commit.commit});
    Share& share = shares.people[at->second];
    ++share.commits;
    share.work += work;
    if (share.latest->at_s < commit.commit->at_s) share.latest = commit.commit;
    ++shares.commits;
    shares.work += work;
  }
  std::stable_sort(shares.people.begin(), shares.people.end(),
                   [](const Share& a, const Share& b) { return a.work > b.work; });
  return shares;
}

std::size_t bus_factor_of(const Shares& shares) {
  const double half = shares.work / 2 * (1 - 1e-12);  // sums of fractions are not exact
  double covered = 0;
  std::size_t count = 0;
  while (count < shares.people.size() && covered < half) covered += shares.people[count++].work;
  return count;
}

}  // namespace cairn
