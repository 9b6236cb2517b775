#include "workers/hooks/cloud_event.hpp"

#include <sstream>

#include "storage/data/link_key.hpp"
#include "storage/ground/base64.hpp"
#include "storage/stored_event.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {
namespace {

constexpr std::string_view encoded_secret = "whsec_";

Json event_line(const RunId& run, const EventRow& row) {
  Result<Json> line = event_json(run, stored_event(row));
  if (line) return *std::move(line);
  const std::optional<std::string_view> name = event_type_name(row.type);
  return {{"run", to_string(run)},
          {"seq", row.seq},
          {"type", name ? Json(*name) : Json(row.type)},
          {"at", time_text(row.at_us)},
          {"unreadable", line.error().message}};
}

void leave_out_large_fields(Json& data) {
  for (Json& value : data)
    if (const std::size_t bytes = canonical(value).size(); bytes > hook_field_bytes_max)
      value = {{"left_out_bytes", bytes}};
}

Json data_of(const NoticeFacts& facts) {
  if (facts.id.kind == NoticeKind::test || !facts.run || !facts.event)
    return {{"hook", facts.hook}, {"says", "This is a test of the hook: nothing has happened."}};
  Json data;
  if (facts.id.kind == NoticeKind::stalled)
    data = {{"run", to_string(facts.id.run)},
            {"seq", facts.id.seq},
            {"last_event", event_type_name(facts.event->type).value_or("")},
            {"last_at", time_text(facts.event->at_us)}};
  else
    data = event_line(facts.id.run, *facts.event);
  leave_out_large_fields(data);
  data["graph"] = facts.run->graph;
  data["tags"] = facts.run->tags;
  return data;
}

bool is_about_event(NoticeKind kind) { return kind != NoticeKind::test && kind != NoticeKind::stalled; }

std::string signature_by(std::string_view secret, std::string_view signed_text) {
  std::string key(secret);
  if (secret.starts_with(encoded_secret))
    if (const std::optional<std::string> decoded = parse_base64(secret.substr(encoded_secret.size()))) key = *decoded;
  const Hash code = hmac_sha256(key, signed_text);
  return "v1," + base64({reinterpret_cast<const char*>(code.data()), code.size()});
}

}  // namespace

std::string cloud_event_type(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::finished:
      return "dev.cairn.run.finished";
    case NoticeKind::waits:
      return "dev.cairn.run.waits";
    case NoticeKind::budget:
      return "dev.cairn.run.budget_exhausted";
    case NoticeKind::stalled:
      return "dev.cairn.run.stalled";
    case NoticeKind::test:
      break;
  }
  return "dev.cairn.hook.test";
}

Json cloud_event(const NoticeFacts& facts) {
  const bool has_event = is_about_event(facts.id.kind) && facts.event;
  return {{"specversion", "1.0"},
          {"id", event_id(facts.hook, facts.id)},
          {"source", "urn:uuid:" + facts.identity},
          {"type", cloud_event_type(facts.id.kind)},
          {"subject", facts.id.kind == NoticeKind::test ? facts.hook : to_string(facts.id.run)},
          {"time", time_text(has_event ? facts.event->at_us : facts.noted_at)},
          {"datacontenttype", "application/json"},
          {"data", data_of(facts)}};
}

std::string webhook_signature(std::string_view secret, std::string_view id, std::int64_t timestamp_s,
                              std::string_view body) {
  const std::string signed_text = std::string(id) + "." + std::to_string(timestamp_s) + "." + std::string(body);
  std::istringstream secrets{std::string(secret)};
  std::string signatures;
  for (std::string one; secrets >> one;) signatures += (signatures.empty() ? "" : " ") + signature_by(one, signed_text);
  return signatures;
}

}  // namespace cairn
