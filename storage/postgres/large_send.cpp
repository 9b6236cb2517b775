#include "storage/postgres/large_send.hpp"

#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <libpq-fe.h>
#include <linux/sockios.h>
#include <memory>
#include <mutex>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds between_counts{5};

// A number of its own, made before libpq may close its one, which another socket may have then.
class SocketCopy {
 public:
  explicit SocketCopy(int socket) : socket_(fcntl(socket, F_DUPFD_CLOEXEC, 0)) {}
  ~SocketCopy() {
    if (socket_ >= 0) close(socket_);
  }
  SocketCopy(const SocketCopy&) = delete;
  SocketCopy& operator=(const SocketCopy&) = delete;
  void shut() const { shutdown(socket_, SHUT_RDWR); }
  // Bytes that the other side has not taken: the same number again and again only if it takes none.
  int queued() const {
    int bytes = 0;
    return ioctl(socket_, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
  }

 private:
  int socket_;
};

void guard(const std::stop_token& is_sent, const SocketCopy& socket, std::chrono::milliseconds silence,
           const std::atomic<bool>* is_given_up) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  int queued = -1;
  for (Clock::time_point moved = Clock::now(); !is_sent.stop_requested();) {
    const Clock::time_point now = Clock::now();
    if (std::exchange(queued, socket.queued()) != queued) moved = now;
    if (now - moved >= silence || (is_given_up != nullptr && *is_given_up)) return socket.shut();
    changed.wait_until(lock, is_sent, now + between_counts, [] { return false; });
  }
}

}  // namespace

LargeSend::LargeSend(pg_conn* connection, std::int64_t silence_ms, const std::atomic<bool>* is_given_up)
    : connection_(connection),
      guard_([socket = std::make_unique<SocketCopy>(PQsocket(connection)), silence_ms,
              is_given_up](const std::stop_token& is_sent) {
        guard(is_sent, *socket, std::chrono::milliseconds(silence_ms), is_given_up);
      }) {
  PQsetnonblocking(connection_, 0);
}

// The last bytes are sent here. If that fails, the connection is lost, as who waits for the answer finds.
LargeSend::~LargeSend() {
  PQsetnonblocking(connection_, 1);
  guard_.request_stop();
  guard_.join();
}

}  // namespace cairn
