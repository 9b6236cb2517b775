// The type of every JSON value in this program: a plain value, of which copies may go to any thread.
#pragma once

#include <nlohmann/json.hpp>

namespace cairn {

using Json = nlohmann::json;

}  // namespace cairn
