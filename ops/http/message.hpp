// Requests and answers of the API as values, without a socket in sight. Safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct ApiRequest {
  std::string method;
  std::vector<std::string> segments;  // of the path, decoded
  std::vector<std::pair<std::string, std::string>> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const;  // "": it has none
};

// Refuses `invalid`: a target that is no path, or whose path or query is no UTF-8 or has a NUL.
Result<ApiRequest> request_of(const std::string& method, const std::string& target);

struct ApiResponse {
  unsigned status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

ApiResponse json_response(const Json& document, unsigned status = 200);

// {"error": {"code", "message"}}
ApiResponse error_response(unsigned status, std::string_view code, const std::string& message);
// The one table from refusals to statuses: invalid 400, not_found 404, unavailable 503 (with Retry-After), unsupported
// 501, corrupt 500, all others 409.
ApiResponse error_response(const Error& error);

// An answer without an end of its own: `next` is asked again and again for what there is to say by now.
struct ApiStream {
  struct Chunk {
    std::string text;      // "": nothing new
    bool is_last = false;  // nothing can come behind it
  };
  std::string type;
  std::string pulse;                           // said when there was nothing to say for a while
  std::function<std::optional<Chunk>()> next;  // nothing: it broke
};

using ApiAnswer = std::variant<ApiResponse, ApiStream>;

}  // namespace cairn
