// A worker: a session (session.hpp) driven by one Asio thread, which also runs the effects; a few threads wait for the
// database, a bounded pool of them for blocking tools.
#pragma once

#include <memory>

#include "storage/store.hpp"
#include "workers/worker_options.hpp"

namespace cairn {

struct Catalogue;

class Worker {
 public:
  Worker(Store& store, Catalogue& catalogue, WorkerOptions options);
  ~Worker();

  // Works until stop() or `until`; then drains: finishes what runs, commits it, offers the rest, closes the session.
  // Throws nothing for a database that goes away: backs off and tries again.
  WorkerReport run();

  // Safe from any thread and from a signal handler.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
