#include "storage/postgres/server_lines.hpp"

#include <utility>

namespace cairn {
namespace {

std::string line_text(const ServerLine& line) {
  return "timeline " + std::to_string(line.timeline) + " of system " +
         std::to_string(static_cast<std::uint64_t>(line.system));
}

}  // namespace

std::optional<std::string> ServerLines::note(const std::string& place, const ServerLine& met) {
  if (met.timeline == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = last_.emplace(place, met);
  const ServerLine before = std::exchange(known->second, met);
  if (is_new || before == met) return std::nullopt;
  return "The database is written on " + line_text(met) + " now, and was on " + line_text(before) +
         ": a standby has taken over, or a backup was restored. Commits that it had not received are gone; "
         "`cairn verify --all` names each run that lacks something.";
}

}  // namespace cairn
