// The dispatcher of hooks: reads the feed for hooks whose time has come, and hands out notices to be sent. Any number
// of processes may have one: a hook is read by the one that took it last, a notice is sent by the one that took it
// last, and each of them may die at any point. Without sockets and threads: the caller sends. Not thread-safe.
//
// Order of a look: 1. take the hook; 2. read a page of its consumer; 3. keep the notices, in one transaction; 4.
// confirm the page. A process that dies before 4 leaves a page that is read again, and whose notices are there already.
// Order of a send: 1. take the notice for a time; 2. send; 3. settle. A process that dies before 3 leaves a notice that
// is sent again when the time is over, with the same id.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/feed/feed.hpp"
#include "storage/hooks/hook_rows.hpp"
#include "storage/hooks/stalled_runs.hpp"
#include "storage/store.hpp"
#include "workers/hooks/cloud_event.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {

struct HookPage {
  std::vector<FeedEvent> events;
  std::string cursor;  // after them
  bool is_last = false;
};

// The calls of the feed, for the hook's own consumer. All throw as the feed does.
struct HookFeed {
  std::function<Status(const FeedConsumer& consumer)> add;
  std::function<Status(const std::string& consumer)> remove;
  std::function<Result<HookPage>(const std::string& consumer, std::int32_t limit)> page;
  std::function<Status(const std::string& consumer, const std::string& cursor)> confirm;
  std::function<StalledAnswer(const StalledQuestion& question, std::int32_t limit)> stalled;
};
HookFeed hook_feed_of(Feed& feed, StalledRuns& stalled);  // REQUIRES: both outlive it

// Makes the hook's consumer from now on, in the place of one that another process has begun. Refuses as Feed::add.
Status make_consumer(const HookFeed& feed, const HookRow& row, const HookDefinition& hook);

// A notice that its holder is to send, and to settle.
struct HookParcel {
  HookDefinition hook;
  HookDelivery delivery;
  std::string id;    // of the event
  std::string body;  // a CloudEvent
  std::string type;  // of the event
};

// The process around a dispatcher.
struct HookSurroundings {
  std::function<bool(const HookDefinition& hook)> can_send;  // hooks that it cannot send for are left to others
  std::function<TimeUs()> steady_us;                         // a clock for the pauses of this process
  std::function<double()> draw;                              // chance in [0,1)
  std::function<void(const std::string& says)> warn;         // for the log
};

class HookDispatcher {
 public:
  // REQUIRES: what `calls`, `feed` and `around` refer to, and `store`, outlive this.
  HookDispatcher(HookCalls calls, HookFeed feed, Store& store, HookSurroundings around);

  // Reads the feed for one hook; false: none is due. Throws StoreUnavailable, PostgresError.
  bool look();

  // Notices to be sent: of each hook a few at a time. Throws as look().
  std::vector<HookParcel> take();
  // Keeps the outcome. Throws as look(): the notice is then sent again.
  void settle(const HookParcel& parcel, const HookAnswer& answer);
  // Gives a notice back unsent.
  void release(const HookParcel& parcel);

 private:
  struct Rest {
    std::int64_t failures = 0;  // in a row, of a receiver that is away
    TimeUs until_us = 0;        // steady
  };

  void look_for(HookRow row);
  bool prepare(HookRow& row, const HookDefinition& hook);
  void look_for_stalled(HookLook& look, const HookDefinition& hook, TimeUs now_us);
  void confirm(const HookRow& row, const std::string& cursor);
  std::optional<HookParcel> parcel_of(const HookDefinition& hook, const HookDelivery& delivery);
  void put_off(HookRow row, TimeUs pause_us);
  void note_rest(const HookParcel& parcel, const HookAnswer& answer);

  const HookCalls calls_;
  const HookFeed feed_;
  Store& store_;
  const HookSurroundings around_;
  std::map<std::string, std::string> confirmed_;  // the last cursor of each hook
  std::map<std::string, TimeUs> trimmed_;         // when, steady
  std::map<std::string, TimeUs> searched_;        // when the search for standstills may begin again, steady
  std::map<std::string, Rest> rests_;
  std::map<std::string, std::int32_t> in_flight_;
};

}  // namespace cairn
