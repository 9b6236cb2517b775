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
  std::chrono::seconds turn{5};      // until one of the threads begins with a request; else 503
  std::chrono::seconds look{2};      // until a look is answered; else 503
  int threads = 4;                   // that work

  // Streams at once; the other connections are for what ends by itself.
  int streams() const { return connections - (connections + 7) / 8 + (connections == 1 ? 1 : 0); }
};

// What a server is to say. None of them throws.
struct Replies {
  // On the thread of the sockets, before the body is read: what needs no work, and refusals.
  std::function<std::optional<ApiResponse>(const ApiRequest&)> at_once;
  // There, too: whether it is a look, which is worked out on a thread for looks alone, and answered soon in any case.
  std::function<bool(const ApiRequest&)> is_look;
  // On any of the other threads.
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
