// Checks on what comes out of a task, a run's document, which is `cairn show` with {"events": {TYPE: COUNT}}.
// Pure functions, safe from any thread.
//
// A check: {"at": PLACE, and one of
//   "is": VALUE, "in": [VALUES]          a value at the place is equal to it, or to one of them
//   "has": TEXT | [TEXTS]                its text has all of them, whatever their case
//   "has_any": [TEXTS], "lacks": TEXT | [TEXTS]   one of them, or none
//   "says": NUMBER | [NUMBERS]           its text has these numbers, however they are written (1,234.50 = 1234.5)
//   "number": NUMBER, "within"?: SHARE   it is this number, or differs by at most this share of it
//   "count": N, "at_least": N, "at_most": N   how many values the place has; of a list or an object alone, its members
// PLACE is a JSON pointer; `*` in it stands for each member of a list or an object. One value that fits is enough, but
// for `lacks`, which all must.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// Refused as `invalid`: no list of checks, or one of them is none.
Status verify_checks(const Json& checks);

// Refuses `conflict`: a check does not hold; the sentence has the first one. REQUIRES: verify_checks(checks).
Status hold_checks(const Json& checks, const Json& document);

// The numbers in a text.
Json numbers_in(const std::string& text);

}  // namespace cairn
