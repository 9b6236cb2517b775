#include "workers/hooks/hook_dispatcher.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs look_lease_us = 30 * second_us;
constexpr TimeUs look_pause_us = second_us / 2;
constexpr TimeUs fault_pause_us = 5 * second_us;
constexpr TimeUs send_margin_us = 5 * second_us;  // besides the time that the receiver has
constexpr TimeUs kept_us = 7 * 86'400 * second_us;
constexpr TimeUs stalled_kept_us = 90 * 86'400 * second_us;
constexpr TimeUs stalled_forgotten_us = 60 * 86'400 * second_us;  // one that is older is no news
constexpr TimeUs trim_pause_us = 600 * second_us;
constexpr TimeUs rest_us_max = 30 * second_us;
constexpr std::int32_t page_events = 1'000;
constexpr std::int32_t searched_runs = 5'000;
constexpr std::int32_t waiting_max = 50'000;  // more of them stay in the feed
constexpr std::int32_t sends_max = 8;         // of one hook at a time
constexpr std::int32_t commands_max = 2;
const std::string dispatcher_actor = "hooks";

std::optional<HookDefinition> definition_of(const HookRow& row) {
  Result<HookDefinition> hook = parse_hook(parse_stored(row.definition));
  return hook ? std::optional(*std::move(hook)) : std::nullopt;  // nothing: a newer program made it
}

std::vector<NoticeId> notices_of(const HookDefinition& hook, const std::vector<FeedEvent>& events) {
  std::vector<NoticeId> notices;
  for (const FeedEvent& event : events) {
    const EventRow& row = event.row;
    const auto kind = notice_of(hook, {row.seq, row.at_us, row.step, row.actor, row.type, row.version, row.payload});
    if (kind) notices.push_back({event.run, row.seq, *kind});
  }
  return notices;
}

}  // namespace

HookFeed hook_feed_of(Feed& feed, StalledRuns& stalled) {
  return {[&feed](const FeedConsumer& consumer) { return feed.add(consumer, FeedStart::now); },
          [&feed](const std::string& consumer) { return feed.remove(consumer); },
          [&feed](const std::string& consumer, std::int32_t limit) -> Result<HookPage> {
            Result<FeedPage> page = feed.page(consumer, "", limit);
            if (!page) return page.error();
            return HookPage{std::move(page->events), to_text(page->cursor), page->is_last};
          },
          [&feed](const std::string& consumer, const std::string& cursor) { return feed.confirm(consumer, cursor); },
          [&stalled](const StalledQuestion& question, std::int32_t limit) { return stalled.look(question, limit); }};
}

Status make_consumer(const HookFeed& feed, const HookRow& row, const HookDefinition& hook) {
  std::vector<std::string> types = event_types_of(hook);
  if (types.empty()) return Done{};
  FeedConsumer consumer;
  consumer.name = hook_consumer(row.name);
  consumer.filter = {hook.graph, hook.tags, std::move(types)};
  consumer.created_by = dispatcher_actor;
  if (const Status removed = feed.remove(consumer.name); !removed && removed.error().code != Code::not_found)
    return removed;
  return feed.add(consumer);
}

HookDispatcher::HookDispatcher(HookCalls calls, HookFeed feed, Store& store, HookSurroundings around)
    : calls_(std::move(calls)), feed_(std::move(feed)), store_(store), around_(std::move(around)) {}

// --- looks -----------------------------------------------------------------------------------------------------------

bool HookDispatcher::look() {
  std::optional<HookRow> row = calls_.take(look_lease_us);
  if (!row) return false;
  look_for(*std::move(row));
  return true;
}

void HookDispatcher::put_off(HookRow row, TimeUs pause_us) { calls_.keep({std::move(row), {}, pause_us}); }

void HookDispatcher::look_for(HookRow row) {
  if (row.is_removed) {
    const Status removed = feed_.remove(hook_consumer(row.name));
    if (removed || removed.error().code == Code::not_found) calls_.erase(row.name);
    return;
  }
  const std::optional<HookDefinition> hook = definition_of(row);
  if (!hook) return put_off(std::move(row), 60 * second_us);
  if (!prepare(row, *hook)) return put_off(std::move(row), fault_pause_us);
  if (calls_.count_waiting(row.name, waiting_max) >= waiting_max) return put_off(std::move(row), fault_pause_us);
  HookLook look{row, {}, look_pause_us};
  std::string cursor;
  if (!event_types_of(*hook).empty()) {
    const Result<HookPage> page = feed_.page(hook_consumer(row.name), page_events);
    if (!page) {
      around_.warn("Hook " + row.name + " has lost its place in the feed: " + page.error().message);
      calls_.note(row.name, {"gap", dispatcher_actor, page.error().message});
      look.row.is_ready = false;
      look.pause_us = 0;
      calls_.keep(look);
      return;
    }
    look.notices = notices_of(*hook, page->events);
    cursor = page->cursor;
    if (!page->is_last) look.pause_us = 0;
  }
  if (hook->on.contains(HookOn::stalled)) look_for_stalled(look, *hook, store_.database_time());
  if (calls_.keep(look)) confirm(row, cursor);
}

// False: its consumer cannot be made now.
bool HookDispatcher::prepare(HookRow& row, const HookDefinition& hook) {
  if (row.is_ready) return true;
  if (const Status made = make_consumer(feed_, row, hook); !made) {
    around_.warn("Hook " + row.name + " has no place in the feed yet: " + made.error().message);
    return false;
  }
  row.is_ready = true;
  return true;
}

void HookDispatcher::look_for_stalled(HookLook& look, const HookDefinition& hook, TimeUs now_us) {
  TimeUs& next_us = searched_[look.row.name];
  if (around_.steady_us() < next_us) return;
  StalledQuestion question{look.row.scan_shard,           look.row.scan_run, now_us - hook.stalled_after_ms * 1'000,
                           now_us - stalled_forgotten_us, hook.graph,        hook.tags};
  StalledAnswer answer = feed_.stalled(question, searched_runs);
  look.notices.insert(look.notices.end(), answer.found.begin(), answer.found.end());
  look.row.scan_shard = answer.shard;
  look.row.scan_run = answer.after;
  if (answer.is_end)
    next_us = around_.steady_us() + std::clamp<TimeUs>(hook.stalled_after_ms * 100, second_us / 2, 60 * second_us);
}

void HookDispatcher::confirm(const HookRow& row, const std::string& cursor) {
  if (!cursor.empty() && confirmed_[row.name] != cursor) {
    if (const Status moved = feed_.confirm(hook_consumer(row.name), cursor); !moved) return;
    confirmed_[row.name] = cursor;
  }
  const auto [trimmed, is_first] = trimmed_.try_emplace(row.name, around_.steady_us());
  if (is_first || around_.steady_us() - trimmed->second < trim_pause_us) return;
  trimmed->second = around_.steady_us();
  calls_.trim(row.name, kept_us, stalled_kept_us);
}

// --- sends -----------------------------------------------------------------------------------------------------------

std::vector<HookParcel> HookDispatcher::take() {
  std::map<std::string, HookDefinition> hooks;
  std::vector<HookSlots> asked;
  for (const HookRow& row : calls_.hooks()) {
    const Rest& rest = rests_[row.name];
    if (row.paused_at || row.is_removed || rest.until_us > around_.steady_us()) continue;
    const std::optional<HookDefinition> hook = definition_of(row);
    if (!hook || !around_.can_send(*hook)) continue;
    const std::int32_t most = rest.failures > 0 ? 1 : (hook->command.empty() ? sends_max : commands_max);
    const std::int32_t slots = most - in_flight_[row.name];
    if (slots <= 0) continue;
    asked.push_back({row.name, slots, hook->timeout_ms * 1'000 + send_margin_us, hook->is_ordered});
    hooks.emplace(row.name, *hook);
  }
  std::vector<HookParcel> parcels;
  if (asked.empty()) return parcels;
  for (const HookDelivery& delivery : calls_.claim(asked)) {
    std::optional<HookParcel> parcel = parcel_of(hooks.at(delivery.hook), delivery);
    if (parcel) {
      parcels.push_back(*std::move(parcel));
      continue;
    }
    HookDelivery gone = delivery;
    gone.status = DeliveryStatus::gone;
    gone.says = "Its run is not there any more.";
    calls_.settle({std::move(gone), 0});
  }
  for (const HookParcel& parcel : parcels) ++in_flight_[parcel.delivery.hook];
  return parcels;
}

std::optional<HookParcel> HookDispatcher::parcel_of(const HookDefinition& hook, const HookDelivery& delivery) {
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

// A receiver that is away gets one try at a time, in growing pauses, however many notices wait for it.
void HookDispatcher::note_rest(const HookParcel& parcel, const HookAnswer& answer) {
  Rest& rest = rests_[parcel.delivery.hook];
  if (!answer.is_busy) {
    rest = {};
    return;
  }
  const TimeUs asked_us = std::clamp<std::int64_t>(answer.retry_after_ms, 0, hook_retry_after_ms_max) * 1'000;
  TimeUs pause_us = 0;
  if (around_.steady_us() >= rest.until_us) {  // else it is known: several were under way
    ++rest.failures;
    pause_us = std::min(parcel.hook.backoff_ms * 1'000, rest_us_max);
    for (std::int64_t n = 1; n < rest.failures && pause_us < rest_us_max; ++n) pause_us *= 2;
  }
  rest.until_us = std::max(rest.until_us, around_.steady_us() + std::max(std::min(pause_us, rest_us_max), asked_us));
}

void HookDispatcher::settle(const HookParcel& parcel, const HookAnswer& answer) {
  --in_flight_[parcel.delivery.hook];
  note_rest(parcel, answer);
  const HookSettlement settled = settled_by(parcel.hook, parcel.delivery, answer, around_.draw());
  if (!calls_.settle(settled)) return;
  const std::string& name = parcel.delivery.hook;
  if (answer.is_gone)
    calls_.change(name, {dispatcher_actor, answer.says, false, {"disabled", dispatcher_actor, answer.says}});
  if (settled.delivery.status == DeliveryStatus::parked) {
    around_.warn("Hook " + name + " has given up on " + parcel.id + " after " +
                 std::to_string(settled.delivery.failures) + " attempts: " + answer.says);
    calls_.note(name, {"parked", dispatcher_actor, parcel.id + ": " + answer.says});
  }
}

void HookDispatcher::release(const HookParcel& parcel) {
  --in_flight_[parcel.delivery.hook];
  calls_.settle({parcel.delivery, 0});
}

}  // namespace cairn
