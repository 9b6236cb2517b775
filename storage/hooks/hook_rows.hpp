// The rows of hooks, of their notices and of what happened to them, and the calls of a table of them. Both tables
// (PostgreSQL's and the one in memory) are used through HookCalls. Plain values; a call may come from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/id.hpp"
#include "storage/log.hpp"

namespace cairn {

// The event of a run that a notice is about; `stalled`: none came after it for a while; `test`: none, it is a sample.
enum class NoticeKind : std::uint8_t { finished, waits, budget, stalled, test };
std::string_view to_string(NoticeKind kind);
std::optional<NoticeKind> parse_notice_kind(std::string_view word);

// `waiting`: it is sent when its time comes; `parked`: its attempts are used up, and a person decides; `skipped`: a
// person passed over it; `gone`: its run was archived or erased before it was sent.
enum class DeliveryStatus : std::uint8_t { waiting, delivered, parked, skipped, gone };
std::string_view to_string(DeliveryStatus status);
std::optional<DeliveryStatus> parse_delivery_status(std::string_view word);

struct HookRow {
  std::string name;
  std::string definition;  // of hook_json
  bool is_ordered = false;
  bool is_ready = false;    // it has its consumer of the feed
  bool is_removed = false;  // on its way out
  std::optional<TimeUs> paused_at = {};
  TimeUs resumed_at = 0;  // last, or added, or edited: answers to what was sent before count no longer
  std::string paused_by = {};
  std::string paused_reason = {};
  TimeUs due_at = 0;
  TimeUs created_at = 0;
  std::int64_t fence = 0;  // of the reader who took it last
  std::int64_t notes = 0;
  Shard scan_shard = 0;  // how far the search for runs that stand still is
  RunId scan_run = {};
};

struct HookNote {
  std::string kind;  // added, edited, removed, paused, resumed, disabled, tested, resent, skipped, parked
  std::string actor;
  std::string says = {};
  std::string definition = {};  // of what was added or edited
};

struct KeptHookNote {
  std::int64_t number = 0;
  TimeUs at = 0;
  HookNote note;
};

// Names a notice within its hook.
struct NoticeId {
  RunId run;
  std::int64_t seq = 0;
  NoticeKind kind = NoticeKind::finished;
  friend bool operator==(const NoticeId&, const NoticeId&) = default;
  friend auto operator<=>(const NoticeId&, const NoticeId&) = default;
};

struct HookDelivery {
  std::string hook;
  NoticeId id;
  TimeUs noted_at = 0;
  TimeUs next_at = 0;
  std::int64_t sends = 0;  // the fence of the one who took it last
  std::optional<TimeUs> settled_at = {};
  std::int32_t failures = 0;
  std::int32_t answer = 0;
  DeliveryStatus status = DeliveryStatus::waiting;
  std::string says = {};
};

// A notice's place among those of its hook, of which the newest is the first.
struct DeliveryPlace {
  TimeUs noted_at = 0;
  NoticeId id = {};
};

struct DeliveriesAsked {
  std::optional<DeliveryStatus> status = {};  // without: any
  std::int32_t limit = 1'000;
  std::optional<DeliveryPlace> after = {};  // without: from the newest
};

// The outcome of a scan of the feed for a hook, by the reader who took it: what it found, and when to scan again.
struct HookScan {
  HookRow row;  // its name, fence, is_ready and place of the search count
  std::vector<NoticeId> notices = {};
  TimeUs pause_us = 0;
};

struct HookSlots {
  std::string hook;
  std::int32_t slots = 0;
  TimeUs lease_us = 0;
  bool is_ordered = false;
};

// The outcome of a send. One that waits on is sent again after the pause.
struct HookSettlement {
  HookDelivery delivery;  // as it was taken, with the new status, failures, answer and says
  TimeUs pause_us = 0;
};

// Paused by this actor, or not paused if it is ""; or removed.
struct HookChange {
  std::string paused_by = {};
  std::string reason = {};
  bool is_removed = false;
  HookNote note = {};
  // When the notice was taken whose answer wants the change: only a hook that is not paused, nor was resumed since.
  std::optional<TimeUs> taken_at = {};
};

// Another definition, in the place of the one that was read.
struct HookEdit {
  std::string before = {};
  std::string definition = {};
  bool is_ordered = false;
  HookNote note = {};
};

struct HookCounts {
  std::string hook;
  std::int64_t waiting = 0;           // up to hooks_counted_max
  std::int64_t parked = 0;            // as well
  std::int64_t delivered = 0;         // of those that are kept yet, where they were asked for
  std::optional<TimeUs> oldest = {};  // noted, of those that wait
  std::optional<TimeUs> due = {};     // since when one that waits could have been sent
};
inline constexpr std::int32_t hooks_counted_max = 100'000;

struct HookCountsAsked {
  std::optional<std::string> hook = {};  // without: all
  bool with_delivered = false;           // they may be many
};

// Facts about late notices of a hook that is not paused.
struct HookDelay {
  std::string hook;
  std::optional<TimeUs> free_since = {};  // when one became due that none of its run holds back
  std::optional<TimeUs> moved_at = {};    // one was delivered or passed over, last
  std::string refused = {};               // said of the last failure of one that waits to be tried again
};

// All throw StoreUnavailable; what they write may then be there or not. All times are the database's.
struct HookCalls {
  // The hook is not ready, and taken by the caller for the lease: its fence. One that is not ready yet and has the same
  // definition is taken over, as an earlier call may have made it. Nothing: there is another one of that name.
  std::function<std::optional<std::int64_t>(const HookRow& row, TimeUs lease_us, const HookNote& note)> add;
  std::function<std::vector<HookRow>()> hooks;  // by name, without those that are on their way out
  // Takes the hook that has been due longest; the caller holds it for the lease, or for `making_us` if it is not ready.
  std::function<std::optional<HookRow>(TimeUs lease_us, TimeUs making_us)> take;
  // Keeps the scan with its notices; a notice that is there stays as it is. False: another one has taken the hook.
  std::function<bool(const HookScan& scan)> keep;
  // False: there is no such hook; it is on its way out, unless it is to be removed; it is paused, or was resumed since
  // `taken_at`.
  std::function<bool(const std::string& hook, const HookChange& change)> change;
  // False: there is no such hook, it is not ready or on its way out, or its definition is not the one before.
  std::function<bool(const std::string& hook, const HookEdit& edit)> edit;
  // The number of the note; none: there is no such hook.
  std::function<std::optional<std::int64_t>(const std::string& hook, const HookNote& note)> note;
  // One more notice, due at once. False: there is no such hook, or the notice is there.
  std::function<bool(const std::string& hook, const NoticeId& id)> put;
  // Removes the rows of a hook that change() has marked.
  std::function<void(const std::string& hook)> erase;
  std::function<std::int64_t(const std::string& hook, std::int32_t most)> count_waiting;
  std::function<bool(const std::string& hook)> has_parked;
  std::function<std::vector<HookDelivery>(const std::vector<HookSlots>& asked)> claim;
  // False: another one has taken the notice since.
  std::function<bool(const HookSettlement& settled)> record_send;
  // How many there were; without an id all that are parked. `passes`: they are passed over, not sent.
  std::function<std::int64_t(const std::string& hook, const std::optional<NoticeId>& id, bool passes)> resend;
  // Removes those that have been over for `kept_us`, those of standstills for `stalled_us`, and at most `most`. How
  // many there were.
  std::function<std::int64_t(const std::string& hook, TimeUs kept_us, TimeUs stalled_us, std::int32_t most)> trim;
};

// Those of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
HookCalls hook_calls_of(Table& table) {
  return {
      .add = [&table](const HookRow& row, TimeUs lease_us,
                      const HookNote& note) { return table.add(row, lease_us, note); },
      .hooks = [&table] { return table.hooks(); },
      .take = [&table](TimeUs lease_us, TimeUs making_us) { return table.take(lease_us, making_us); },
      .keep = [&table](const HookScan& scan) { return table.keep(scan); },
      .change = [&table](const std::string& hook, const HookChange& change) { return table.change(hook, change); },
      .edit = [&table](const std::string& hook, const HookEdit& edit) { return table.edit(hook, edit); },
      .note = [&table](const std::string& hook, const HookNote& note) { return table.note(hook, note); },
      .put = [&table](const std::string& hook, const NoticeId& id) { return table.put(hook, id); },
      .erase = [&table](const std::string& hook) { return table.erase(hook); },
      .count_waiting = [&table](const std::string& hook, std::int32_t most) { return table.count_waiting(hook, most); },
      .has_parked = [&table](const std::string& hook) { return table.has_parked(hook); },
      .claim = [&table](const std::vector<HookSlots>& asked) { return table.claim(asked); },
      .record_send = [&table](const HookSettlement& settled) { return table.record_send(settled); },
      .resend = [&table](const std::string& hook, const std::optional<NoticeId>& id,
                         bool passes) { return table.resend(hook, id, passes); },
      .trim = [&table](const std::string& hook, TimeUs kept_us, TimeUs stalled_us,
                       std::int32_t most) { return table.trim(hook, kept_us, stalled_us, most); }};
}

}  // namespace cairn
