#include "workers/ports/threads.hpp"

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <iterator>
#include <new>
#include <spdlog/spdlog.h>
#include <string>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds memory_pause(100);  // before memory is asked for again
constexpr std::chrono::seconds pool_pause(1);           // of a thread whose work has thrown

struct BlockingCall {
  bool has_ended = false;    // the waiter's thread only
  std::exception_ptr fault;  // likewise
};

void run_on_this_thread(const std::shared_ptr<Meeting>& meeting, const std::shared_ptr<BlockingCall>& call,
                        const std::function<void()>& work, std::int64_t timeout_ms) {
  if (!meeting->is_awaited()) return;
  std::exception_ptr fault;
  try {
    if (timeout_ms > 0) meeting->post([meeting, timeout_ms] { meeting->end_after(timeout_ms); });
    work();
  } catch (...) {
    fault = std::current_exception();
  }
  while (meeting->is_awaited()) {  // nothing else wakes it, so memory is waited for
    try {
      return meeting->post([call, fault] {
        call->has_ended = true;
        call->fault = fault;
      });
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(memory_pause);
    }
  }
}

// Until it is stopped, or has no more work.
void run_whatever_is_thrown(asio::io_context& io) {
  while (true) {
    try {
      io.run();
      return;
    } catch (...) {
      log_last_exception("the work of a pool");
    }
    std::this_thread::sleep_for(pool_pause);
  }
}

}  // namespace

void log_last_exception(const char* whose) noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& thrown) {
      spdlog::error("Expected {} to throw nothing, but: {}", whose, thrown.what());
    } catch (...) {
      spdlog::error("Expected {} to throw nothing, but it threw something that is no exception.", whose);
    }
  } catch (...) {  // there is nothing left to say it with
  }
}

Threads::Threads(int count, const std::function<void()>& work, const std::function<void()>& stop) {
  threads_.reserve(static_cast<std::size_t>(count));
  try {
    while (std::ssize(threads_) < count) threads_.emplace_back(work);
  } catch (const std::system_error& fault) {
    stop();
    join();
    throw std::system_error(fault.code(), "Expected to start " + std::to_string(count) + " threads");
  } catch (...) {
    stop();
    join();
    throw;
  }
}

void Threads::join() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

struct ThreadPool::Parts {
  explicit Parts(int count)
      : threads(
            count, [this] { run_whatever_is_thrown(io); }, [this] { io.stop(); }) {}

  boost::asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  Threads threads;
};

ThreadPool::ThreadPool(int threads) : parts_(std::make_unique<Parts>(threads)) {}
ThreadPool::~ThreadPool() { parts_->io.stop(); }
boost::asio::io_context& ThreadPool::context() { return parts_->io; }

void ThreadPool::join() {
  parts_->work.reset();
  parts_->threads.join();
}

struct Meeting::Waiter::Timer {
  explicit Timer(const asio::any_io_executor& executor) : timer(executor, asio::steady_timer::time_point::max()) {}
  asio::steady_timer timer;
};

Meeting::Waiter::Waiter(std::shared_ptr<Meeting> meeting)
    : meeting_(std::move(meeting)), timer_(std::make_unique<Timer>(meeting_->executor_)) {
  const std::lock_guard lock(meeting_->mutex_);
  meeting_->waiter_ = this;
}

Meeting::Waiter::~Waiter() {
  const std::lock_guard lock(meeting_->mutex_);
  meeting_->waiter_ = nullptr;
}

asio::awaitable<bool> Meeting::Waiter::until(std::function<bool()> is_over) {
  while (!is_over()) {
    boost::system::error_code woken;
    co_await timer_->timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const bool is_late = !woken && !is_over();
    if (is_late) co_return false;
  }
  co_return true;
}

void Meeting::post(std::function<void()> then) {
  const std::lock_guard lock(mutex_);
  if (waiter_ == nullptr) return;
  asio::post(executor_, [self = shared_from_this(), then = std::move(then)] {
    // Only this thread ends the waiting, so that it is there while `then` runs.
    if (self->waiter_ == nullptr) return;
    then();
    self->waiter_->timer_->timer.cancel();
  });
}

bool Meeting::is_awaited() {
  const std::lock_guard lock(mutex_);
  return waiter_ != nullptr;
}

void Meeting::end_after(std::int64_t ms) { waiter_->timer_->timer.expires_after(std::chrono::milliseconds(ms)); }

asio::awaitable<bool> run_blocking(ThreadPool& pool, std::function<void()> work, std::int64_t timeout_ms) {
  const auto meeting = std::make_shared<Meeting>(co_await asio::this_coro::executor);
  const auto call = std::make_shared<BlockingCall>();
  Meeting::Waiter waiter(meeting);
  asio::post(pool.context(), [meeting, call, work = std::move(work), timeout_ms] {
    run_on_this_thread(meeting, call, work, timeout_ms);
  });
  std::function<bool()> is_over = [call] { return call->has_ended; };
  const bool has_ended = co_await waiter.until(std::move(is_over));
  if (!has_ended) co_return false;
  if (call->fault) std::rethrow_exception(call->fault);
  co_return true;
}

}  // namespace cairn
