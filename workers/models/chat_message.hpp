// Reading chat messages, as models give them and scripts imitate them, and adding to them. Pure functions, safe from
// any thread.
#pragma once

#include <cstdint>
#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// A member that is there and not null, else null; what it holds, if it is of that kind.
const Json* member_at(const Json& object, const char* key);
std::string text_at(const Json& object, const char* key);
std::int64_t count_at(const Json& object, const char* key);

// The text of a message, which some endpoints give as a list of parts.
std::string content_of(const Json& message);
bool has_tool_calls(const Json& message);

// Adds to the text of a message, also where that is a list of parts.
void add_to_message(Json& message, const std::string& more);
// Says more to the model: at the end of the last message if that is the user's, as many endpoints refuse two messages
// of one role in a row.
void add_for_model(Json& messages, const std::string& text);

// Sets the reply's value from its message, and checks it against the request's schema. A message that calls tools owes
// no content. Fails as `bad_reply`.
Result<Done, Failure> read_value(const ModelRequest& request, ModelReply& reply);

}  // namespace cairn
