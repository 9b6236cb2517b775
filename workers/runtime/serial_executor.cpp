#include "workers/runtime/serial_executor.hpp"

#include <utility>

namespace cairn {

void SerialExecutor::run(Work work) {
  if (add(std::move(work))) run_all();
}

void SerialExecutor::post(Work work) {
  if (add(std::move(work))) hand_over_([this] { run_all(); });
}

// True: the caller is to drain the queue, or to have it drained.
bool SerialExecutor::add(Work work) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  waiting_.push_back(std::move(work));
  return !std::exchange(is_draining_, true);
}

bool SerialExecutor::has_more() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

void SerialExecutor::close() {
  std::deque<Work> left;  // destroyed after the lock is released: a destructor may post again
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  left.swap(waiting_);
}

// Empty: the queue is empty and this thread drains it no longer. Both are decided under one lock, so that a task added
// at this moment is either returned here or makes its own caller the draining thread.
SerialExecutor::Work SerialExecutor::next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    is_draining_ = false;
    return {};
  }
  Work work = std::move(waiting_.front());
  waiting_.pop_front();
  return work;
}

void SerialExecutor::run_all() {
  while (const Work work = next()) {
    ++turns_;
    work();
    ++turns_;
  }
}

}  // namespace cairn
