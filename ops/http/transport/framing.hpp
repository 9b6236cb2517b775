// The framing of requests: which heads and bodies are refused, with which status, and a head as a value. Safe from any
// thread. Sources: RFC 9110, RFC 9112 (section 6.3, the length of a body; section 11.2, request smuggling).
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <optional>

#include "engine/result.hpp"
#include "ops/http/transport/message.hpp"

namespace cairn {

using RequestMessage = boost::beast::http::request<boost::beast::http::string_body>;

struct RequestBounds {
  std::size_t header = 0;  // bytes
  std::size_t body = 0;
  std::chrono::seconds time{};  // until all of it has come
};

// The answer to a request that could not be read: 413 and 431 above these bytes, 408 after that time, 400 else.
ApiResponse fault_response(const boost::system::error_code& fault, const RequestBounds& at_most);

// Refuses a request of which it is unclear where it ends, or which host it is for: a proxy in front of this server may
// read it differently and take a piece of its body for a request. Nothing is read after such a request.
ApiStatus check_framing(const RequestMessage& message);

// Whether the fault is one of the bytes, not of the connection.
bool is_malformed(const boost::system::error_code& fault);

// The request without its body and its peer. Refuses as request_of().
Result<ApiRequest> read_head(const RequestMessage& message);

}  // namespace cairn
