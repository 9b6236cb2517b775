// The question of a run, read into the region, the currency, the product and the period that it names: by a model, or
// by word rules in its place. A part counts if it stands in the question, and never takes the place of a given one.
// Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

inline constexpr const char* question_schema = "MarketQuestion";

Json question_messages(const std::string& question, const std::string& fault);
// The JSON Schema of {"region", "currency", "product", "period"}; "" where the question names none.
Json question_reply();

// The word rules' reply: "... market for PRODUCT in REGION in 2025 ..., in EUR". They know a few ways to ask.
Json read_question_by_rules(const std::string& question);

// The part of a reply that stands in the question, so that it can be used.
Json admitted_question(const std::string& question, const Json& reply);

// The path of the profile's field that is the question's product ("reads": "product"); "" none.
std::string product_field(const Json& fields);

}  // namespace cairn
