// A real HTTP server for a browser: one thread for each connection, and it remembers what was asked for. Safe from any
// thread.
#pragma once

#include <arpa/inet.h>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/in.h>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cairn::test {

struct ServedPage {
  std::string body;
  std::string headers = "Content-Type: text/html\r\n";
  std::string status = "200 OK";
  int delay_ms = 0;
};

inline int loopback_socket(int type, std::uint16_t& port) {
  const int made = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(made, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(made, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return made;
}

// One thread for each connection, so that an idle one holds no other up; one answer for each.
class PageServer {
 public:
  using Answers = std::function<ServedPage(const std::string& path)>;
  explicit PageServer(Answers answers) : answers_(std::move(answers)) {
    listener_ = loopback_socket(SOCK_STREAM, port_);
    EXPECT_EQ(::listen(listener_, 512), 0);
    thread_ = std::thread([this] { accept_all(); });
  }
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  ~PageServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    for (const int one : open_) ::shutdown(one, SHUT_RDWR);
    for (std::thread& one : threads_) one.join();
    for (const int one : open_) ::close(one);
  }

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  std::string port() const { return std::to_string(port_); }
  int connections() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(open_.size());
  }
  // The paths that were asked for, with those that begin with `allowed` left out.
  std::set<std::string> asked(const std::string& allowed = "-") const {
    const std::lock_guard lock(mutex_);
    std::set<std::string> all;
    for (const std::string& path : paths_)
      if (!path.starts_with(allowed)) all.insert(path);
    return all;
  }

 private:
  void accept_all() {
    for (int one = 0; (one = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      const std::lock_guard lock(mutex_);
      open_.push_back(one);
      threads_.emplace_back([this, one] { serve(one); });
    }
  }

  void serve(int one) {
    std::string request;
    char chunk[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t bytes = ::recv(one, chunk, sizeof chunk, 0);
      if (bytes <= 0) return;
      request.append(chunk, static_cast<std::size_t>(bytes));
    }
    std::istringstream first(request);
    std::string method;
    std::string path;
    first >> method >> path;
    {
      const std::lock_guard lock(mutex_);
      paths_.push_back(path);
    }
    const ServedPage page = answers_(path);
    if (page.delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(page.delay_ms));
    const std::string answer = "HTTP/1.1 " + page.status + "\r\nConnection: close\r\n" + page.headers +
                               "Content-Length: " + std::to_string(page.body.size()) + "\r\n\r\n" + page.body;
    for (std::string_view left = answer; !left.empty();) {
      const ssize_t bytes = ::send(one, left.data(), left.size(), MSG_NOSIGNAL);
      if (bytes <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(bytes));
    }
    ::shutdown(one, SHUT_RDWR);
  }

  Answers answers_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::vector<std::string> paths_;
};

}  // namespace cairn::test
