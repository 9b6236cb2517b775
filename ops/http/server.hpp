// An HTTP/1.1 server: one thread for all sockets, a few for the work, and a limit on everything a client may send, open
// or wait for. Knows nothing of runs. Used from one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "ops/http/guard.hpp"
#include "ops/http/message.hpp"

namespace cairn {

struct ServerLimits {
  std::uint64_t body_bytes = 1 << 20;
  std::uint32_t header_bytes = 16 * 1024;
  int connections = 256;             // more are accepted when one of them ends
  std::chrono::seconds request{10};  // from a request's first byte to its last
  std::chrono::seconds idle{60};     // until its first byte
  std::chrono::seconds write{30};    // for each piece of an answer to be taken
  int threads = 4;                   // that work
};

// What a server is to say. None of them throws.
struct Replies {
  // On the thread of the sockets, before the body is read: what needs no work, and refusals.
  std::function<std::optional<ApiResponse>(const ApiRequest&)> at_once;
  // On any of the others.
  std::function<ApiAnswer(const ApiRequest&)> worked_out;
};

class HttpServer {
 public:
  // Listens. Refuses `unavailable`: the address is taken, or is not ours.
  static Result<std::unique_ptr<HttpServer>> open(const ListenAddress& address, ServerLimits limits, Replies replies);
  ~HttpServer();

  ListenAddress address() const;  // with the port it got

  // Serves until SIGINT or SIGTERM; then what was begun is finished, and nothing new is taken.
  void run();

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
