// The commands over HTTP: one table from method and path to a function, each with the JSON that the command prints with
// --json. What is wrong with a request is told by {"error": {"code", "message"}}. Safe from any thread.
#pragma once

#include <memory>
#include <optional>

#include "ops/database.hpp"
#include "ops/http/guard.hpp"
#include "ops/http/message.hpp"

namespace cairn {

class Api {
 public:
  // With as many clients as there are threads that ask it. `opened` lives longer.
  Api(Opened& opened, Guard guard, int threads);
  ~Api();

  // Of whom nothing needs to be looked up: refusals of the guard, of a path (404), a method (405) and a type of body
  // (415), and /healthz.
  std::optional<ApiResponse> at_once(const ApiRequest& request) const;

  // Whether it only looks if the database is there: needs no client, and must not wait behind what does.
  bool is_look(const ApiRequest& request) const;

  // REQUIRES: at_once gave nothing, and not more at once than there are threads, looks apart. Blocks. A failure is an
  // answer too: 503 when the database is away, else 500, whose reason the log has.
  ApiAnswer worked_out(const ApiRequest& request);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
