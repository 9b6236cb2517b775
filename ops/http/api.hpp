// The HTTP API: one table from method and path to a function, each of which answers with the JSON that the command
// prints with --json. A refusal is answered as {"error": {"code", "message"}}. Safe from any thread.
#pragma once

#include <memory>

#include "ops/http/guard.hpp"
#include "ops/http/message.hpp"
#include "ops/service/database.hpp"

namespace cairn {

class Api {
 public:
  // With a client for each of `threads` threads. `opened` lives longer.
  Api(Opened& opened, Guard guard, int threads);
  ~Api();

  // Resolves the route from the request's head. Answers at once what needs no work: refusals of the guard, of a path
  // (404), a method (405) and a type of body (415), and /healthz. Everything else is admitted with its work, which
  // blocks; at most `threads` of the lane `work` at once. A failure there is an answer too: 503 when the database is
  // away, otherwise 500, with the reason in the log.
  Admission admit(const ApiRequest& request);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
