// An HTTP/1.1 server: one thread for all sockets, a few for the work, and a limit on everything that a client may send,
// open or wait for. Independent of what the requests mean. Used from one thread, except stop().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ops/http/transport/message.hpp"
#include "ops/requests/listen_address.hpp"

namespace cairn {

struct ServerLimits {
  std::uint64_t body_bytes = 1 << 20;
  std::uint32_t header_bytes = 16 * 1024;
  int connections = 256;                 // the next one takes the place of the one that waits longest for a request
  int peer_connections = 64;             // of one address of another machine
  std::chrono::seconds request{10};      // from a request's first byte to its last
  std::chrono::seconds first{10};        // from the connection's begin to its first request's first byte
  std::chrono::seconds idle{60};         // until the first byte of each later one
  std::chrono::seconds write{30};        // for each piece of an answer to be taken
  std::chrono::seconds queued{5};        // until a thread begins with a request; otherwise 503
  std::chrono::seconds probe{2};         // until a request of the lane `probes` is answered; otherwise 503
  int threads = 4;                       // of the lane `work`
  std::size_t unsent_bytes = 128 << 20;  // of larger answers that clients have not taken yet; beyond them 503
  bool peers_of_here = false;            // peer_connections holds for this machine's addresses, too
  bool hears_signals = true;             // SIGINT and SIGTERM stop it; if false, only stop() does

  // Streams at once; the remaining connections are kept for requests that end by themselves.
  int streams() const { return connections - (connections + 7) / 8 + (connections == 1 ? 1 : 0); }
};

// A certificate with its chain and its private key, as PEM files; empty: no TLS.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

// Called on the thread of the sockets for each request's head, before its body is read. Does not throw.
using Admit = std::function<Admission(const ApiRequest&)>;

class HttpServer {
 public:
  // Listens; with TLS 1.2 or later if there are files, which SIGHUP reads again. Refuses `unavailable`: the address is
  // taken, or is not one of this machine; `invalid`: the files are no certificate and its key.
  static Result<std::unique_ptr<HttpServer>> open(const ListenAddress& address, ServerLimits limits, Admit admit,
                                                  const TlsFiles& tls = {});
  ~HttpServer();

  ListenAddress address() const;  // with the port it got

  // Serves until stop(), or SIGINT or SIGTERM where it hears them; then finishes the requests that have begun and
  // accepts no others. Requests that last for seconds more, or until another signal, are hurried by `give_up`, called
  // on the thread of the sockets.
  void run(std::function<void()> give_up);
  void stop();  // from any thread

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
