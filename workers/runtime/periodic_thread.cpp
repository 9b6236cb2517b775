#include "workers/runtime/periodic_thread.hpp"

#include <chrono>
#include <utility>

#include "workers/ports/threads.hpp"

namespace cairn {
namespace {

constexpr long pause_after_fault_ms = 1'000;

// The pause that it asks for. Memory may be what is lacking, so nothing here needs any.
long call_whatever_it_throws(const std::function<long()>& work, bool& has_thrown) {
  try {
    const long pause_ms = work();
    has_thrown = false;
    return pause_ms;
  } catch (...) {
    if (!has_thrown) log_last_exception("the work of a periodic thread");
    has_thrown = true;
    return pause_after_fault_ms;
  }
}

}  // namespace

PeriodicThread::PeriodicThread(std::function<long()> work, std::function<void()> interrupt)
    : interrupt_(std::move(interrupt)), thread_([this, work = std::move(work)] {
        bool has_thrown = false;
        std::unique_lock lock(mutex_);
        while (!closing_) {
          lock.unlock();
          const std::chrono::milliseconds pause(call_whatever_it_throws(work, has_thrown));
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
  if (interrupt_) interrupt_();
  thread_.join();
}

}  // namespace cairn
