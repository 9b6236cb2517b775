// An HTTP/1.1 server: one thread for all sockets, a few for the work, and a limit on everything that a client may send,
// open or wait for. Independent of what the requests mean. Used from one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "ops/http/message.hpp"
#include "ops/requests/listen_address.hpp"

namespace cairn {

struct ServerLimits {
  std::uint64_t body_bytes = 1 << 20;
  std::uint32_t header_bytes = 16 * 1024;
  int connections = 256;             // the next one is accepted when one of them ends
  std::chrono::seconds request{10};  // from a request's first byte to its last
  std::chrono::seconds idle{60};     // until its first byte
  std::chrono::seconds write{30};    // for each piece of an answer to be taken
  std::chrono::seconds queued{5};    // until a thread begins with a request; otherwise 503
  std::chrono::seconds probe{2};     // until a request of the lane `probes` is answered; otherwise 503
  int threads = 4;                   // of the lane `work`

  // Streams at once; the remaining connections are kept for requests that end by themselves.
  int streams() const { return connections - (connections + 7) / 8 + (connections == 1 ? 1 : 0); }
};

// Called on the thread of the sockets for each request's head, before its body is read. Does not throw.
using Admit = std::function<Admission(const ApiRequest&)>;

class HttpServer {
 public:
  // Listens. Refuses `unavailable`: the address is taken, or is not one of this machine.
  static Result<std::unique_ptr<HttpServer>> open(const ListenAddress& address, ServerLimits limits, Admit admit);
  ~HttpServer();

  ListenAddress address() const;  // with the port it got

  // Serves until SIGINT or SIGTERM; then finishes the requests that have begun and accepts no others. Those that last
  // for seconds more, or until a second signal, are hurried by `give_up`, called on the thread of the sockets.
  void run(std::function<void()> give_up);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
