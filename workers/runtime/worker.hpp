// A worker: a session (session.hpp) and its effects, in turns (workers/runtime/serial_executor.hpp) that a few threads
// share: one that has waited for the database goes on itself. A bounded pool of others is for blocking tools. Not
// thread-safe but for stop().
#pragma once

#include <memory>

#include "storage/store.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

struct Catalogue;

class Worker {
 public:
  Worker(Store& store, Catalogue& catalogue, WorkerOptions options);
  ~Worker();

  // Works until stop() or `until`; then drains: finishes what runs, commits it, offers the rest, closes the session.
  // Throws nothing for a database that goes away: backs off and tries again. What `until` throws comes out.
  WorkerReport run();

  // Safe from any thread and from a signal handler.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
