// Tools that leave a call to another worker where this one's settings do not allow it, or do not know its tool, and
// another's do. The other sessions' rows are as old as the last reading of them, so a new one is waited for before a
// call is answered here with a refusal. For the worker's serial executor: one thread at a time.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/id.hpp"
#include "workers/means.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// Thrown instead of an answer, before anything was done: it is no attempt, and the step is left to others.
struct MeansAreElsewhere : std::exception {
  explicit MeansAreElsewhere(std::string need) : lacking(std::move(need)) {}
  const char* what() const noexcept override { return lacking.c_str(); }
  std::string lacking;  // "tool NAME", as in means.hpp
};

// The means of the other sessions that serve the same queues. Times are steady.
class MeansOfOthers {
 public:
  void learn(TimeUs scanned_at, std::vector<Means> means) {
    scanned_at_ = scanned_at;
    means_ = std::move(means);
  }
  TimeUs scanned_at() const { return scanned_at_; }  // 0: not yet
  bool have(const std::string& need) const;

  // A reading that begins from now on is wanted, until one was learned.
  void want_scan(TimeUs now_us) { wanted_at_ = now_us; }
  bool is_scan_wanted() const { return wanted_at_ > scanned_at_; }

 private:
  TimeUs scanned_at_ = 0;
  TimeUs wanted_at_ = 0;
  std::vector<Means> means_;
};

// A call for which `own` suffices goes to `tools`, and so does one that no other session has the means for, to be
// refused there. Where no scan comes within `patience_us`, the call is left to others all the same. REQUIRES: `tools`
// and `others` outlive it.
std::unique_ptr<Tools> make_yielding_tools(Tools& tools, Means own, MeansOfOthers& others, TimeUs patience_us);

}  // namespace cairn
