// A hook (webhook): what is sent to an address, or given to a command, when something happens to a run. Its definition
// is what an operator adds; parsed here from the JSON in which it is asked for and kept. Pure; plain values, safe to
// read from any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "engine/event.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

enum class HookOn : std::uint8_t {
  ended,    // a run has ended, however
  failed,   // a run has failed
  waits,    // a run has opened a question
  budget,   // a budget is used up, or a run has broken a limit of its graph
  stalled,  // nothing was committed to an open run for a time
};
std::string_view to_string(HookOn on);

struct HookDefinition {
  std::string url = {};      // one of the two
  std::string command = {};  // for /bin/sh, in the place of a URL
  std::set<HookOn> on = {};
  std::string graph = {};   // "": any
  Tags tags = {};           // of the run; all must match
  std::string secret = {};  // the name of what signs; "": nothing is signed
  bool is_ordered = false;
  bool may_reach_private = false;  // an address of this machine or of a network that is not public
  std::int64_t stalled_after_ms = 0;
  std::int64_t attempts = 12;
  std::int64_t backoff_ms = 5'000;  // after the first failure; three times as long after each further one
  std::int64_t timeout_ms = 10'000;

  bool operator==(const HookDefinition&) const = default;
};

inline constexpr std::size_t hook_url_bytes_max = 2'048;
inline constexpr std::size_t hook_command_bytes_max = 4'096;
inline constexpr std::int64_t hook_stalled_ms_max = 30LL * 86'400'000;

// {"url" | "command", "on": [WORD], "graph"?, "tags"?, "secret"?, "ordered"?, "private"?, "stalled_after_ms"?,
// "attempts"?, "backoff_ms"?, "timeout_ms"?}. Refuses `invalid` with one sentence.
Result<HookDefinition> parse_hook(const Json& asked);
// All fields, in the same form.
Json hook_json(const HookDefinition& definition);

// 1 to 50 letters, digits, dots, underscores and hyphens, beginning with a letter or a digit. Refuses `invalid`.
Status check_hook_name(const std::string& name);

// The consumer of the feed that a hook reads by.
std::string hook_consumer(const std::string& name);
bool is_hook_consumer(std::string_view consumer);

// "sends to https://h/x when a run has failed or opened a question, of graph g, in order".
std::string in_words(const HookDefinition& definition);

}  // namespace cairn
