// Messages of JSON-RPC 2.0 as the Model Context Protocol uses it: one message, never a batch. Pure functions and plain
// values, safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

namespace rpc {
inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal_error = -32603;
inline constexpr int resource_not_found = -32002;  // before 2026-07-28; invalid_params since
inline constexpr int header_mismatch = -32020;
inline constexpr int missing_capability = -32021;
inline constexpr int unsupported_version = -32022;
}  // namespace rpc

namespace http_status {
inline constexpr unsigned accepted = 202;
inline constexpr unsigned bad_request = 400;
inline constexpr unsigned not_found = 404;
inline constexpr unsigned conflict = 409;
inline constexpr unsigned refusals_begin = 400;
inline constexpr unsigned failures_begin = 500;
}  // namespace http_status

// A refusal as the client reads it. `status`: that of HTTP.
struct RpcError {
  int code = rpc::internal_error;
  std::string message;
  unsigned status = 200;
  Json data = nullptr;  // null: none
};

RpcError bad_params(const std::string& sentence);
RpcError bad_cursor();  // of a list

struct RpcMessage {
  enum class Kind { request, notification, response };
  Kind kind = Kind::request;
  Json id = nullptr;  // a text or an integer; null: a notification
  std::string method;
  Json params = Json::object();
  Json result = nullptr;  // of a response; null: it is an error

  const Json& meta() const;  // params._meta; an empty object without
};

// The id of a message that was refused, as far as it can be read; null if not.
struct RpcRefusal {
  RpcError error;
  Json id = nullptr;
};

// Refuses what is no JSON, an array, and an object that is no message.
Result<RpcMessage, RpcRefusal> parse_message(std::string_view text);

Json result_message(const Json& id, Json result);
Json error_message(const Json& id, const RpcError& error);
Json request_message(const Json& id, const std::string& method, Json params);
Json notification_message(const std::string& method, Json params);

}  // namespace cairn
