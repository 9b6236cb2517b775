// The ports: a handler's only ways out of the process, the model and the tools. Calls carry an idempotency key, because
// a step may run more than once (at least once delivery). A failed call is a Failure; a retryable one is tried again
// by the engine with the node's exponential backoff. Within one call, and within its time, a model port asks again
// after a rate limit and after a refused form of the request. Used by the worker's serial executor, one thread at a
// time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/command.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/progress_board.hpp"

namespace cairn {

using TakeWritten = std::function<void(std::string_view more)>;

struct ModelRequest {
  std::string model;            // "": the port's default
  Json messages;                // chat-completions form: [{"role", "content", ...}]
  Json schema;                  // JSON Schema of the reply's content; null: free text
  std::string schema_name;      // for structured output
  Json tools;                   // function schemas; null: none
  Json options;                 // more fields of the request, as the endpoint knows them: {"reasoning_effort": "high"}
  std::string key;              // idempotency key, sent to the endpoint
  std::string node;             // the asking node; scripted answers may go by it
  std::int64_t timeout_ms = 0;  // for the answer, with all that leads to it; 0: the port's own
  // Makes what takes an answer's text while it streams, piece by piece; called for each answer that begins to stream.
  // Empty: no one watches. It may be called with a part of an answer that is refused or cut later.
  std::function<TakeWritten()> watch = {};
};

struct ModelReply {
  std::string model;  // as the endpoint named it
  Json message;       // the assistant message, unchanged
  Json value;         // the content parsed and checked against the schema; a string without one
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  std::int64_t tokens_cached = 0;     // of tokens_in
  std::int64_t tokens_reasoning = 0;  // of tokens_out
  std::string finish_reason = {};     // stop, length, tool_calls ...; "": it did not say
  std::string response_id = {};       // the endpoint's
  double cost = 0;
  std::int64_t latency_ms = 0;
};

// The answer to a request. A failed one may have a reply too: a reply that misses its schema has its cost all the same.
struct ModelAnswer {
  ModelAnswer() = default;
  ModelAnswer(ModelReply given) : reply(std::move(given)) {}
  ModelAnswer(Failure why, ModelReply given = {}) : reply(std::move(given)), failure(std::move(why)) {}

  ModelReply reply;
  std::optional<Failure> failure;
};

// A language model. Failures: `unreachable` (no answer), `refused` (by the endpoint or the model), `bad_reply` (no
// JSON, or a miss of the schema). Retryable are `bad_reply`, no answer, and the statuses 408, 429 and 5xx.
class Model {
 public:
  virtual ~Model() = default;
  virtual boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) = 0;
};

struct ToolCall {
  RunId run;
  StepId step = 0;
  std::string sub_goal;
  std::string tool;
  std::int32_t attempt = 1;
  std::string key;  // idempotency key
  Json inputs = Json::object();
  std::int64_t timeout_ms = 0;  // 0: the tool's own
  // Takes what the tool says of its progress, on the caller's thread, until the call has ended. Empty: no one watches.
  std::function<void(std::string_view text)> progress = {};
};

inline constexpr const char* http_call_name = "http.call";

// The outputs of a call, a JSON object, or why it failed.
using ToolAnswer = Result<Json, Failure>;

// Tools by name: native functions, programs, URLs. Answers are JSON objects.
class Tools {
 public:
  virtual ~Tools() = default;
  virtual boost::asio::awaitable<ToolAnswer> call(ToolCall call) = 0;
  // One call of an HTTP API for the handler http.call (http_calls.hpp), which no sub-goal can make. Here: `refused`.
  virtual boost::asio::awaitable<ToolAnswer> call_http(ToolCall call);
  virtual const ToolTable& table() const = 0;  // queues and preconditions, which commands carry to the engine
  // The means that the worker's settings give or do not give, as far as the call needs some: "tool NAME", "url URL", as
  // workers/means.hpp has it. A call whose inputs are of no form needs none.
  virtual std::vector<std::string> needs_of(const ToolCall& call) const { return {"tool " + call.tool}; }
};

class Ports {
 public:
  // `board` null: what steps say of their progress goes nowhere, as in tests, replays and the simulator.
  Ports(Model& model, Tools& tools, ProgressBoard* board = nullptr) : model_(model), tools_(tools), board_(board) {}
  Model& model() { return model_; }
  Tools& tools() { return tools_; }

  // Those of one step.
  Ports of_step(ProgressBoard::Slot slot) const {
    Ports own(*this);
    own.slot_ = slot;
    return own;
  }
  // Shows those who follow the run a text of this step in place of the one before: the answer as far as it is written,
  // or "page 3 of 10". It may be cut to its end, some of many may be left out, and it is gone with the attempt: nothing
  // reads it but people. Called by the step's coroutine, on the thread that runs it.
  void progress(std::string_view text) {
    if (takes_progress()) board_->say(slot_, text);
  }
  bool takes_progress() const { return board_ != nullptr && slot_ != 0; }

 private:
  Model& model_;
  Tools& tools_;
  ProgressBoard* board_ = nullptr;
  ProgressBoard::Slot slot_ = 0;  // 0: of no step
};

// The fact of a call. Its `inputs_hash` is the SHA-256 of the inputs with every reference replaced by its value.
Record tool_called(const ToolCall& call, bool ok, std::int64_t latency_ms);

}  // namespace cairn
