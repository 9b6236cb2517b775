// The implementations of Model without a network (http_model.hpp has the other): scripted answers, and functions of
// fixed rules (workers/rule_book.hpp). Each is used by one thread at a time.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "engine/result.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// Refuses `invalid`: a document that is not a script as make_scripted_model takes it. A model made of one fails every
// request with that sentence.
Status check_script(const Json& script);

// Answers from a JSON document: {"replies": [{"node"?: NAME, "reply": {message} | "value": ..., "error"?: {...}}]};
// each is used once, in order, the first whose node fits. Fails with `script_ended` when none fits.
std::unique_ptr<Model> make_scripted_model(const Json& script);

// The model's name on record where the rule book answers.
inline constexpr const char* rule_book_name = "rules";

// A reply of the rule book: the value, and as its message the value as JSON.
ModelReply rule_reply(Json value);

// A deterministic function in a model's place, under `name` on record.
using Rules = std::function<ModelAnswer(const ModelRequest&)>;
std::unique_ptr<Model> make_rule_model(std::string name, Rules rules);

// Thrown instead of an answer: a session that serves the same steps has a language model, and here is only the rule
// book. It is no attempt: the step is left to that session, so that it does not depend on who claims it first.
struct ModelIsElsewhere : std::exception {
  const char* what() const noexcept override { return "A language model answers elsewhere."; }
};
// Asks `rules` while no model is elsewhere, else throws. REQUIRES: both outlive it.
std::unique_ptr<Model> make_yielding_model(Model& rules, const std::atomic<bool>& is_elsewhere);

}  // namespace cairn
