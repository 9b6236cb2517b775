// Hooks as they are shown: JSON of a hook, of its notices and of its notes. The command line and the API give the same.
// Pure functions, safe from any thread.
#pragma once

#include <optional>

#include "engine/json.hpp"
#include "storage/hooks/hook_rows.hpp"

namespace cairn {

// {"name", the fields of its definition, "words", "created_at", "paused": null | {"at", "by", "reason"}, "waiting",
// "parked", "delivered", "oldest_at", "due_since"}.
Json hook_line(const HookRow& row, const HookCounts& counts);
// The hook's own; zeros if there are none.
HookCounts counts_of(const std::vector<HookCounts>& all, const std::string& hook);

// {"id", "type", "status", "noted_at", "attempts", "answer", "says", "next_at" | "settled_at"}.
Json delivery_line(const HookDelivery& delivery);

// {"number", "at", "kind", "actor", "says"?, "definition"?}.
Json hook_note_line(const KeptHookNote& kept);

}  // namespace cairn
