// Access control of the API: with a token, every client that sends it; without one, only clients on this machine, and
// no page of a browser that was loaded from elsewhere. Safe from any thread.
#pragma once

#include <optional>
#include <string>

#include "ops/http/message.hpp"
#include "ops/requests/listen_address.hpp"

namespace cairn {

class Guard {
 public:
  // `token` "": none. Refuses `unsupported`: no token for an address that other machines can reach.
  static Result<Guard> make(const ListenAddress& address, std::string token);

  // The answer to a client without access: 401 without the token (where `is_open`, none is needed); 403 for a Host that
  // is no loopback name, or an Origin that is another host.
  std::optional<ApiResponse> refusal(const ApiRequest& request, bool is_open) const;

 private:
  explicit Guard(std::string token) : token_(std::move(token)) {}
  std::string token_;
};

// The guard with the token in CAIRN_TOKEN. Refuses as Guard::make.
Result<Guard> guard_from_environment(const ListenAddress& address);

}  // namespace cairn
