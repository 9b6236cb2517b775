// The Model Context Protocol as a function from a message to its answer, for every transport. It keeps no state: what a
// call has begun is a run, and everything else is in the message. Safe from any thread if the host is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"
#include "ops/mcp/run_call.hpp"

namespace cairn {

struct McpReply {
  std::optional<Json> message;    // nothing: there is no answer, or a call gives it
  unsigned status = 200;          // of HTTP; 202 without an answer
  std::string session;            // that `initialize` has begun; "": none
  std::unique_ptr<RunCall> call;  // gives the messages that follow, the last of which is the answer; null: none
  Json cancelled = nullptr;       // the id of a request that the client wants no answer to any more; null: none
  std::optional<RunId> declined;  // the run of which a person has declined a question, or the client could not show it
};

// `header`: empty on stdio, where `session` is what the reply to `initialize` said.
McpReply answer_message(const McpHostRef& host, std::string_view text, const McpHeader& header,
                        const std::string& session);

// Cancels the run that this request of the session has started, whichever process began it, if the caller may.
void cancel_call(const McpHost& host, const std::string& session, const Json& request_id);

}  // namespace cairn
