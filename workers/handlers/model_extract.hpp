// `model.extract`: values out of a text, by a model and checked against a JSON Schema. Safe from any thread.
#pragma once

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// {"text", "schema", "about"?, "model"?, "into"?: "extracted", "set"?: {CHANNEL: POINTER}} -> ok
// The value goes to the channel `into`, its parts to those of `set` (null for one that is not there). A reply that is
// no value of the schema is sent back once with what is wrong, in the same attempt and within its time, if that
// suffices; each call is on record. Fails as model.decide does.
Handler model_extract_handler();

// The rule book's answer: for an object, what stands after "NAME:" in a line of the text, for each property.
bool is_extract_prompt(const ModelRequest& request);
ModelAnswer answer_extract_prompt(const ModelRequest& request);

}  // namespace cairn
