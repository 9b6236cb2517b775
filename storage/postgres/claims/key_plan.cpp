#include "storage/postgres/claims/key_plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/postgres/claim_parameters.hpp"

namespace cairn {
namespace {

constexpr std::int32_t keys_min = 64;  // that a claim plans with

// Read by their places.
constexpr std::array<std::string_view, 4> waiting_columns{"key", "waiting", "turn", "served"};

std::int32_t keys_max(const ClaimRequest& request) { return std::max(keys_min, request.limit); }

void read_waiting_keys(KeyPlan& plan, const ClaimRequest& request, const PgResult& waiting) {
  waiting.expect_columns(waiting_columns);
  for (int row = 0; row < waiting.rows(); ++row) {
    const std::string key(waiting.text(row, 0));
    const auto weight = plan.limits.weights.find(key);
    plan.ring.keys.push_back({key, waiting.int8(row, 1), 0, weight == plan.limits.weights.end() ? 1 : weight->second});
  }
  if (waiting.rows() > 0) plan.turn = {std::string(waiting.text(0, 2)), waiting.int8(0, 3)};
  plan.ring.is_whole = !request.only_runs.empty() || std::ssize(plan.ring.keys) < keys_max(request);
}

void find_key_rooms(KeyPlan& plan, const AskEachNode& ask_each) {
  std::vector<std::string> keys;
  for (const WaitingKey& one : plan.ring.keys) keys.push_back(one.key);
  LimitUses uses = uses_of_keys(plan.limits, keys, ask_each);
  const QueueLimits of_key = plan.limits.of_key();
  for (WaitingKey& one : plan.ring.keys) {
    plan.rooms[one.key] = room_of(of_key, uses[one.key], plan.now_us);
    one.room = plan.rooms[one.key].free;
  }
}

}  // namespace

std::string_view waiting_statement(const ClaimRequest& request) {
  return request.only_runs.empty() ? "waiting_keys" : "waiting_keys_of_runs";
}

PgParameters waiting_parameters(const ClaimRequest& request, const std::string& queue) {
  PgParameters place = PgParameters().add(request.shard).add(queue);
  if (!request.only_runs.empty())
    return place.add(id_array(wanted_runs(request))).add(request.now_us).add(request.session);
  return place.add(keys_max(request)).add(request.now_us).add(request.limit + 1).add(id_array(request.not_of));
}

KeyPlan plan_keys(const ClaimRequest& request, const std::string& queue, const ClaimRooms& rooms,
                  const PgResult& waiting, const AskEachNode& ask_each) {
  KeyPlan plan{.queue = queue, .now_us = rooms.now_us};
  const auto limits = rooms.limits.find(queue);
  if (limits == rooms.limits.end() || !limits->second.has_keys()) return plan;
  plan.limits = limits->second;
  const std::int64_t limit = std::min<std::int64_t>(request.limit, rooms.left.at(queue).free);
  if (limit <= 0) return plan;
  read_waiting_keys(plan, request, waiting);
  plan.is_whole = plan.ring.is_whole && request.only_runs.empty() && request.not_of.empty();
  if (plan.ring.keys.empty()) return plan;
  find_key_rooms(plan, ask_each);
  plan.shares = take_turns(plan.ring, limit, plan.turn);
  return plan;
}

bool is_any_key_short(const KeyPlan& plan) {
  return plan.limits.is_counted() && std::any_of(plan.ring.keys.begin(), plan.ring.keys.end(),
                                                 [](const WaitingKey& one) { return one.room < one.waiting; });
}

std::string_view keyed_statement(const ClaimRequest& request) {
  return request.only_runs.empty() ? "claim_of_keys" : "claim_of_keys_of_runs";
}

PgParameters keyed_parameters(const ClaimRequest& request, const KeyPlan& plan, const QueueRoom& room) {
  PgParameters scope;
  scope.add(request.shard).add(plan.queue).add(request.limit);
  PgParameters parameters = claim_parameters(std::move(scope), request);
  parameters.add(id_array(request.only_runs.empty() ? request.not_of : wanted_runs(request)));
  PgArray keys(PgType::text), counts(PgType::int4), full_at(PgType::int8);
  std::int64_t planned = 0;
  for (const KeyShare& share : plan.shares) {
    CHECK(share.count <= plan.rooms.at(share.key).free);
    planned += share.count;
    keys.add(share.key);
    counts.add(static_cast<std::int32_t>(share.count));
    full_at.add(plan.rooms.at(share.key).full_at);
  }
  CHECK(planned <= std::min<std::int64_t>(request.limit, room.free));  // pairs with held_back_until()
  const std::int64_t key_pace_us = plan.limits.key_rate ? interval_us(*plan.limits.key_rate) : 0;
  parameters.add(std::move(keys)).add(std::move(counts)).add(std::move(full_at)).add(key_pace_us);
  parameters.add(room.full_at).add(room.pace_us).add(plan.limits.ageing_us).add(plan.limits.is_counted());
  return parameters.add(plan.now_us).add(plan.turn.key).add(plan.turn.served);
}

KeyCounts count_by_key(const KeyPlan& plan, const std::vector<HeldJob>& claimed) {
  KeyCounts counts;
  for (const HeldJob& job : claimed) ++counts[job.key];
  KeyCounts beyond = counts;
  for (const KeyShare& share : plan.shares) beyond[share.key] -= share.count;
  for (const auto& [key, count] : beyond) CHECK(count <= 0);  // pairs with keyed_parameters()
  return counts;
}

NoOneWaits waiting_after(const KeyPlan& plan, const KeyCounts& taken, const QueueRoom& room) {
  NoOneWaits there{.queue = plan.queue};
  std::size_t left = 0;
  std::int64_t all = 0;
  bool has_each_room = true;
  for (const WaitingKey& one : plan.ring.keys) {
    const auto found = taken.find(one.key);
    const std::int64_t count = found == taken.end() ? 0 : found->second;
    all += count;
    if (one.waiting <= count) continue;
    ++left;
    has_each_room = has_each_room && one.room > count;
    there.but_of = one.key;
  }
  there.for_place = plan.is_whole && left > 0 && has_each_room && room.free > all;
  there.for_turn = plan.is_whole && left == 0;
  if (!plan.is_whole || left != 1) there.but_of.reset();
  return there;
}

std::optional<TimeUs> wait_of(const KeyPlan& plan, const KeyCounts& taken) {
  std::optional<TimeUs> next;
  for (const WaitingKey& one : plan.ring.keys) {
    const auto count = taken.find(one.key);
    const std::optional<TimeUs> until = held_back_until(plan.limits.of_key(), plan.rooms.at(one.key),
                                                        count == taken.end() ? 0 : count->second, plan.now_us);
    if (until && one.waiting > one.room) next = std::min(next.value_or(*until), *until);
  }
  if (!next) return std::nullopt;
  return std::max<TimeUs>(*next - plan.now_us, 0);
}

}  // namespace cairn
