// Answers with the console's files: the page itself, and what it loads. They hold nothing of the database: the page
// asks the API, with the token that its reader gives. Safe from any thread.
#pragma once

#include <string_view>

#include "engine/result.hpp"
#include "ops/http/transport/message.hpp"

namespace cairn {

// With a policy that lets the page load from here alone. Where the program was built without the console, a page that
// says how to build it.
ApiResponse console_page_response(const ApiRequest& request);

// To be kept for good, as the name has the hash of the content. Refuses `not_found`.
Result<ApiResponse> console_file_response(const ApiRequest& request, std::string_view name);

}  // namespace cairn
