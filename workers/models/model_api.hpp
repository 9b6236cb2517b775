// The two forms of the API of OpenAI-compatible endpoints: chat completions, and responses. A request is made of a
// ModelRequest, an answer read into a Completion, whose message has the form of chat completions in both.
// Sources: the public API references of /v1/chat/completions and /v1/responses. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
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
  bool streams = true;   // the answer comes while it is written: an endpoint stops writing when the caller hangs up
  bool asks_use = true;  // a stream is to end with what it used (stream_options of chat completions)
};

// Added to the endpoint's URL.
const char* path_of(ModelApi api);

Json request_body(ModelApi api, const ModelRequest& request, const std::string& model, AskedForm form);

struct Completion {
  std::string id;             // "": the endpoint gave none
  std::string model;          // likewise
  Json message;               // {"role": "assistant", "content", "tool_calls"?, "refusal"?}
  std::string finish_reason;  // stop, length, content_filter, tool_calls ...
  std::string broken_by;      // what ended the reply before it was whole; "": nothing did
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  std::int64_t tokens_cached = 0;     // of tokens_in
  std::int64_t tokens_reasoning = 0;  // of tokens_out
};

// Fails as `bad_reply` if the answer holds no message; as broken_off() says if it is an error.
Result<Completion, Failure> read_completion(ModelApi api, const Json& answer);

// An endpoint's error, an object or a text, in place of a reply or of its rest: `refused`, retryable; `bad_reply` if it
// says that it could not use what the model wrote.
Failure broken_off(const Json& error);

// Whether an error says that the model's reply could not be used (codes json_validate_failed and tool_use_failed, with
// `failed_generation`); and the `bad_reply` that it is then.
bool is_failed_generation(const Json& error);
Failure failed_generation(const Json& error);

}  // namespace cairn
