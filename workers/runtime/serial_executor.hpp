// A serial executor: runs tasks one at a time, in submission order, on whichever thread is already draining the queue.
// Unlike Asio's strand, the draining thread continues until the queue is empty instead of handing over to another
// thread: on an idle machine a hand-over costs as much as the work of a step.
//
// Safe from any thread. After a task has thrown, no further task is run.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace cairn {

class SerialExecutor {
 public:
  using Work = std::function<void()>;

  // `hand_over` runs the work on some thread, but not within the call.
  explicit SerialExecutor(std::function<void(Work)> hand_over) : hand_over_(std::move(hand_over)) {}
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  // If no thread is draining, this one does: it runs the work now, with all that is added meanwhile. Otherwise the
  // draining thread runs it.
  void run(Work work);
  // Left to the draining thread, or else handed over to another one.
  void post(Work work);

  bool has_more() const;  // besides the task that is running

  // The beginnings and ends of tasks so far: odd while one runs.
  std::uint64_t turns() const { return turns_; }

  // From now on nothing is run: waiting and new tasks are destroyed. REQUIRES: no thread is draining.
  void close();

 private:
  bool add(Work work);
  Work next();
  void run_all();

  const std::function<void(Work)> hand_over_;
  mutable std::mutex mutex_;
  std::deque<Work> waiting_;
  bool is_draining_ = false;
  bool is_closed_ = false;
  std::atomic<std::uint64_t> turns_{0};  // raised by the draining thread
};

}  // namespace cairn
