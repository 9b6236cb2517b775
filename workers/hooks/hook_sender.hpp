// The sender of hooks: hands out notices to be sent, and keeps what became of them. Any number of processes may have
// one: a notice is sent by the one that took it last, and each may die at any point. Without sockets and threads: the
// caller sends. Not thread-safe.
//
// Order of a send: 1. take the notice for a time; 2. send; 3. record the answer. A process that dies before 3 leaves a
// notice that is sent again when the time is over, with the same id.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/hooks/hook_rows.hpp"
#include "storage/store.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {

// A notice that its holder is to send, and whose answer it is to record.
struct HookParcel {
  HookDefinition hook;
  HookDelivery delivery;
  std::string id;    // of the event
  std::string body;  // a CloudEvent
  std::string type;  // of the event
};

// The process around a sender.
struct HookSenderSurroundings {
  std::function<bool(const HookDefinition& hook)> can_send;  // hooks that it cannot send for are left to others
  std::function<TimeUs()> steady_us;                         // a clock for the pauses of this process
  std::function<double()> draw;                              // chance in [0,1)
  std::function<void(const std::string& says)> warn;         // for the log
};

class HookSender {
 public:
  // REQUIRES: what `calls` and `around` refer to, and `store`, outlive this.
  HookSender(HookCalls calls, Store& store, HookSenderSurroundings around);

  // Notices to be sent: of each hook a few at a time. Throws StoreUnavailable, PostgresError.
  std::vector<HookParcel> take();
  bool has_hooks() const { return has_hooks_; }  // when it was asked to take
  // Keeps the outcome. Throws as take(): the notice is then sent again.
  void record_answer(const HookParcel& parcel, const HookAnswer& answer);
  // Gives a notice back unsent, for others or for itself after the pause. Throws as take().
  void release(const HookParcel& parcel, TimeUs pause_us = 0);

 private:
  struct Rest {
    TimeUs resumed_at = 0;      // of the hook: one that goes on again, or is new, does not rest
    std::int64_t failures = 0;  // in a row, of a receiver that is away
    TimeUs until_us = 0;        // steady
  };

  std::vector<HookSlots> slots(const std::vector<HookRow>& rows, std::map<std::string, HookDefinition>& hooks);
  void forget_gone(const std::vector<HookRow>& rows);
  std::optional<HookParcel> parcel_of(const HookDefinition& hook, const HookDelivery& delivery);
  std::optional<HookParcel> parcel_or_settled(const HookDefinition& hook, const HookDelivery& delivery);
  void note_rest(const HookParcel& parcel, const HookAnswer& answer);
  bool record_and_note(const HookSettlement& settled);

  const HookCalls calls_;
  Store& store_;
  const HookSenderSurroundings around_;
  bool has_hooks_ = false;
  std::map<std::string, Rest> rests_;
  std::map<std::string, std::int32_t> in_flight_;
};

}  // namespace cairn
