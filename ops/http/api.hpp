// The HTTP API: one table from method and path to a function, each of which answers with the JSON that the command
// prints with --json. A refusal is answered as {"error": {"code", "message"}}. Safe from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/http/access/api_options.hpp"
#include "ops/http/access/guard.hpp"
#include "ops/http/transport/message.hpp"
#include "ops/mcp/host.hpp"
#include "ops/service/database.hpp"

namespace cairn {

class Api {
 public:
  // With a client for each of the threads. Both live longer.
  Api(Opened& opened, TokenBook& tokens, const ApiOptions& options);
  ~Api();

  // From now on the routes whose answers may lag ask this one first; what it refuses, and everything while it is away,
  // is asked of the database itself. REQUIRES: it was not called before.
  void read_from(Opened replica);
  // Requests that wait for a database fail at once, as Store::give_up() has it.
  void give_up();

  // Resolves the route from the request's head. Answers at once what needs no work: refusals of the guard, of a path
  // (404), a method (405; 204 for OPTIONS), a caller without the route's role (403) and a type of body (415), and
  // /healthz. Everything else is admitted with its work, which blocks. A refusal there may be 429, beyond a quota; a
  // failure is an answer too: 503 when the database is away or memory runs out, otherwise 500, with the reason in the
  // log.
  Admission admit(const ApiRequest& request);
  // The same for a listener of probes: /healthz, /readyz and /metrics, which need no token there, and nothing else.
  Admission admit_probe(const ApiRequest& request);
  // The API for one caller as the Model Context Protocol needs it. REQUIRES: the host and its calls do not outlive
  // this.
  McpHostRef mcp_host(const CallerRef& caller);

  bool is_waited_for() const;  // some request waits for the end of a run

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The routes that need a role, for the test that each of them asks for it.
struct RouteShown {
  std::string method;
  std::string path;
  ApiRole role;
};
std::vector<RouteShown> api_routes();

}  // namespace cairn
