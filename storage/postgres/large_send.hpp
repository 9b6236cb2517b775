// The sending of a large statement, at a cost that grows with its bytes. libpq moves the rest of its buffer to the
// front after each write of a nonblocking connection that the socket took in part: the square of the bytes. Not
// thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

struct pg_conn;

namespace cairn {

// Statements of fewer bytes are sent while their answers are awaited.
inline constexpr std::size_t large_statement_bytes = std::size_t{16} << 20;

// While there is one, writes wait until the server has taken all bytes. If it takes none for `silence_ms`, or
// `is_given_up` (may be null) becomes true, the socket is shut, and the write fails as on a lost connection.
class LargeSend {
 public:
  LargeSend(pg_conn* connection, std::int64_t silence_ms, const std::atomic<bool>* is_given_up);
  ~LargeSend();
  LargeSend(const LargeSend&) = delete;
  LargeSend& operator=(const LargeSend&) = delete;

 private:
  pg_conn* connection_;
  std::jthread guard_;
};

}  // namespace cairn
