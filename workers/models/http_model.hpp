// A language model behind an OpenAI-compatible endpoint, over HTTP or HTTPS. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "workers/models/model_api.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

struct ModelEndpoint {
  std::string url;  // http(s)://host[:port]/v1 ; the API's path is added
  std::string model;
  std::string api_key;          // no event or log has it: an answer with it is read with "***" in its place
  std::int64_t timeout_ms = 0;  // for a call, whatever its node allows; 0: the node's, 60 s if that has none
  double cost_in = 0;           // per million tokens
  double cost_out = 0;
  ModelApi api = ModelApi::chat_completions;
  std::optional<ReplyFormat> format = {};  // nothing: the strictest that the endpoint does not refuse
  bool streams = true;                     // where it can; a call that is given up then costs no more
};

// An endpoint that refuses a reply format by its name (400, 404, 415, 422, 501) is asked again by the next one, and by
// no stricter one from then on: for that schema, or for the whole model if it took none and refused two
// (known_forms.hpp). One that refuses stream_options is asked for streams without them; one that refuses to stream, or
// streams without saying what it used, for whole answers from then on. One that is asked too much (429, 503, also as
// the code of an error within an answer of 200) is asked again within the request's time: when it says so
// (rate_limit.hpp), else after pauses of the client's own; if the time does not suffice, the failure says how long to
// pause. A refusal of what the model wrote (json_validate_failed, tool_use_failed) is `bad_reply`, and changes no form.
// A conversation or a reply that is longer than json_bytes_max is `limit`, not retryable. The API key is found in what
// is said while it streams, too; one that is shorter than secret_bytes_min where Secrets::of_key finds it.
std::unique_ptr<Model> make_http_model(ModelEndpoint endpoint);

}  // namespace cairn
