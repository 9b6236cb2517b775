// A watch over the server's locks: how long others than `cairn migrate` wait for one. Looks every few milliseconds, on
// a connection and a thread of its own, until stop() or the end of its life. Used by one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace cairn::program {

class LockWatch {
 public:
  // Returns when it has looked once. REQUIRES: the login sees the statements of others, as a superuser does.
  explicit LockWatch(std::string dsn);
  ~LockWatch();
  LockWatch(const LockWatch&) = delete;
  LockWatch& operator=(const LockWatch&) = delete;

  struct Seen {
    std::int64_t looks = 0;
    std::int64_t longest_us = 0;
    std::string longest;  // the lock and the statement that waited for it
    std::string fault;    // why the watch ended before stop(); "": it did not
  };
  Seen stop();

 private:
  void look_again_and_again();

  const std::string dsn_;
  Seen seen_;
  std::atomic<std::int64_t> looks_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace cairn::program
