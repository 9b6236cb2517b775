// The settings of the API. Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

// The largest graphs that a caller without the role admin may bring.
struct GraphLimits {
  std::int64_t steps = 1'000'000;  // `limits.steps`
  std::int64_t attempts = 1'000;   // `retry.attempts` of a node
};

struct ApiOptions {
  bool is_tls = false;
  int threads = 4;  // that answer at once
  GraphLimits graphs = {};
  std::int64_t mcp_wait_ms = 30'000;  // how long a tool's call waits for its run
  std::string console_url = "";       // where people reach the console, for agents that lead them there; "": not known
  std::int64_t patience_ms = 2'000;   // with a database that fails: a client asks again itself
};

}  // namespace cairn
