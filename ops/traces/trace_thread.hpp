// The thread of `cairn serve` that sends the trace of each run when it has ended, by a consumer of the feed: runs that
// ended while no process ran are sent later, and a trace may be sent again, with the same ids. A document that the
// collector does not take now is tried again, and the consumer falls behind; left out are a document that it finds
// fault with, and a run that cannot be read. One of several processes sends at a time, and another when it ends. Used
// by the thread that made it.
#pragma once

#include <memory>

#include "ops/service/database.hpp"
#include "ops/traces/otlp_client.hpp"
#include "ops/traces/run_trace.hpp"

namespace cairn {

inline constexpr const char* traces_consumer = "otlp";  // in the feed; `cairn feed remove otlp` ends it

class TraceThread {
 public:
  // Adds the consumer, which begins now, if there is none. Refuses as Feed::add, unless it is there then. `opened`
  // outlives it.
  static Result<std::unique_ptr<TraceThread>> start(Opened& opened, OtlpEndpoint endpoint, TraceOptions options);
  ~TraceThread();  // waits for the document that is under way, ten seconds at most

 private:
  struct Parts;
  explicit TraceThread(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
