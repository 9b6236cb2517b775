// SIGINT and SIGTERM as a wish to stop: recorded, and passed on to a worker. One at a time in a process;
// came() is safe from any thread.
#pragma once

#include <cstdint>

namespace cairn {

class Worker;

class StopSignals {
 public:
  StopSignals();   // takes the two signals over
  ~StopSignals();  // gives them back
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool came() const;
  // Stops `worker` when a signal comes (at once if one has come); null: nobody. REQUIRES: it outlives the watch.
  void watch(Worker* worker);
};

}  // namespace cairn
