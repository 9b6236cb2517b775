// The two forms of the API of OpenAI-compatible endpoints: chat completions, and responses. A request is made of a
// ModelRequest, an answer read into a Completion, whose message has the form of chat completions in both.
// Sources: the public API references of /v1/chat/completions and /v1/responses. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

enum class ModelApi : std::uint8_t { chat_completions, responses };

// How a reply by a schema is asked for, from the strictest on: the endpoint holds the reply against the schema; it
// gives JSON of any shape; it knows of neither. In the last two the schema stands in the prompt.
enum class ReplyFormat : std::uint8_t { json_schema, json_object, text };

// How an endpoint is asked, as far as it differs between them.
struct AskedForm {
  ReplyFormat format = ReplyFormat::json_schema;
  bool streams = true;  // the answer comes while it is written: an endpoint stops writing when the caller hangs up
};

// Added to the endpoint's URL.
const char* path_of(ModelApi api);

Json request_body(ModelApi api, const ModelRequest& request, const std::string& model, AskedForm form);

struct Completion {
  std::string id;             // "": the endpoint gave none
  std::string model;          // likewise
  Json message;               // {"role": "assistant", "content", "tool_calls"?, "refusal"?}
  std::string finish_reason;  // stop, length, content_filter, tool_calls ...
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  std::int64_t tokens_cached = 0;     // of tokens_in
  std::int64_t tokens_reasoning = 0;  // of tokens_out
};

// Fails as `bad_reply` if the answer holds no message.
Result<Completion, Failure> read_completion(ModelApi api, const Json& answer);

}  // namespace cairn
