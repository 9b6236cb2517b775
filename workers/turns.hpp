// What must not run at once, run in the order in which it came by whichever thread is there: an executor as Asio's
// strand is. But the thread whose turn it is goes on until nothing is left, where a strand hands over to another
// thread, which on a machine that has nothing else to do costs a step as much as its own work.
//
// Safe from any thread. Outlives its executors' use. After something has thrown nothing more is run.
#pragma once

#include <boost/asio/defer.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace cairn {

class Turns {
 public:
  class Executor;

  explicit Turns(boost::asio::io_context& io) : io_(io) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Now and by this thread, with all that is added meanwhile; if it is another's turn, by that one.
  template <class Work>
  void run(Work work) {
    if (add(std::move(work))) run_all();
  }
  // By the thread whose turn it is, or else by one of the loop's.
  template <class Work>
  void later(Work work) {
    if (add(std::move(work))) boost::asio::defer(io_, [this] { run_all(); });
  }

  Executor executor();
  bool has_more() const;  // than what is running

 private:
  struct Task {
    virtual ~Task() = default;
    virtual void run() = 0;
  };
  template <class Work>
  struct TaskOf final : Task {
    explicit TaskOf(Work of) : work(std::move(of)) {}
    void run() override { std::move(work)(); }
    Work work;
  };

  // True: it is the caller's turn from now on.
  template <class Work>
  bool add(Work work) {
    auto task = std::make_unique<TaskOf<Work>>(std::move(work));
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    return !std::exchange(is_taken_, true);
  }
  std::unique_ptr<Task> next();
  void run_all();

  boost::asio::io_context& io_;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Task>> tasks_;
  bool is_taken_ = false;
};

// Asio's executor of it: whatever it is given runs later, in turn.
class Turns::Executor {
 public:
  explicit Executor(Turns& turns) : turns_(&turns) {}

  template <class Work>
  void execute(Work&& work) const {
    turns_->later(std::forward<Work>(work));
  }
  boost::asio::io_context& query(boost::asio::execution::context_t) const noexcept { return turns_->io_; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }
  Executor require(boost::asio::execution::blocking_t::never_t) const noexcept { return *this; }
  friend bool operator==(const Executor&, const Executor&) noexcept = default;

 private:
  Turns* turns_;
};

}  // namespace cairn
