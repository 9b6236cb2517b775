#include "workers/hooks/hook_rules.hpp"

#include <algorithm>
#include <charconv>

#include "engine/closing_events.hpp"

namespace cairn {
namespace {

constexpr std::size_t says_bytes_max = 500;
constexpr std::string_view test_prefix = "test/";
constexpr std::string_view stalled_suffix = "/stalled";

bool is_end_by_limit(const Json& finished) {
  if (finished.contains("cause") && !finished["cause"].is_null()) return false;
  const auto reason = finished.find("reason");
  return reason != finished.end() && reason->is_string() && is_limit_reason(reason->get_ref<const std::string&>());
}

bool is_end_noticed(const HookDefinition& hook, const StoredEvent& event) {
  if (hook.on.contains(HookOn::ended)) return true;
  const Result<Json> line = event_json(RunId{}, event);
  if (!line) return true;  // of a newer program: rather one too many
  const bool has_failed = line->value("status", "") == "failed";
  return has_failed && (hook.on.contains(HookOn::failed) || is_end_by_limit(*line));
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0) return {};
  return number;
}

}  // namespace

std::optional<HookDefinition> kept_definition(const HookRow& row) {
  Result<HookDefinition> hook = parse_hook(parse_stored(row.definition));
  return hook ? std::optional(*std::move(hook)) : std::nullopt;
}

std::vector<std::string> event_types_of(const HookDefinition& hook) {
  std::vector<std::string> types;
  const auto is_on = [&hook](HookOn on) { return hook.on.contains(on); };
  if (is_on(HookOn::ended) || is_on(HookOn::failed) || is_on(HookOn::budget)) types.emplace_back("run_finished");
  if (is_on(HookOn::waits)) types.emplace_back("question_asked");
  if (is_on(HookOn::budget)) types.emplace_back("budget_exhausted");
  return types;
}

std::optional<NoticeKind> notice_of(const HookDefinition& hook, const StoredEvent& event,
                                    const std::function<bool()>& waits_for_answers) {
  const std::optional<std::string_view> type = event_type_name(event.type);
  if (!type) return std::nullopt;
  const std::vector<std::string> wanted = event_types_of(hook);
  if (std::find(wanted.begin(), wanted.end(), *type) == wanted.end()) return std::nullopt;
  if (*type == "question_asked") return waits_for_answers() ? std::optional(NoticeKind::waits) : std::nullopt;
  if (*type == "budget_exhausted") return NoticeKind::budget;
  return is_end_noticed(hook, event) ? std::optional(NoticeKind::finished) : std::nullopt;
}

std::string event_id(const std::string& hook, const NoticeId& id) {
  if (id.kind == NoticeKind::test) return std::string(test_prefix) + hook + "/" + std::to_string(id.seq);
  return to_string(id.run) + "/" + std::to_string(id.seq) +
         (id.kind == NoticeKind::stalled ? std::string(stalled_suffix) : "");
}

std::optional<NoticeId> parse_event_id(const std::string& hook, const std::string& text) {
  std::string_view left = text;
  if (const std::string sample = std::string(test_prefix) + hook + "/"; left.starts_with(sample)) {
    const auto number = parse_count(left.substr(sample.size()));
    return number ? std::optional(NoticeId{RunId{}, *number, NoticeKind::test}) : std::nullopt;
  }
  NoticeId id;
  if (left.ends_with(stalled_suffix)) {
    id.kind = NoticeKind::stalled;
    left.remove_suffix(stalled_suffix.size());
  }
  const std::size_t slash = left.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<RunId> run = parse_run_id(left.substr(0, slash));
  const std::optional<std::int64_t> seq = parse_count(left.substr(slash + 1));
  if (!run || !seq) return std::nullopt;
  id.run = *run;
  id.seq = *seq;
  return id;
}

std::int64_t hook_pause_ms(const HookDefinition& hook, std::int64_t failures) {
  std::int64_t pause = hook.backoff_ms;
  for (std::int64_t n = 1; n < failures && pause < hook_pause_ms_max; ++n) pause *= 3;
  return std::min(pause, hook_pause_ms_max);
}

HookSettlement settled_by(const HookDefinition& hook, HookDelivery delivery, const HookAnswer& answer, double draw) {
  delivery.answer = answer.status;
  delivery.says = answer.says.substr(0, says_bytes_max);
  if (answer.is_success) {
    delivery.status = DeliveryStatus::delivered;
    return {std::move(delivery), 0};
  }
  ++delivery.failures;
  const bool is_over = delivery.failures >= hook.attempts && !answer.is_gone;
  delivery.status = is_over ? DeliveryStatus::parked : DeliveryStatus::waiting;
  const auto pause =
      static_cast<std::int64_t>(static_cast<double>(hook_pause_ms(hook, delivery.failures)) * (0.8 + 0.4 * draw));
  const std::int64_t asked = std::clamp<std::int64_t>(answer.retry_after_ms, 0, hook_retry_after_ms_max);
  return {std::move(delivery), std::max(pause, asked) * 1'000};
}

}  // namespace cairn
