// Wake-ups: a counter that rises when something may be ready, here or in another process. Safe from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "storage/postgres_connection.hpp"

namespace cairn {

// The hints of one process, as its threads wait for them.
class Hints {
 public:
  void raise();
  // True if one came since this thread's last call, or comes within the time.
  bool await(std::int64_t timeout_ms);

 private:
  std::mutex mutex_;
  std::condition_variable raised_;
  std::uint64_t count_ = 0;
  std::map<std::thread::id, std::uint64_t> seen_;
};

// Sends and receives hints through the database, over two connections and threads of its own that begin when they are
// first needed. While the database is away hints are lost, which costs time and nothing else.
class Wakes {
 public:
  Wakes(PgConnectOptions options, bool notify);
  ~Wakes();

  void wake();
  bool await(std::int64_t timeout_ms);

 private:
  void send_loop();
  void listen_loop();
  void listen_once();
  bool pause(std::int64_t ms);  // false: time to stop

  const PgConnectOptions options_;
  const bool notify_;
  Hints hints_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;  // a NOTIFY
  bool stop_ = false;
  std::optional<int> sender_;  // backend of our own NOTIFYs
  int stop_event_ = -1;        // readable when it is time to stop
  std::thread send_thread_;
  std::thread listen_thread_;
};

}  // namespace cairn
