// What must not run at once, run in the order in which it came by whichever thread is there. As Asio's strand, but the
// thread whose turn it is goes on until nothing is left, where a strand hands over to another thread, which on a
// machine that has nothing else to do costs a step as much as its own work.
//
// Safe from any thread. After something has thrown nothing more is run.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

namespace cairn {

class Turns {
 public:
  using Work = std::function<void()>;

  // `hand_over` has some thread, not within the call, do the work.
  explicit Turns(std::function<void(Work)> hand_over) : hand_over_(std::move(hand_over)) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Now and by this thread, with all that is added meanwhile; if it is another's turn, by that one.
  void run(Work work);
  // By the thread whose turn it is, or else by one to which it is handed over.
  void later(Work work);

  bool has_more() const;  // than what is running

  // Nothing is run from now on: what waits and what comes is destroyed. REQUIRES: it is nobody's turn.
  void close();

 private:
  bool add(Work work);
  Work next();
  void run_all();

  const std::function<void(Work)> hand_over_;
  mutable std::mutex mutex_;
  std::deque<Work> waiting_;
  bool is_taken_ = false;
  bool is_closed_ = false;
};

}  // namespace cairn
