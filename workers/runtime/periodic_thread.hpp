// A periodic thread: calls a function again and again on a thread of its own; stopping ends the pause between two calls
// at once. Constructed and destroyed by the same thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cairn {

class PeriodicThread {
 public:
  // `work` returns the pause before the next call, in milliseconds. One that throws is called again a second later; the
  // first of such calls in a row is logged. `interrupt` ends a call that waits; called once it is the last.
  explicit PeriodicThread(std::function<long()> work, std::function<void()> interrupt = {});
  ~PeriodicThread();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  const std::function<void()> interrupt_;
  std::thread thread_;
};

}  // namespace cairn
