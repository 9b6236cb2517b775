// The rules of hooks: which event becomes a notice, its id for the receiver, and what follows from an answer. Pure
// functions and plain values, safe from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run_json.hpp"
#include "storage/hooks/hook_rows.hpp"
#include "workers/hooks/hook.hpp"

namespace cairn {

// The definition of a row; nothing: a newer program made it.
std::optional<HookDefinition> kept_definition(const HookRow& row);

// The names of the events that the hook has to read; none: it only looks for standstills.
std::vector<std::string> event_types_of(const HookDefinition& hook);

// The notice that an event of the hook's runs becomes, if any: a question is one where its run waits for answers, which
// is asked then. REQUIRES: the run is of its graph and has its tags.
std::optional<NoticeKind> notice_of(const HookDefinition& hook, const StoredEvent& event,
                                    const std::function<bool()>& waits_for_answers);

// "RUN/SEQ", with "/stalled" where it is about what did not come after; "test/HOOK/N" of a sample.
std::string event_id(const std::string& hook, const NoticeId& id);
// Nothing: it is no id of that hook.
std::optional<NoticeId> parse_event_id(const std::string& hook, const std::string& text);

// The answer to a send: a status over HTTP, or a command's. 0: none came.
struct HookAnswer {
  bool is_success = false;
  bool is_gone = false;  // the receiver wants no more, ever
  bool is_busy = false;  // it is away or overloaded, so that others need not be sent now either
  std::int32_t status = 0;
  std::int64_t retry_after_ms = 0;
  std::string says = {};  // a sentence, where it is no success
};

// After the nth failure, before jitter.
std::int64_t hook_pause_ms(const HookDefinition& hook, std::int64_t failures);
inline constexpr std::int64_t hook_pause_ms_max = 6 * 3'600'000;
inline constexpr std::int64_t hook_retry_after_ms_max = 24 * 3'600'000;

// `draw` in [0,1) moves the pause by a fifth either way; it is never shorter than the receiver asked for.
HookSettlement settled_by(const HookDefinition& hook, HookDelivery delivery, const HookAnswer& answer, double draw);

}  // namespace cairn
