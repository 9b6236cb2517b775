// The message of a notice: a CloudEvent (version 1.0, structured JSON) and its signature as Standard Webhooks has it.
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/json.hpp"
#include "storage/hooks/hook_rows.hpp"
#include "storage/log.hpp"

namespace cairn {

// The things that a message is made of.
struct NoticeFacts {
  std::string hook;
  NoticeId id;
  TimeUs noted_at = 0;
  std::string identity;                // of the database
  std::optional<RunRow> run = {};      // none: a sample
  std::optional<EventRow> event = {};  // the event, or the last one before a standstill
};

// "dev.cairn.run.finished", "dev.cairn.run.waits", "dev.cairn.run.budget_exhausted", "dev.cairn.run.stalled",
// "dev.cairn.hook.test".
std::string cloud_event_type(NoticeKind kind);

inline constexpr std::size_t hook_field_bytes_max = 32 * 1024;

// {"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data"}. The data are the event as
// `cairn events --json` has it, with the graph and the tags of its run; a field of more than 32 KiB becomes
// {"left_out_bytes": N}. The same facts always give the same message.
Json cloud_event(const NoticeFacts& facts);

// "v1,BASE64" of HMAC-SHA-256 over "ID.TIMESTAMP.BODY"; with several secrets, separated by spaces, one signature for
// each. A secret that begins with whsec_ is the base64 of its key; any other one is the key itself.
std::string webhook_signature(std::string_view secret, std::string_view id, std::int64_t timestamp_s,
                              std::string_view body);

}  // namespace cairn
