// The client of a message, as the message itself describes it: the revision it speaks and what it can do. The server
// remembers no client: before 2026-07-28 the client sends back a session, which says what `initialize` said; since then
// each message says all. Pure functions and plain values, safe from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/mcp/rpc.hpp"

namespace cairn {

inline constexpr std::string_view mcp_modern = "2026-07-28";
// All revisions, the newest first.
std::vector<std::string> mcp_revisions();

struct McpPeer {
  bool is_modern = false;        // 2026-07-28: no handshake, no requests from the server
  bool elicits = false;          // shows a person a form
  bool has_tasks = false;        // knows the Tasks extension
  std::string session;           // "": none
  bool opens_pages = false;      // shows a person an address to go to
  std::string traceparent = {};  // the span that the client calls under, as it says; "": none
};

// A request's headers, by lower-case name; "" without one.
using McpHeader = std::function<std::string(const std::string&)>;

// A session of today's, for a client with these capabilities. It grants nothing: it is part of a run's key, next to the
// caller, and says whether the client shows forms.
std::string new_session(const Json& capabilities);
bool session_elicits(std::string_view session);

// The header `traceparent` counts before that of _meta. `header`: empty on stdio, where `session` is that of the
// process. Refuses with 400: a revision that is not known,
// headers that differ from the message, a message of 2026-07-28 that lacks what each must have.
Result<McpPeer, RpcError> peer_of(const RpcMessage& message, const McpHeader& header, const std::string& session);

// The revision to go on with, of the one that `initialize` asked for.
std::string negotiated(const Json& asked);

}  // namespace cairn
