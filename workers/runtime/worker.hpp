// A worker process: drives one session (session.hpp) with real time, threads and a store. A few threads make the store
// calls, one waits for sockets and timers; what touches the session runs in a serial executor (serial_executor.hpp),
// and the thread that made a store call also handles its answer. Not thread-safe but for stop(), hurry() and report().
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
  // Ends by itself, and leaves what it holds to others, if the database refuses all that it commits: a lost right.
  // Throws nothing when the database goes away: backs off and tries again. Exceptions of `until` are passed on. Throws
  // std::system_error if there is not memory enough for it, or its threads cannot be started. Ends the process
  // (SIGABRT, after a line in the log) if a turn takes longer than the options allow.
  WorkerReport run();

  // Both are safe from any thread and from a signal handler. stop() lets what runs finish, for a while; hurry() does
  // not. Neither depends on a database that answers.
  void stop();
  void hurry();

  // How it stands now. Safe from any thread; waits for a turn at most.
  WorkerReport report() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
