// The runs that this process leaves alone for a while, because it cannot read them or may not end them: a process of
// another release perhaps can. Each pause of a run is twice as long as the one before. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "engine/id.hpp"

namespace cairn {

class RunBackoff {
 public:
  static constexpr TimeUs first_us = 1'000'000;
  static constexpr TimeUs longest_us = 300'000'000;
  static constexpr std::size_t runs_max = 10'000;  // of more, those whose pause ends first are forgotten

  // One more pause, from now on. Returns its end.
  TimeUs pause(const RunId& run, TimeUs now_us);
  void forget(const RunId& run) {
    if (!runs_.empty()) runs_.erase(run);
  }

  bool is_paused(const RunId& run, TimeUs now_us) const;
  std::vector<RunId> paused(TimeUs now_us, std::size_t limit) const;
  bool empty() const { return runs_.empty(); }

 private:
  struct Pause {
    TimeUs length = 0;
    TimeUs until = 0;
  };
  void make_room();

  std::map<RunId, Pause> runs_;  // a pause that has ended stays: the next one is longer
};

}  // namespace cairn
