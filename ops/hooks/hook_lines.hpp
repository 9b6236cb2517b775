// Hooks as they are shown: JSON of a hook, of its notices and of its notes. The command line and the API give the same.
// Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "storage/hooks/hook_rows.hpp"

namespace cairn {

// The notices of a hook in sum.
struct HookFacts {
  HookCounts counts;
  std::optional<HookDelivery> last = {};  // noted
};
// The hook's own; zeros and nothing if there are none.
HookFacts facts_of(const std::string& hook, const std::vector<HookCounts>& counts,
                   const std::vector<HookDelivery>& lasts);

// {"name", the fields of its definition, "words", "created_at", "paused": null | {"at", "by", "reason"}, "waiting",
// "parked", "delivered", "oldest_at", "due_since", "last": null | as delivery_line}.
Json hook_line(const HookRow& row, const HookFacts& facts);

// {"id", "type", "status", "noted_at", "attempts", "answer", "says", "next_at" | "settled_at"}.
Json delivery_line(const HookDelivery& delivery);

// {"number", "at", "kind", "actor", "says"?, "definition"?}.
Json hook_note_line(const KeptHookNote& kept);

// The place after which the next page of a hook's notices begins, as text. Nothing: it is none.
std::string cursor_of(const HookDelivery& last);
std::optional<DeliveryPlace> parse_delivery_cursor(const std::string& cursor);

}  // namespace cairn
