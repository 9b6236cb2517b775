// Entity tags: the mark of an answer's content, by which a client asks whether it has changed (RFC 9110, 8.8.3 and
// 13.1.2). Pure functions, safe from any thread.
#pragma once

#include <string>

#include "ops/http/transport/message.hpp"

namespace cairn {

// Whether If-None-Match names the tag, which is given without its quotes; "*" names any.
bool has_tag(const ApiRequest& request, const std::string& tag);

// The response with its ETag, which a cache may keep if it asks each time; 304 without a body to a client that has it.
ApiResponse tagged_response(const ApiRequest& request, const std::string& tag, ApiResponse response);

}  // namespace cairn
