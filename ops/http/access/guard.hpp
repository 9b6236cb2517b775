// Access control of the API: with tokens, every client that shows one that is known, under its name and with its
// rights; without any, only clients on this machine, and no page of a browser that was loaded from elsewhere. A client
// that shows wrong tokens waits longer each time, and is logged and counted. Safe from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "ops/http/access/token_book.hpp"
#include "ops/http/transport/message.hpp"
#include "ops/requests/listen_address.hpp"

namespace cairn {

// The protection of the way to the API.
struct Transport {
  bool is_tls = false;
  bool plain_allowed = false;  // --plain-http
};

// Refuses `unsupported` an address that other machines can reach: without a token in the environment or the table, or
// without TLS where plain HTTP was not asked for by name; `invalid`: with a token in the environment that is short.
Status check_listening(const ListenAddress& address, const Transport& transport, const std::string& environment,
                       bool has_tokens);

class Guard {
 public:
  // `tokens` lives longer.
  Guard(TokenBook& tokens, bool is_tls) : tokens_(tokens), is_tls_(is_tls) {}

  using Verdict = std::variant<CallerRef, ApiResponse, ApiDelay>;
  // The caller; or a delay after a token that is not known (yet), after which it is asked again; or the refusal: 401
  // without a known token (where `is_open`, none is needed); 403 without tokens for a Host that is no loopback name, an
  // Origin that is another host, or a page of another site.
  Verdict judge(const ApiRequest& request, bool is_open);

  std::int64_t wrong_tokens() const { return wrong_tokens_; }  // since the start

 private:
  // Wrong tokens of one peer.
  struct Failures {
    int count = 0;
    std::chrono::steady_clock::time_point last;
  };
  ApiStatus check_origin(const ApiRequest& request) const;
  Failures& failures_of(const std::string& peer);
  std::chrono::milliseconds delay_of(const std::string& peer);
  void note_failure(const std::string& peer);

  TokenBook& tokens_;
  bool is_tls_;
  std::atomic<std::int64_t> wrong_tokens_ = 0;
  std::mutex mutex_;
  std::map<std::string, Failures> failures_;  // by peer, at most a thousand
};

}  // namespace cairn
