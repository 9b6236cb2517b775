// The plan of a claim from a queue with keys: its keys that have jobs that are due, what each of them has left, and how
// many jobs of each the claim takes (storage/limits/turns.hpp). Made under the queue's lock. Safe from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/limits/turns.hpp"
#include "storage/postgres/claims/claim_rooms.hpp"
#include "storage/queue.hpp"

namespace cairn {

struct KeyPlan {
  std::string queue;
  QueueLimits limits = {};
  KeyRing ring = {};  // without keys: the queue has none any more, no room, or no job that is due
  std::map<std::string, QueueRoom> rooms = {};  // by key
  std::vector<KeyShare> shares = {};
  KeyTurn turn = {};  // after them
  TimeUs now_us = 0;
  bool is_whole = false;  // all keys of the shard that have jobs which are due are in it
  // Nothing is taken, and the turn is no other one.
  bool changes_nothing() const { return shares.empty() && ring.is_whole; }
};

// The statement that finds the queue's keys with jobs that are due, and whose turn it is.
std::string_view waiting_statement(const ClaimRequest& request);
PgParameters waiting_parameters(const ClaimRequest& request, const std::string& queue);

// `waiting`: what that statement has found. The use of the keys is asked only where something limits it.
KeyPlan plan_keys(const ClaimRequest& request, const std::string& queue, const ClaimRooms& rooms,
                  const PgResult& waiting, const AskEachNode& ask_each);

// A key has more jobs than room by what is held of it.
bool is_any_key_short(const KeyPlan& plan);

// The statement that takes the jobs of a plan. REQUIRES: the plan changes something. `room`: of the queue.
std::string_view keyed_statement(const ClaimRequest& request);
PgParameters keyed_parameters(const ClaimRequest& request, const KeyPlan& plan, const QueueRoom& room);

// The jobs of each key that the statement took. CHECKs that they are no more than the plan gave to the key: rates and
// permits were counted by the plan.
KeyCounts count_by_key(const KeyPlan& plan, const std::vector<HeldJob>& claimed);

// The jobs that wait for a turn when so many of each key were taken: none, as no job of the shard that is due was left,
// or those of one key alone; neither is said where others wait, or may wait. And for a place: those of each key that
// has jobs left find one, as do all together by `room`, which is the queue's.
NoOneWaits waiting_after(const KeyPlan& plan, const KeyCounts& taken, const QueueRoom& room);

// How long the first of the keys that have more jobs than room waits for its rate or its budget, when so many of each
// were taken; nothing: none does.
std::optional<TimeUs> wait_of(const KeyPlan& plan, const KeyCounts& taken);

}  // namespace cairn
