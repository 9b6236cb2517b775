// Streamed answers of OpenAI-compatible endpoints: server-sent events (text/event-stream), whose data are chunks of a
// chat completion, or the events of the responses API. Sources: the public API references of both, and the HTML
// standard's section on server-sent events. Pure functions, safe from any thread; StreamedText is not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/models/event_stream.hpp"
#include "workers/models/model_api.hpp"

namespace cairn {

// The answer as the endpoint gives it without streaming, for read_completion(). Fails as `bad_reply`, if an event is no
// JSON or the stream ended before the answer was whole; as `refused`, if the endpoint broke it off with an error; as
// `limit`, not retryable, if one event alone is longer than json_bytes_max.
Result<Json, Failure> answer_of_stream(ModelApi api, std::string_view stream);

// The answer's text while it streams, for those who watch. It passes over events that it cannot read: whether the
// answer is whole and right, answer_of_stream() says at its end.
class StreamedText {
 public:
  explicit StreamedText(ModelApi api) : api_(api) {}
  // The text that further bytes of the stream bring; "" for none.
  std::string add(std::string_view more);

 private:
  ModelApi api_;
  EventStream events_;
};

}  // namespace cairn
