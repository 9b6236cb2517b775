#include "workers/runtime/periodic_thread.hpp"

#include <chrono>

namespace cairn {

PeriodicThread::PeriodicThread(std::function<long()> work)
    : thread_([this, work = std::move(work)] {
        std::unique_lock lock(mutex_);
        while (!closing_) {
          lock.unlock();
          const auto pause = std::chrono::milliseconds(work());
          lock.lock();
          if (pause.count() > 0) changed_.wait_for(lock, pause, [this] { return closing_; });
        }
      }) {}

PeriodicThread::~PeriodicThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace cairn
