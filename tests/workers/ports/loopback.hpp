// A real HTTP(S) server on a free loopback port with one thread of its own, and a function that runs one coroutine.
#pragma once

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cairn::testing {

template <class T>
T run(boost::asio::io_context& io, boost::asio::awaitable<T> work) {
  std::optional<T> result;
  std::exception_ptr error;
  const auto take = [&](std::exception_ptr thrown, T value) {
    error = std::move(thrown);
    result = std::move(value);
  };
  boost::asio::co_spawn(io, std::move(work), take);
  io.restart();
  io.run();
  if (error) std::rethrow_exception(error);
  return std::move(result.value());
}

template <class T>
T run(boost::asio::awaitable<T> work) {
  boost::asio::io_context io;
  return run(io, std::move(work));
}

// A temporary directory; the destructor removes it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::filesystem::path path() const { return path_; }
  // Writes the file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

// Files of a self-signed certificate for the name "localhost".
struct Certificate {
  std::string certificate_file;
  std::string key_file;
};
Certificate make_certificate(const TemporaryFolder& folder);

// A loopback port on which no server listens.
std::uint16_t closed_port();

class LoopbackServer {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  struct Reply {
    unsigned status = 200;
    std::string body;
    bool never = false;            // keeps the connection open and sends nothing
    bool cut = false;              // promises the whole body, gives half of it and ends the connection
    bool kept = false;             // takes the next request over the same connection
    bool gone = false;             // ends the connection without sending anything
    bool apart = false;            // sends `unasked` later, and ends the connection
    std::string unasked = {};      // bytes sent after the answer
    std::string retry_after = {};  // a header; "": none
    std::vector<std::pair<std::string, std::string>> headers = {};  // more of them
    std::vector<std::string> pieces = {};  // of the body, each sent by itself after the headers, without its length
    std::function<void(std::size_t piece)> before = {};  // each piece, from 0
    bool endless = false;  // sends the last piece again and again until the client has gone
  };
  using Answers = std::function<Reply(const Request&)>;

  explicit LoopbackServer(Answers answers, std::optional<Certificate> certificate = {});
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer();

  std::uint16_t port() const { return port_; }
  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  std::vector<Request> requests() const;
  int connections() const { return connections_; }
  int ended_connections() const { return ended_; }

 private:
  void serve();
  template <class Stream>
  bool serve_pieces(Stream& stream, const Reply& reply);
  template <class Stream>
  bool serve_one(Stream& stream, boost::beast::flat_buffer& buffer);  // whether the connection takes another one

  Answers answers_;
  boost::asio::io_context io_;
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_server};
  bool over_tls_ = false;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> connections_ = 0;
  std::atomic<int> ended_ = 0;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace cairn::testing
