// References: the words in a node's settings that stand for a value of the run. Pure functions, safe from any thread.
//
//   "$channel", "$channel/json/pointer"         the value itself, where this is the whole text
//   {"$": "channel/pointer", "default": value}  the same, and what stands there if it is missing
//   "Total {{order/total}} for {{name|you}}"    a text with values in it; what follows the bar is the default
//   "$$x"                                       the text "$x";  "{{{{" in a text stands for "{{"
//
// A text goes into a text as it is, any other value as JSON. In braces a reference is made of letters, digits and
// "_-./~:"; others stay as they are. Language 1 knows the first and the last form only ("$$x"), and gives null for what
// is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/json_value.hpp"
#include "engine/result.hpp"

namespace cairn {

// The value of a channel; nothing if nothing was written.
using ReadChannel = std::function<std::optional<Json>(std::string_view channel)>;

// The value that "channel" or "channel/json/pointer" names; nothing if it is missing. A null that was written is there.
std::optional<Json> referred(std::string_view reference, const ReadChannel& read);

// The setting with every reference in it replaced. Refuses `invalid` for one that is missing and has no default,
// `limit` as CompositionBound (json.hpp) does.
Result<Json> resolve_references(const Json& setting, const ReadChannel& read, std::int32_t language);

// Each reference in the setting, in the newest language; `may_lack` if it has a default.
using SeeReference = std::function<void(std::string_view reference, bool may_lack)>;
void each_reference(const Json& setting, const SeeReference& see);
bool has_reference(const Json& setting);

// The key besides "$" and "default" for which an object is no reference, but stands for itself; "" if there is none.
std::string stray_key(const Json& setting);

// "{{" and the name after it, in the first text that never closes them; "" if there is none.
std::string unclosed_reference(const Json& setting);

}  // namespace cairn
