// The attributes of a call of a language model, by the GenAI conventions of OpenTelemetry, from the fields of its
// `model_called`. A field that is missing or of another type is left out. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "ops/traces/span.hpp"

namespace cairn {

// The text as recordable() has it (engine/bounds.hpp): at most span_text_bytes_max bytes, and whole characters.
std::string cut_text(std::string text);

// The model that was asked, else the one that answered; "": neither is known.
std::string asked_model(const Json& fields);

// All but the contents.
void add_model_call(SpanAttributes& to, const Json& fields);
// Messages asked and answered, as the conventions have them: role and parts, and why the answer ended. Each list is
// whole JSON of at most span_text_bytes_max bytes: longer texts are cut, and the oldest messages left out and counted.
void add_model_contents(SpanAttributes& to, const Json& fields);

}  // namespace cairn
