// The way to `cairn serve` over HTTP. A server that is away (no answer, 429, 502, 503, 504) is asked again until the
// patience ends; a request that is not repeatable only if it cannot have had an effect. Not thread-safe.
#pragma once

#include <memory>

#include "ops/library/transport.hpp"

namespace cairn::library {

// Throws Refused `invalid`: an address or a token that is none.
std::unique_ptr<Transport> make_http_transport(const ClientOptions& options);

}  // namespace cairn::library
