#include "workers/ports/threads.hpp"

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

namespace asio = boost::asio;

// One blocking call. Shared by the coroutine that waits and the thread that works, because either may end first.
struct BlockingCall {
  BlockingCall(asio::any_io_executor waiters, std::function<void()> does, std::int64_t time_ms)
      : work(std::move(does)), timeout_ms(time_ms), executor(std::move(waiters)) {}

  const std::function<void()> work;
  const std::int64_t timeout_ms;
  const asio::any_io_executor executor;
  bool has_begun = false;    // the waiter's thread only
  bool has_ended = false;    // likewise
  std::exception_ptr fault;  // likewise
  std::mutex mutex;
  asio::steady_timer* timer = nullptr;  // the waiter's; null without a waiter: then the executor may be gone too
};
using BlockingCallRef = std::shared_ptr<BlockingCall>;

// Runs `then` with the timer on the waiter's thread, if it still waits.
template <class Then>
void post_to_waiter(const BlockingCallRef& call, Then then) {
  const std::lock_guard lock(call->mutex);
  if (call->timer == nullptr) return;
  asio::post(call->executor, [call, then = std::move(then)]() mutable {
    if (call->timer != nullptr) then(*call, *call->timer);
  });
}

void run_on_this_thread(const BlockingCallRef& call) {
  {
    const std::lock_guard lock(call->mutex);
    if (call->timer == nullptr) return;
  }
  post_to_waiter(call, [](BlockingCall& begun, asio::steady_timer& timer) {
    begun.has_begun = true;
    if (begun.timeout_ms > 0) timer.expires_after(std::chrono::milliseconds(begun.timeout_ms));
  });
  std::exception_ptr fault;
  try {
    call->work();
  } catch (...) {
    fault = std::current_exception();
  }
  post_to_waiter(call, [fault](BlockingCall& ended, asio::steady_timer& timer) {
    ended.has_ended = true;
    ended.fault = fault;
    timer.cancel();
  });
}

class BlockingWaiter {
 public:
  BlockingWaiter(BlockingCall& call, asio::steady_timer& timer) : call_(call) { call_.timer = &timer; }
  BlockingWaiter(const BlockingWaiter&) = delete;
  BlockingWaiter& operator=(const BlockingWaiter&) = delete;
  ~BlockingWaiter() {
    const std::lock_guard lock(call_.mutex);
    call_.timer = nullptr;
  }

 private:
  BlockingCall& call_;
};

}  // namespace

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
            count, [this] { io.run(); }, [this] { io.stop(); }) {}

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

asio::awaitable<bool> run_blocking(ThreadPool& pool, std::function<void()> work, std::int64_t timeout_ms) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto call = std::make_shared<BlockingCall>(executor, std::move(work), timeout_ms);
  asio::steady_timer timer(executor, asio::steady_timer::time_point::max());
  const BlockingWaiter waiter(*call, timer);
  asio::post(pool.context(), [call] { run_on_this_thread(call); });
  while (!call->has_ended) {
    boost::system::error_code error;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    const bool expired = !error && call->has_begun && !call->has_ended;
    if (expired) co_return false;
  }
  if (call->fault) std::rethrow_exception(call->fault);
  co_return true;
}

}  // namespace cairn
