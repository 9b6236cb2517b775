// Hosts that say nothing: one takes connections, as a database server whose machine hangs; the other takes none, as a
// machine that is gone. Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace cairn::test {

class SilentHost {
 public:
  SilentHost() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 100), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentHost() { close(listener_); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;

  std::string port() const { return std::to_string(port_); }
  // Waits until a client has connected.
  bool is_asked() const {
    pollfd asked{listener_, POLLIN, 0};
    return poll(&asked, 1, 60'000) == 1;
  }

 private:
  int listener_;
  int port_ = 0;
};

// No packet of a client is answered: the connections that no one has accepted are as many as may be.
class AbsentHost {
 public:
  AbsentHost() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 0), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    for (int& client : clients_) {
      client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      (void)connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
  }
  ~AbsentHost() {
    for (const int client : clients_) close(client);
    close(listener_);
  }
  AbsentHost(const AbsentHost&) = delete;
  AbsentHost& operator=(const AbsentHost&) = delete;

  std::string port() const { return std::to_string(port_); }

 private:
  int listener_;
  int clients_[3] = {};
  int port_ = 0;
};

}  // namespace cairn::test
