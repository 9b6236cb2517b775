// Messages of JSON-RPC 2.0 as a client of the Model Context Protocol sends and reads them, and what is said about both
// sides with them: revisions, capabilities. Pure functions and plain values, safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/command.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn::mcp {

inline constexpr std::string_view newest_revision = "2026-07-28";     // since then each message says all
inline constexpr std::string_view handshake_revision = "2025-11-25";  // the last one that begins with initialize

inline constexpr int header_mismatch = -32020;
inline constexpr int unsupported_version = -32022;
inline constexpr int method_not_found = -32601;

struct Message {
  enum class Kind : std::uint8_t { request, notification, response };
  Kind kind = Kind::request;
  Json id;
  std::string method;
  Json params = Json::object();
  Json result;  // of a response; null: it is an error
  Json error;   // {"code", "message", "data"}
};

// Refuses `invalid`: no JSON, no object, or no message.
Result<Message> parse_message(std::string_view text);

// A request on its way. `id` is also its progress token.
struct Request {
  std::int64_t id = 0;
  std::string method;
  Json params = Json::object();
  std::int64_t timeout_ms = 60'000;
  std::vector<std::pair<std::string, std::string>> headers = {};  // over HTTP, besides those of every request
  std::function<void(const Json& params)> on_progress = {};       // empty: no one watches
  bool may_reopen = false;  // over HTTP, a status of 400 may mean a lost session, or a server of another revision
};

// The answer of a server: a result, or the error of the protocol.
struct Reply {
  Json result;
  Json error;  // null: there is a result
  int code() const;
  std::string message() const;  // the error's message, as one line
};

// A reply, or a failed attempt without one: `unreachable`, `timeout`, `bad_output`, `refused`, and session_gone where a
// server no longer knows the session, or speaks another revision than it did.
using Answer = Result<Reply, Failure>;
inline constexpr const char* session_gone = "session_gone";

// The hearer in a channel of the messages that are no replies.
struct Listener {
  std::function<Json(const Message& request)> respond;  // the whole response
  std::function<void(const Message& notification)> notice;
};

Json request_json(const Request& request);
Json notification_json(const std::string& method, Json params);
Json response_json(const Json& id, Json result);
Json refusal_json(const Json& id, int code, const std::string& message);

// "MCP server "NAME"", for sentences.
std::string server_named(const std::string& name);

}  // namespace cairn::mcp
