// Handlers with a clock around them: the processor time that each spends itself, without the model and the tools it
// asks. For one step at a time. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "workers/catalogue.hpp"

namespace cairn {

class HandlerClock {
 public:
  struct Use {
    std::int64_t steps = 0;
    double seconds = 0;
  };

  void begin();
  void pause();  // it asks; nothing while no handler runs
  void resume();
  void end(const std::string& handler);

  const std::map<std::string, Use>& uses() const { return uses_; }
  void forget() { uses_.clear(); }

 private:
  bool is_running_ = false;
  double since_ = 0;
  double spent_ = 0;
  std::map<std::string, Use> uses_;
};

// Every handler and port of the catalogue from now on tells the clock. REQUIRES: the clock outlives the catalogue, and
// a worker that executes one step at a time.
void watch(Catalogue& catalogue, HandlerClock& clock);

// Processor time of this thread.
double thread_cpu_seconds();

}  // namespace cairn
