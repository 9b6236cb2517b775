// A clock around handlers: the processor time that each spends itself, without the model and the tools that it calls.
// Measures one step at a time. Not thread-safe.
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
  void pause();  // the handler calls a port; no effect while no handler runs
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

// Wraps every handler and port of the catalogue so that it starts and stops the clock. REQUIRES: the clock outlives the
// catalogue, and the worker executes one step at a time.
void watch(Catalogue& catalogue, HandlerClock& clock);

// Processor time of this thread.
double thread_cpu_seconds();

}  // namespace cairn
