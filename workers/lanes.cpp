#include "workers/lanes.hpp"

#include <chrono>

namespace cairn {

Lanes::Lanes(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void Lanes::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !work_.empty(); });
    if (work_.empty()) return;
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

Repeating::Repeating(std::function<long()> work)
    : thread_([this, work = std::move(work)] {
        std::unique_lock lock(mutex_);
        while (!closing_) {
          lock.unlock();
          const auto pause = std::chrono::milliseconds(work());
          lock.lock();
          changed_.wait_for(lock, pause, [this] { return closing_; });
        }
      }) {}

Repeating::~Repeating() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace cairn
