#include "ops/hooks/hook_lines.hpp"

#include <algorithm>

#include "workers/hooks/cloud_event.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {
namespace {

Json time_or_null(const std::optional<TimeUs>& at) { return at ? Json(time_text(*at)) : Json(nullptr); }

}  // namespace

Json hook_line(const HookRow& row, const HookCounts& counts) {
  const Json kept = parse_stored(row.definition);
  const Result<HookDefinition> hook = parse_hook(kept);
  Json line = kept;
  line["name"] = row.name;
  line["words"] = hook ? in_words(*hook) : "made by a newer program";
  line["created_at"] = time_text(row.created_at);
  line["paused"] = nullptr;
  if (row.paused_at)
    line["paused"] = {{"at", time_text(*row.paused_at)}, {"by", row.paused_by}, {"reason", row.paused_reason}};
  line["waiting"] = counts.waiting;
  line["parked"] = counts.parked;
  line["delivered"] = counts.delivered;
  line["oldest_at"] = time_or_null(counts.oldest);
  line["due_since"] = row.paused_at ? Json(nullptr) : time_or_null(counts.due);
  return line;
}

HookCounts counts_of(const std::vector<HookCounts>& all, const std::string& hook) {
  const auto found = std::find_if(all.begin(), all.end(), [&hook](const HookCounts& one) { return one.hook == hook; });
  return found == all.end() ? HookCounts{hook} : *found;
}

Json delivery_line(const HookDelivery& delivery) {
  Json line = {{"id", event_id(delivery.hook, delivery.id)},
               {"type", cloud_event_type(delivery.id.kind)},
               {"status", to_string(delivery.status)},
               {"noted_at", time_text(delivery.noted_at)},
               {"attempts", delivery.failures + (delivery.status == DeliveryStatus::delivered ? 1 : 0)},
               {"answer", delivery.answer},
               {"says", delivery.says}};
  if (delivery.status == DeliveryStatus::waiting) line["next_at"] = time_text(delivery.next_at);
  if (delivery.settled_at) line["settled_at"] = time_text(*delivery.settled_at);
  return line;
}

Json hook_note_line(const KeptHookNote& kept) {
  Json line = {
      {"number", kept.number}, {"at", time_text(kept.at)}, {"kind", kept.note.kind}, {"actor", kept.note.actor}};
  if (!kept.note.says.empty()) line["says"] = kept.note.says;
  if (!kept.note.definition.empty()) line["definition"] = parse_stored(kept.note.definition);
  return line;
}

}  // namespace cairn
