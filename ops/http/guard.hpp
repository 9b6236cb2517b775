// Who may ask the API: with a token whoever knows it, without one whoever is on this machine and no page of a browser
// that came from elsewhere. Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/http/message.hpp"

namespace cairn {

struct ListenAddress {
  std::string ip;
  std::uint16_t port = 0;  // 0: a free one
};

// "127.0.0.1:8080", "[::1]:8080", "localhost:8080". Throws CLI::ValidationError for anything else.
ListenAddress listen_argument(const std::string& text);
std::string to_string(const ListenAddress& address);  // as it is given

class Guard {
 public:
  // `token` "": none. Refuses `unsupported`: no token for an address that others can reach.
  static Result<Guard> make(const ListenAddress& address, std::string token);

  // The answer to one who may not ask: 401 without the token (where `is_open`, none is needed); 403 for a Host that is
  // no loopback name, or an Origin that is another one.
  std::optional<ApiResponse> refusal(const ApiRequest& request, bool is_open) const;

 private:
  explicit Guard(std::string token) : token_(std::move(token)) {}
  std::string token_;
};

}  // namespace cairn
