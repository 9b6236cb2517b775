// Threads that begin and end together: if one of them cannot be started, those that were are ended, and no one
// waits for them for ever. Constructed and destroyed by the same thread; a pool takes work from any thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cairn {

class Threads {
 public:
  // `stop` makes each `work` return soon. Throws std::system_error (is_shortage) if one cannot be started.
  Threads(int count, const std::function<void()>& work, const std::function<void()>& stop);
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { join(); }

  void join();  // REQUIRES: each `work` returns

 private:
  std::vector<std::thread> threads_;
};

// For a thread's last `catch (...)`: logs the exception that is being handled. Where logging itself fails, by lack of
// memory above all, nothing is logged, so that nothing ends the process.
void log_last_exception(const char* whose) noexcept;

// An exception of its work is logged; the thread goes on a second later.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // throws as Threads does
  ~ThreadPool();                     // what has begun is finished, what has not is dropped

  boost::asio::io_context& context();  // takes the work
  void join();                         // when all that was posted is done

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// A coroutine that waits for what happens on other threads. Shared by both sides, because either may end first: what is
// posted for a coroutine that waits no more is dropped, and its executor, which may be gone with it, is not touched.
class Meeting : public std::enable_shared_from_this<Meeting> {
 public:
  explicit Meeting(boost::asio::any_io_executor waiters) : executor_(std::move(waiters)) {}

  // From any thread: runs `then` on the coroutine's thread, and lets it look again.
  void post(std::function<void()> then);
  // From any thread. False: it waits no more.
  bool is_awaited();
  // On the coroutine's thread: it waits so long, from now on.
  void end_after(std::int64_t ms);

  // The coroutine's side. It waits for as long as this lives.
  class Waiter {
   public:
    explicit Waiter(std::shared_ptr<Meeting> meeting);
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter();
    // False: the time is over, and it is not.
    boost::asio::awaitable<bool> until(std::function<bool()> is_over);

   private:
    struct Timer;
    friend class Meeting;
    const std::shared_ptr<Meeting> meeting_;
    const std::unique_ptr<Timer> timer_;
  };

 private:
  const boost::asio::any_io_executor executor_;
  std::mutex mutex_;
  Waiter* waiter_ = nullptr;  // null: it waits no more
};

// Runs `work`, which may block, on a thread of the pool, and waits for it without one. Its exception is passed on.
// False: it has not ended `timeout_ms` after its begin (0: there is no such time), and goes on for no one. The time in
// the pool's line is not counted; work that is no longer waited for when its turn comes is not begun.
boost::asio::awaitable<bool> run_blocking(ThreadPool& pool, std::function<void()> work, std::int64_t timeout_ms);

}  // namespace cairn
