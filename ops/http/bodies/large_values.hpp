// Large values of steps that are executed over HTTP, apart from the requests about them: {"$blob": HASH, "bytes": N}
// stands for a value that GET /blobs/HASH gives and PUT /blobs/HASH keeps. Safe from any thread.
#pragma once

#include "ops/http/transport/message.hpp"
#include "storage/store.hpp"
#include "workers/gateway/gateway.hpp"

namespace cairn {

// The value in the body, in the form in which it is kept. Refuses `invalid`: no JSON, or another one's hash.
Result<std::string> large_value(const ApiRequest& request, const Hash& hash);

// The reference that stands for it.
Json reference_to(const Hash& hash, std::size_t bytes);

// Replaces references by their values. Refuses `invalid`: one is not kept; `limit`: they are too large
// together.
Status take_values(Ask::Report& report, Store& store);

}  // namespace cairn
