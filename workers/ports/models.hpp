// The implementations of Model: any OpenAI-compatible chat-completions endpoint over HTTP or HTTPS, scripted answers,
// and functions of fixed rules (workers/rule_book.hpp). Each is used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/result.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

struct ModelEndpoint {
  std::string url;  // http(s)://host[:port]/v1 ; "/chat/completions" is added
  std::string model;
  std::string api_key;  // never reaches an event or a log
  std::int64_t timeout_ms = 60'000;
  double cost_in = 0;  // per million tokens
  double cost_out = 0;
};

std::unique_ptr<Model> make_http_model(ModelEndpoint endpoint);

// Refuses `invalid`: a document that is not a script as make_scripted_model takes it. A model made of one fails every
// request with that sentence.
Status check_script(const Json& script);

// Answers from a JSON document: {"replies": [{"node"?: NAME, "reply": {message} | "value": ..., "error"?: {...}}]};
// each is used once, in order, the first whose node fits. Fails with `script_ended` when none fits.
std::unique_ptr<Model> make_scripted_model(Json script);

// The model's name on record where the rule book answers.
inline constexpr const char* rule_book_name = "rules";

// A reply of the rule book: the value, and as its message the value as JSON.
ModelReply rule_reply(Json value);

// A deterministic function in a model's place, under `name` on record.
using Rules = std::function<ModelAnswer(const ModelRequest&)>;
std::unique_ptr<Model> make_rule_model(std::string name, Rules rules);

}  // namespace cairn
