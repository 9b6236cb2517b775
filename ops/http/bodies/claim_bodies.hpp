// Bodies of the routes for workers that claim over HTTP. As bodies.hpp: each function refuses `invalid` with one
// sentence. Safe from any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/http/transport/message.hpp"
#include "workers/gateway/gateway.hpp"

namespace cairn {

inline constexpr std::size_t claims_max = 1'000;           // of one request, claimed or reported
inline constexpr std::int64_t claim_wait_ms_max = 60'000;  // proxies close what is silent for longer
inline constexpr std::size_t declared_max = 1'000;         // handlers, and tools
inline constexpr std::size_t about_bytes_max = 4'000;

// {"worker", "session"?, "queues", "handlers"?, "tools"?, "max"?, "wait_ms"?, "finished"?, "blobs"?, "close"?}; a
// handler is a name or {"name", "version"?, "labels"?, "reads"?, "plan"?}, a tool a name or {"name", "queue"?,
// "about"?}.
Result<Ask> claims_body(const ApiRequest& request, const std::string& caller);

// One report by itself. `complete`: {"label"?, "patch"?, "facts"?} or {"outputs"}, with "blobs"? as in the request
// above; `fail`: {"error", "message"?,
// "again"?, "retry_ms"?, "facts"?}; `release`: {"retry_ms"?}.
struct Completed {
  Ask::Report report;
  bool by_reference = false;
};
Result<Completed> complete_body(const ApiRequest& request, const ClaimId& claim);
Result<Ask::Report> fail_body(const ApiRequest& request, const ClaimId& claim);
Result<Ask::Report> release_body(const ApiRequest& request, const ClaimId& claim);

// {"session", "claims", "progress"?: {CLAIM: TEXT}}
struct ClaimsHeard {
  SessionId session = 0;
  std::vector<ClaimId> claims;
  std::map<std::string, std::string> progress;  // by the claim's text
};
Result<ClaimsHeard> heartbeat_body(const ApiRequest& request);

}  // namespace cairn
