#include "workers/hooks/hook_sender.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "workers/hooks/cloud_event.hpp"
#include "workers/hooks/hook_feed.hpp"

namespace cairn {
namespace {

constexpr TimeUs send_margin_us = 5'000'000;  // besides the time that the receiver has
constexpr TimeUs rest_us_max = 30'000'000;
constexpr std::int32_t sends_max = 8;  // of one hook at a time
constexpr std::int32_t commands_max = 2;

TimeUs send_lease_us(const HookDefinition& hook) { return hook.timeout_ms * 1'000 + send_margin_us; }

}  // namespace

HookSender::HookSender(HookCalls calls, Store& store, HookSenderSurroundings around)
    : calls_(std::move(calls)), store_(store), around_(std::move(around)) {}

// --- taking ----------------------------------------------------------------------------------------------------------

void HookSender::forget_gone(const std::vector<HookRow>& rows) {
  std::set<std::string> names;
  for (const HookRow& row : rows) names.insert(row.name);
  std::erase_if(rests_, [&names](const auto& one) { return !names.contains(one.first); });
  std::erase_if(in_flight_, [](const auto& one) { return one.second == 0; });
}

std::vector<HookSlots> HookSender::slots(const std::vector<HookRow>& rows,
                                         std::map<std::string, HookDefinition>& hooks) {
  std::vector<HookSlots> asked;
  for (const HookRow& row : rows) {
    Rest& rest = rests_[row.name];
    if (rest.resumed_at != row.resumed_at) rest = {row.resumed_at};
    if (row.paused_at || row.is_removed || rest.until_us > around_.steady_us()) continue;
    const std::optional<HookDefinition> hook = kept_definition(row);
    if (!hook || !around_.can_send(*hook)) continue;
    const std::int32_t most = rest.failures > 0 ? 1 : (hook->command.empty() ? sends_max : commands_max);
    const std::int32_t free = most - in_flight_[row.name];
    if (free <= 0) continue;
    asked.push_back({row.name, free, send_lease_us(*hook), hook->is_ordered});
    hooks.emplace(row.name, *hook);
  }
  return asked;
}

std::vector<HookParcel> HookSender::take() {
  const std::vector<HookRow> rows = calls_.hooks();
  has_hooks_ = !rows.empty();
  forget_gone(rows);
  std::map<std::string, HookDefinition> hooks;
  const std::vector<HookSlots> asked = slots(rows, hooks);
  std::vector<HookParcel> parcels;
  if (asked.empty()) return parcels;
  try {
    for (const HookDelivery& delivery : calls_.claim(asked))
      if (auto parcel = parcel_or_settled(hooks.at(delivery.hook), delivery)) parcels.push_back(*std::move(parcel));
  } catch (const StoreUnavailable& away) {
    if (parcels.empty()) throw;
    around_.warn("Notices of hooks wait until their time is over: " + std::string(away.what()));
  }
  for (const HookParcel& parcel : parcels) ++in_flight_[parcel.delivery.hook];
  return parcels;
}

// Nothing: it cannot be sent, and that is recorded. One that cannot be read is a failure of its own, not of those with
// it.
std::optional<HookParcel> HookSender::parcel_or_settled(const HookDefinition& hook, const HookDelivery& delivery) {
  HookSettlement settled{delivery, 0};
  try {
    if (std::optional<HookParcel> parcel = parcel_of(hook, delivery)) return parcel;
    settled.delivery.status = DeliveryStatus::gone;
    settled.delivery.says = "Its run is not there any more.";
  } catch (const StoreUnavailable&) {
    throw;
  } catch (const std::exception& failure) {
    HookAnswer none;
    none.says = "The message could not be made: " + std::string(failure.what());
    settled = settled_by(hook, delivery, none, around_.draw());
  }
  record_and_note(settled);
  return std::nullopt;
}

std::optional<HookParcel> HookSender::parcel_of(const HookDefinition& hook, const HookDelivery& delivery) {
  NoticeFacts facts{delivery.hook, delivery.id, delivery.noted_at, store_.identity()};
  if (delivery.id.kind != NoticeKind::test) {
    facts.run = store_.run(delivery.id.run);
    const std::vector<EventRow> events = store_.events(delivery.id.run, delivery.id.seq - 1, 1);
    if (!facts.run || events.empty()) return std::nullopt;
    facts.event = events.front();
  }
  return HookParcel{hook, delivery, event_id(delivery.hook, delivery.id), canonical(cloud_event(facts)),
                    cloud_event_type(delivery.id.kind)};
}

// --- settling --------------------------------------------------------------------------------------------------------

// A receiver that is away gets one try at a time, in growing pauses, however many notices wait for it. An answer to one
// that was under way before does not end the rest.
void HookSender::note_rest(const HookParcel& parcel, const HookAnswer& answer) {
  Rest& rest = rests_[parcel.delivery.hook];
  const bool is_resting = around_.steady_us() < rest.until_us;
  if (!answer.is_busy) {
    if (!is_resting) rest = {rest.resumed_at};
    return;
  }
  const TimeUs asked_us = std::clamp<std::int64_t>(answer.retry_after_ms, 0, hook_retry_after_ms_max) * 1'000;
  TimeUs pause_us = 0;
  if (!is_resting) {  // else it is known: several were under way
    ++rest.failures;
    pause_us = std::min(parcel.hook.backoff_ms * 1'000, rest_us_max);
    for (std::int64_t n = 1; n < rest.failures && pause_us < rest_us_max; ++n) pause_us *= 2;
  }
  rest.until_us = std::max(rest.until_us, around_.steady_us() + std::max(std::min(pause_us, rest_us_max), asked_us));
}

// The first that is parked is on record, the others are shown by their counts. False: another one has taken the notice.
bool HookSender::record_and_note(const HookSettlement& settled) {
  const HookDelivery& delivery = settled.delivery;
  const bool is_first_parked = delivery.status == DeliveryStatus::parked && !calls_.has_parked(delivery.hook);
  if (!calls_.record_send(settled)) return false;
  if (!is_first_parked) return true;
  const std::string id = event_id(delivery.hook, delivery.id);
  around_.warn("Hook " + delivery.hook + " has given up on " + id + " after " + std::to_string(delivery.failures) +
               " attempts: " + delivery.says);
  calls_.note(delivery.hook, {"parked", hooks_actor, id + ": " + delivery.says});
  return true;
}

void HookSender::record_answer(const HookParcel& parcel, const HookAnswer& answer) {
  const std::string& name = parcel.delivery.hook;
  --in_flight_[name];
  note_rest(parcel, answer);
  if (!record_and_note(settled_by(parcel.hook, parcel.delivery, answer, around_.draw())) || !answer.is_gone) return;
  HookChange disabled{hooks_actor, answer.says, false, {"disabled", hooks_actor, answer.says}};
  disabled.taken_at = parcel.delivery.next_at - send_lease_us(parcel.hook);
  calls_.change(name, disabled);
}

void HookSender::release(const HookParcel& parcel, TimeUs pause_us) {
  --in_flight_[parcel.delivery.hook];
  calls_.record_send({parcel.delivery, pause_us});
}

}  // namespace cairn
