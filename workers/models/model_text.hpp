// The JSON value in what a language model wrote: models think aloud first, wrap it in a Markdown fence, or add prose.
// Pure function, safe from any thread.
#pragma once

#include <string_view>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// The text as a whole if it is JSON; else what stands after its thoughts (<think>...</think>), in its first fence, or
// as its first balanced object, in this order; never a part of an object that is cut off. Looks into the first MiB, at
// 50 places. Refuses `invalid`, as parse_json does for the whole text.
Result<Json> json_in_reply(std::string_view text);

}  // namespace cairn
