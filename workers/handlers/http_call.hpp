// `http.call`: one call of an HTTP API by a step, for authors without C++. Safe from any thread.
#pragma once

#include "workers/handlers/handler.hpp"

namespace cairn {

// The need of a worker that lacks it, as the end of a sentence.
inline constexpr const char* http_call_need = "a worker has it whose tools file has \"urls\" in \"builtin\"";

// {"url", "method"?: "GET", "query"?, "headers"?, "body"? | "form"? | "text"?, "auth"?, "ok"?: ["2xx"], "keep"?,
//  "as"?: "json" | "text", "timeout_ms"?, "max_bytes"?, "into"?: "response"} -> ok
// One attempt is one request, on record as `tool_called`; {"status", "headers"?, "body"} goes to the channel `into`.
// Fails as call_url does, and by `http_404` and the like for a status that is not among `ok`: retryable are 408, 429
// and 5xx, no earlier than their Retry-After says. `is_here`: this process has URLs that it may call.
Handler http_call_handler(bool is_here);

}  // namespace cairn
