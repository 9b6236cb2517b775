#include "tests/faults/rough_path.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <deque>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace cairn::program {
namespace {

using Clock = std::chrono::steady_clock;

// -1: no server answers there.
int connect_to_server(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("socket path too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return server;
  close(server);
  return -1;
}

struct Piece {
  Clock::time_point due;
  std::string bytes;
};

}  // namespace

// One connection, both ways. Not thread-safe: its thread's alone.
class RoughPath::Relay {
 public:
  Relay(RoughPath& path, int client, int server) : path_(path), client_(client), server_(server) {
    const int on = 1;
    setsockopt(client_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Relay() {
    if (server_ >= 0) close(server_);
    close(client_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void run() {
    while (!path_.stop_ && step()) {
    }
    if (is_reset_) ++path_.resets_;
  }

 private:
  bool step() {
    if (has_lost_ && !path_.swallows_) return reset();
    if (left_ < 0 && path_.reset_within_ > 0) left_ = path_.draw(path_.reset_within_);
    if (path_.reset_within_ == 0) left_ = -1;
    const bool is_deaf = listens_ && path_.deafens_;
    if (is_deaf && !std::exchange(was_deaf_, true)) ++path_.deaf_;
    std::array<pollfd, 2> waits{{{client_, POLLIN, 0}, {is_deaf ? -1 : server_, POLLIN, 0}}};
    poll(waits.data(), waits.size(), to_client_.empty() && to_server_.empty() ? 20 : 1);
    if (waits[0].revents != 0 && !take(client_, to_server_)) return false;
    if (waits[1].revents != 0 && !take(server_, to_client_)) return flush();
    return pass(to_server_, server_) && pass(to_client_, client_);
  }

  // False: the other end is gone.
  bool take(int from, std::deque<Piece>& pieces) {
    std::array<char, 65536> buffer{};
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got <= 0) return false;
    std::string bytes(buffer.data(), static_cast<std::size_t>(got));
    if (from == client_ && bytes.find("LISTEN") != std::string::npos) listens_ = true;
    if (path_.swallows_) {
      has_lost_ = true;
      ++path_.swallowed_;
      return true;
    }
    pieces.push_back({Clock::now() + std::chrono::milliseconds(path_.delay_ms_), std::move(bytes)});
    return true;
  }

  bool pass(std::deque<Piece>& pieces, int to) {
    for (; !pieces.empty() && pieces.front().due <= Clock::now(); pieces.pop_front())
      if (!send_all(pieces.front().bytes, to)) return false;
    return true;
  }
  bool flush() {
    for (; !to_client_.empty(); to_client_.pop_front())
      if (!send_all(to_client_.front().bytes, client_)) break;
    return false;
  }

  bool send_all(const std::string& bytes, int to) {
    std::size_t whole = bytes.size();
    const bool ends = left_ >= 0 && static_cast<std::int64_t>(whole) > left_;
    if (ends) whole = static_cast<std::size_t>(left_);
    const std::size_t most = path_.single_ ? 1 : whole;
    for (std::size_t at = 0; at < whole;) {
      const ssize_t sent = send(to, bytes.data() + at, std::min(most, whole - at), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<std::size_t>(sent);
    }
    if (left_ >= 0) left_ -= static_cast<std::int64_t>(whole);
    return !ends || reset();
  }

  // Closed at once with RST, whatever is still to be read.
  bool reset() {
    const linger at_once{1, 0};
    setsockopt(client_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    is_reset_ = true;
    return false;
  }

  RoughPath& path_;
  const int client_;
  const int server_;
  std::deque<Piece> to_client_;
  std::deque<Piece> to_server_;
  std::int64_t left_ = -1;  // bytes until it is reset; below 0: it is not
  bool listens_ = false;
  bool was_deaf_ = false;
  bool has_lost_ = false;
  bool is_reset_ = false;
};

RoughPath::RoughPath(const std::string& server_dsn) {
  const std::size_t begin = server_dsn.find("host='") + 6;
  server_path_ = server_dsn.substr(begin, server_dsn.find('\'', begin) - begin) + "/.s.PGSQL.5432";
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the path cannot listen");
  dsn_ = server_dsn + " host=127.0.0.1 port=" + std::to_string(ntohs(address.sin_port));
  accepting_ = std::thread([this] { accept_loop(); });
}

RoughPath::~RoughPath() {
  stop_ = true;
  accepting_.join();
  for (std::thread& relay : relays_) relay.join();
  close(listener_);
}

void RoughPath::accept_loop() {
  while (!stop_) {
    pollfd wait{listener_, POLLIN, 0};
    if (poll(&wait, 1, 20) <= 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const int server = connect_to_server(server_path_);
    if (server < 0) {
      close(client);
      continue;
    }
    relays_.emplace_back([this, client, server] { Relay(*this, client, server).run(); });
  }
}

std::uint32_t RoughPath::draw(std::uint32_t most) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(random_() % most);
}

}  // namespace cairn::program
