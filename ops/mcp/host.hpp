// The program around the protocol, as one caller may use it. Everything that is asked goes through the routes of
// the API, so that roles, scopes, quotas and sentences are the same at every door. Safe from any thread if its
// functions are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "ops/http/transport/message.hpp"
#include "ops/requests/access.hpp"
#include "storage/store.hpp"

namespace cairn {

struct McpHost {
  std::string caller;                                 // its name, which is part of a run's key
  std::function<bool(ApiRole)> may;                   // whether the caller has the role
  std::function<ApiResponse(const ApiRequest&)> ask;  // the API's answer to the caller; does not throw
  std::function<std::vector<GraphRef>()> graphs;      // current versions that the caller's scope covers, by name
  using Head = std::function<std::optional<RunHead>()>;
  std::function<Head(const RunId&)> follow;  // how far the run is; nothing: not looked at yet
  std::int64_t wait_ms = 30'000;             // how long a call waits for its run
  std::string console_url;                   // where people reach the console; "": it is not known
};

using McpHostRef = std::shared_ptr<const McpHost>;  // shared: a call that waits outlives the message that began it

// A request of the API without a body, and one with.
ApiRequest api_get(std::vector<std::string> segments, std::vector<std::pair<std::string, std::string>> query = {});
ApiRequest api_post(std::vector<std::string> segments, const Json& body);

// The sentence of a refusal; "": the response is none.
std::string refusal_of(const ApiResponse& response);

}  // namespace cairn
