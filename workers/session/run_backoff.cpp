#include "workers/session/run_backoff.hpp"

#include <algorithm>

namespace cairn {

TimeUs RunBackoff::pause(const RunId& run, TimeUs now_us) {
  if (!runs_.contains(run)) make_room();
  Pause& pause = runs_[run];
  pause.length = std::clamp(2 * pause.length, first_us, longest_us);
  pause.until = now_us + pause.length;
  return pause.until;
}

bool RunBackoff::is_paused(const RunId& run, TimeUs now_us) const {
  if (runs_.empty()) return false;
  const auto found = runs_.find(run);
  return found != runs_.end() && now_us < found->second.until;
}

std::vector<RunId> RunBackoff::paused(TimeUs now_us, std::size_t limit) const {
  std::vector<RunId> paused;
  for (const auto& [run, pause] : runs_) {
    if (paused.size() == limit) break;
    if (now_us < pause.until) paused.push_back(run);
  }
  return paused;
}

// A tenth at once, so that a full list is not walked for every run.
void RunBackoff::make_room() {
  if (runs_.size() < runs_max) return;
  std::vector<TimeUs> ends;
  for (const auto& [run, pause] : runs_) ends.push_back(pause.until);
  const auto tenth = ends.begin() + static_cast<std::ptrdiff_t>(runs_max / 10);
  std::nth_element(ends.begin(), tenth, ends.end());
  std::erase_if(runs_, [last = *tenth](const auto& one) { return one.second.until <= last; });
}

}  // namespace cairn
