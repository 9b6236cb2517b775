// An HTTP server on a free loopback port, with a thread of its own: for the stand-in of a model and for pages. Safe
// from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cairn {

struct LocalRequest {
  std::string method;
  std::string target;  // path and query
  std::string body;    // at most json_bytes_max bytes
};

struct LocalAnswer {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::int64_t after_ms = 0;  // sent so much later
};

class LocalServer {
 public:
  // `answer` is called by the server's thread. Throws std::system_error if no port can be had.
  explicit LocalServer(std::function<LocalAnswer(const LocalRequest&)> answer);
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  std::string url() const;  // http://127.0.0.1:PORT

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
