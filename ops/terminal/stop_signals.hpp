// The stop signals SIGINT and SIGTERM: recorded, and passed on to a worker. At most one object at a time in a process;
// arrived() is safe from any thread.
#pragma once

#include <cstdint>

namespace cairn {

class Worker;

class StopSignals {
 public:
  StopSignals();   // installs the handlers of both signals
  ~StopSignals();  // restores the previous ones
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool arrived() const;
  bool arrived_again() const;  // another one a second later or more: what is ending is to hurry
  // Stops `worker` when a signal arrives (at once if one has arrived), and hurries it at the second one; null: no
  // worker. REQUIRES: it outlives the watch.
  void watch(Worker* worker);
};

}  // namespace cairn
