// Large values of steps that are executed over HTTP, apart from the requests about them: {"$blob": HASH, "bytes": N}
// stands for a value that GET /blobs/HASH gives and PUT /blobs/HASH keeps. Safe from any thread.
#pragma once

#include "ops/http/transport/message.hpp"
#include "storage/store.hpp"
#include "workers/gateway/ask.hpp"

namespace cairn {

// The value in the body, in the form in which it is kept. Refuses `invalid`: no JSON, or another one's hash.
Result<std::string> large_value(const ApiRequest& request, const Hash& hash);

// The reference that stands for it.
Json reference_to(const Hash& hash, std::size_t bytes);

// Puts the values that the reports of one request refer to in their places. A reference costs a few bytes and stands
// for megabytes, so that they are bounded for each report, and for all of a request together.
class ReportValues {
 public:
  explicit ReportValues(Store& store) : store_(store) {}

  // Refuses `invalid`: one is not kept; `limit`: they are too large together.
  Status put_into(Ask::Report& report);

 private:
  Store& store_;
  std::size_t left_ = 2 * composed_bytes_max;  // bytes; never none, as values without references need none
};

}  // namespace cairn
