#include "workers/runtime/serial_executor.hpp"

#include <utility>

namespace cairn {

void Turns::run(Work work) {
  if (add(std::move(work))) run_all();
}

void Turns::later(Work work) {
  if (add(std::move(work))) hand_over_([this] { run_all(); });
}

// True: it is the caller's turn from now on.
bool Turns::add(Work work) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  waiting_.push_back(std::move(work));
  return !std::exchange(is_taken_, true);
}

bool Turns::has_more() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

void Turns::close() {
  std::deque<Work> left;  // destroyed without the lock, for that may add more
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  left.swap(waiting_);
}

// Nothing: it is nobody's turn any more.
Turns::Work Turns::next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    is_taken_ = false;
    return {};
  }
  Work work = std::move(waiting_.front());
  waiting_.pop_front();
  return work;
}

void Turns::run_all() {
  while (const Work work = next()) work();
}

}  // namespace cairn
