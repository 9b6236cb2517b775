// A few threads that wait for the database, so that the Asio thread never does.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn {

class Lanes {
 public:
  explicit Lanes(int threads);
  ~Lanes();  // finishes what was posted

  // Safe from any thread. The work must not throw.
  void post(std::function<void()> work);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

// A thread of its own that does something again and again, with a pause that ends at once when it is stopped.
class Repeating {
 public:
  // `work` returns the pause until the next time, in milliseconds; it must not throw.
  explicit Repeating(std::function<long()> work);
  ~Repeating();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace cairn
