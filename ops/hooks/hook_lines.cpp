#include "ops/hooks/hook_lines.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "workers/hooks/cloud_event.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

Json time_or_null(const std::optional<TimeUs>& at) { return at ? Json(time_text(*at)) : Json(nullptr); }

}  // namespace

HookFacts facts_of(const std::string& hook, const std::vector<HookCounts>& counts,
                   const std::vector<HookDelivery>& lasts) {
  const auto is_its = [&hook](const auto& one) { return one.hook == hook; };
  const auto counted = std::find_if(counts.begin(), counts.end(), is_its);
  const auto last = std::find_if(lasts.begin(), lasts.end(), is_its);
  return {counted == counts.end() ? HookCounts{hook} : *counted,
          last == lasts.end() ? std::nullopt : std::optional(*last)};
}

Json hook_line(const HookRow& row, const HookFacts& facts) {
  const Json kept = parse_stored(row.definition);
  const Result<HookDefinition> hook = parse_hook(kept);
  Json line = kept;
  line["name"] = row.name;
  line["words"] = hook ? in_words(*hook) : "made by a newer program";
  line["created_at"] = time_text(row.created_at);
  line["paused"] = nullptr;
  if (row.paused_at)
    line["paused"] = {{"at", time_text(*row.paused_at)}, {"by", row.paused_by}, {"reason", row.paused_reason}};
  line["waiting"] = facts.counts.waiting;
  line["parked"] = facts.counts.parked;
  line["delivered"] = facts.counts.delivered;
  line["oldest_at"] = time_or_null(facts.counts.oldest);
  line["due_since"] = row.paused_at ? Json(nullptr) : time_or_null(facts.counts.due);
  line["last"] = facts.last ? delivery_line(*facts.last) : Json(nullptr);
  return line;
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

std::string cursor_of(const HookDelivery& last) {
  return std::to_string(last.noted_at) + "." + to_string(last.id.run) + "." + std::to_string(last.id.seq) + "." +
         std::string(to_string(last.id.kind));
}

std::optional<DeliveryPlace> parse_delivery_cursor(const std::string& cursor) {
  std::istringstream parts(cursor);
  std::string noted_at, run, seq, kind;
  std::getline(std::getline(std::getline(std::getline(parts, noted_at, '.'), run, '.'), seq, '.'), kind);
  const std::optional<std::int64_t> time = whole_number(noted_at), number = whole_number(seq);
  const std::optional<RunId> id = parse_run_id(run);
  const std::optional<NoticeKind> of = parse_notice_kind(kind);
  if (!time || !number || !id || !of) return std::nullopt;
  return DeliveryPlace{*time, {*id, *number, *of}};
}

}  // namespace cairn
