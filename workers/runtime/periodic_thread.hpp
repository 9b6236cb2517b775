// A thread of its own that does something again and again, with a pause that ends at once when it is stopped. Made and
// destroyed by one thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cairn {

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
