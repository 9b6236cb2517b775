#include "workers/turns.hpp"

namespace cairn {

Turns::Executor Turns::executor() { return Executor(*this); }

bool Turns::has_more() const {
  const std::lock_guard lock(mutex_);
  return !tasks_.empty();
}

std::unique_ptr<Turns::Task> Turns::next() {
  const std::lock_guard lock(mutex_);
  if (tasks_.empty()) {
    is_taken_ = false;
    return nullptr;
  }
  auto task = std::move(tasks_.front());
  tasks_.pop_front();
  return task;
}

void Turns::run_all() {
  while (const auto task = next()) task->run();
}

}  // namespace cairn
