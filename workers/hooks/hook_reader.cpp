#include "workers/hooks/hook_reader.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "storage/stored_event.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs scan_lease_us = 30 * second_us;
constexpr TimeUs making_lease_us = 120 * second_us;  // commits under way are waited for, a minute at most
constexpr TimeUs scan_pause_us = second_us / 2;
constexpr TimeUs more_pause_us = second_us / 50;
constexpr TimeUs fault_pause_us = 5 * second_us;
constexpr TimeUs kept_us = 7 * 86'400 * second_us;
constexpr TimeUs stalled_kept_us = 90 * 86'400 * second_us;
constexpr TimeUs stalled_forgotten_us = 60 * 86'400 * second_us;  // one that is older is no news
constexpr TimeUs trim_pause_us = 600 * second_us;
constexpr std::int32_t trimmed_at_once = 1'000;
constexpr std::int32_t page_events = 1'000;
constexpr std::int32_t searched_runs = 5'000;
constexpr std::int32_t waiting_max = 50'000;  // more of them stay in the feed

std::vector<NoticeId> notices_of(const HookDefinition& hook, const std::vector<FeedEvent>& events, Store& store) {
  std::vector<NoticeId> notices;
  for (const FeedEvent& event : events) {
    const auto waits = [&] { return waits_for_answers(store, event.run); };
    if (const auto kind = notice_of(hook, stored_event(event.row), waits))
      notices.push_back({event.run, event.row.seq, *kind});
  }
  return notices;
}

}  // namespace

bool waits_for_answers(Store& store, const RunId& run) {
  const std::vector<EventRow> first = store.events(run, 0, 1);
  if (first.empty()) return true;
  const Result<Json> line = event_json(run, stored_event(first.front()));
  return !line || line->value("options", Json::object()).value("autonomy", "") != "full";
}

HookReader::HookReader(HookCalls calls, HookFeed feed, Store& store, HookReaderSurroundings around)
    : calls_(std::move(calls)), feed_(std::move(feed)), store_(store), around_(std::move(around)) {}

bool HookReader::scan() {
  std::optional<HookRow> row = calls_.take(scan_lease_us, making_lease_us);
  if (!row) return false;
  scan_for(*std::move(row));
  return true;
}

void HookReader::put_off(HookRow row, TimeUs pause_us) { calls_.keep({std::move(row), {}, pause_us}); }

HookReader::Memory& HookReader::memory_of(const HookRow& row) {
  Memory& memory = memory_[row.name];
  if (memory.created_at != row.created_at) memory = {row.created_at, "", around_.steady_us(), 0};
  return memory;
}

void HookReader::forget_gone() {
  std::set<std::string> names;
  for (const HookRow& row : calls_.hooks()) names.insert(row.name);
  std::erase_if(memory_, [&names](const auto& one) { return !names.contains(one.first); });
}

void HookReader::scan_for(HookRow row) {
  if (row.is_removed) return end_removal(row);
  const std::optional<HookDefinition> hook = kept_definition(row);
  if (!hook) return put_off(std::move(row), 60 * second_us);
  if (!row.is_ready) return prepare(std::move(row), *hook);
  if (calls_.count_waiting(row.name, waiting_max) >= waiting_max) return put_off(std::move(row), fault_pause_us);
  HookScan scan{row, {}, scan_pause_us};
  // Before the page: a standstill until then is not noted before the notices of its run's events.
  const bool searches = hook->on.contains(HookOn::stalled) && around_.steady_us() >= memory_of(row).searched_at;
  const TimeUs now_us = searches ? store_.database_time() : 0;
  std::string cursor;
  bool has_more = false;
  if (!event_types_of(*hook).empty()) {
    const Result<HookPage> page = feed_.page(hook_consumer(row.name), page_events);
    if (!page) return note_gap(std::move(row), page.error().message);
    scan.notices = notices_of(*hook, page->events, store_);
    cursor = page->cursor;
    has_more = page->has_more;
    if (has_more) scan.pause_us = more_pause_us;
  }
  if (searches && !has_more) search_stalled(scan, *hook, now_us);
  if (!calls_.keep(scan)) return;
  confirm(row, cursor);
  trim(row);
}

void HookReader::end_removal(const HookRow& row) {
  if (remove_consumer(feed_, row.name)) calls_.erase(row.name);
  memory_.erase(row.name);
}

void HookReader::prepare(HookRow row, const HookDefinition& hook) {
  if (const Status made = make_consumer(feed_, row.name, hook); !made) {
    around_.warn("Hook " + row.name + " has no place in the feed yet: " + made.error().message);
    return put_off(std::move(row), fault_pause_us);
  }
  row.is_ready = true;
  if (calls_.keep({row, {}, 0}) || is_there(calls_, row.name)) return;
  if (const Status removed = remove_consumer(feed_, row.name); !removed) around_.warn(removed.error().message);
}

void HookReader::note_gap(HookRow row, const std::string& says) {
  around_.warn("Hook " + row.name + " has lost its place in the feed: " + says);
  calls_.note(row.name, {"gap", hooks_actor, says});
  row.is_ready = false;
  put_off(std::move(row), 0);
}

void HookReader::search_stalled(HookScan& scan, const HookDefinition& hook, TimeUs now_us) {
  StalledQuestion question{scan.row.scan_shard,           scan.row.scan_run, now_us - hook.stalled_after_ms * 1'000,
                           now_us - stalled_forgotten_us, hook.graph,        hook.tags};
  StalledAnswer answer = feed_.stalled(question, searched_runs);
  scan.notices.insert(scan.notices.end(), answer.found.begin(), answer.found.end());
  scan.row.scan_shard = answer.shard;
  scan.row.scan_run = answer.after;
  if (answer.is_end)
    memory_of(scan.row).searched_at =
        around_.steady_us() + std::clamp<TimeUs>(hook.stalled_after_ms * 100, second_us / 2, 60 * second_us);
}

void HookReader::confirm(const HookRow& row, const std::string& cursor) {
  Memory& memory = memory_of(row);
  if (cursor.empty() || memory.confirmed == cursor) return;
  if (feed_.confirm(hook_consumer(row.name), cursor)) memory.confirmed = cursor;
}

// A portion at each scan for as long as there are full ones.
void HookReader::trim(const HookRow& row) {
  Memory& memory = memory_of(row);
  if (around_.steady_us() - memory.trimmed_at < trim_pause_us) return;
  if (calls_.trim(row.name, kept_us, stalled_kept_us, trimmed_at_once) >= trimmed_at_once) return;
  memory.trimmed_at = around_.steady_us();
  forget_gone();
}

}  // namespace cairn
