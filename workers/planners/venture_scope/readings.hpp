// Readings: values that documents give for a field, made by a model or by the word rules. They are admitted only if
// they can be checked against the passage, and kept with their weights; one of them is chosen. Pure functions, safe
// from any thread.
//
// A reading as a model gives it: {"field": PATH, "passage": NUMBER from 0, "value": as written, "scale": 1, 1e6 ...,
// "unit", "currency", "period": year, "quote": words of the passage}.
// An admitted one: {"value", "low"?, "high"?, "currency", "period", "quote", "title", "source", "place", "hedge"?,
// "per"?, "names_region", "by", "weight"}.
#pragma once

#include <string>
#include <vector>

#include "workers/planners/venture_scope/evidence.hpp"
#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

inline constexpr const char* extraction_schema = "PassageReadings";

// The description of the field's numbers for the word rules.
Sought sought_of(const Venture& venture, const std::string& path);

// The fields that a search's passages are read for: the one that was searched for, then other missing ones that may be
// searched.
std::vector<std::string> fields_to_read(const Venture& venture, const std::string& path);

// The data of the prompt: {"fields": [...], "passages": [{"passage", "title", "source", "text"}]}.
Json extraction_data(const Venture& venture, const std::vector<std::string>& paths, const Json& hits);
// The JSON Schema of {"readings": [reading]}.
Json extraction_reply(const std::vector<std::string>& paths);
// The word rules' reply for such data; they read for the first field alone.
Json extract_by_rules(const Json& data);

// The reading as it is kept. Refuses `invalid`: its quote is not in the passage, its number not in the quote, or the
// number is none for the field.
Result<Json> admit_reading(const Venture& venture, const Json& reading, const Json& hits, const std::string& by);

// The choice among admitted readings of one field: values within 2 % of each other support each other, once for each
// source, and the group with the greatest weight wins.
struct Choice {
  Json readings;       // all, with their weights, the heaviest first
  Json chosen;         // one of them
  std::string reason;  // one sentence
  bool is_disputed = false;
};
// REQUIRES: `readings` is not empty.
Choice choose_reading(const Venture& venture, const std::string& path, Json readings);

}  // namespace cairn
