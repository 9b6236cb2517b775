#include "workers/session/session_queues.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn {
namespace {

constexpr TimeUs ageing_turn_us_max = 10'000'000;

template <typename Key>
bool is_before(const std::map<Key, TimeUs>& until, const Key& key, TimeUs now_us) {
  const auto found = until.find(key);
  return found != until.end() && now_us < found->second;
}

}  // namespace

const SessionQueues::Known& SessionQueues::known(const std::string& queue) const {
  static const Known without_limits;
  const auto found = known_.find(queue);
  return found == known_.end() ? without_limits : found->second;
}

bool SessionQueues::learn(const std::vector<QueueLimits>& limits, TimeUs now_us) {
  std::map<std::string, Known> now_known;
  for (const QueueLimits& one : limits) {
    Known& queue = now_known[one.name];
    queue.goes_on = one.goes_on();
    queue.has_places = one.concurrency || one.key_concurrency;
    queue.ageing_us = one.ageing_us;
    queue.key = one.key;
    const Known& before = known(one.name);
    const bool is_new = !before.counts_since || before.key != one.key;
    if (one.has_budgets() || one.has_keys()) queue.counts_since = is_new ? now_us : *before.counts_since;
    if (!known_.contains(one.name) || before.key != one.key) turns_.begin(one.name, one.key);
  }
  for (const auto& [name, queue] : known_)
    if (!now_known.contains(name)) turns_.end(name);
  const bool is_same =
      std::equal(now_known.begin(), now_known.end(), known_.begin(), known_.end(),
                 [](const auto& a, const auto& b) { return a.first == b.first && a.second.is_as(b.second); });
  known_ = std::move(now_known);
  return !is_same;
}

void SessionQueues::claimed(const ClaimRequest& request, const ClaimedBatch& batch, TimeUs until) {
  for (const std::string& queue : request.queues) {
    place_free_until_.erase(queue);
    turns_.claimed(queue, request.shard);
  }
  for (const NoOneWaits& there : batch.no_one_waits) {
    if (there.for_place) place_free_until_[there.queue] = until;
    turns_.seen(there, request.shard, until);
  }
}

ServedQueues SessionQueues::served_queues() const {
  ServedQueues queues;
  for (const std::string& queue : served_) queues.emplace(queue, goes_on(queue));
  return queues;
}

// By a key or a budget that the queue has got since the branch was claimed, what its steps use would not be counted.
bool SessionQueues::must_be_claimed(const std::string& queue, TimeUs held_us, TimeUs now_us) const {
  const Known& limits = known(queue);
  return limits.goes_on == GoesOn::never || (limits.counts_since && now_us - held_us <= *limits.counts_since);
}

// Where all places are taken, others wait for the holder's: it is given to them after a quarter of a second, as is a
// pause its effect, and a job of a higher priority its turn. Where a job that has waited for its ageing is to go first,
// it comes so much later, or by a hundredth of its ageing. Where starts are counted, others wait when they are short.
// Turns of keys go before all of these.
bool SessionQueues::may_go_on(const std::string& queue, const Holder& holder, TimeUs now_us) {
  constexpr TimeUs turn_us = 250'000;
  const Known& limits = known(queue);
  if (limits.goes_on == GoesOn::open) return true;
  if (must_be_claimed(queue, holder.held_us, now_us) || holder.is_short) return false;
  const bool is_place_wanted = limits.has_places && !is_before(place_free_until_, queue, now_us);
  if (is_place_wanted && holder.held_us >= turn_us) return false;
  const bool has_keys = !limits.key.empty();
  if (!has_keys && limits.ageing_us == 0) return true;
  const QueueTurns::Free turn = turns_.free_for(queue, holder.shard, holder.key, now_us);
  if (has_keys && (turn == QueueTurns::Free::no || holder.may_miss_home)) return false;
  const bool may_keep_aged_waiting = limits.ageing_us > 0 && turn != QueueTurns::Free::yes;
  return !may_keep_aged_waiting || holder.held_us < std::clamp(limits.ageing_us / 100, turn_us, ageing_turn_us_max);
}

std::vector<std::string> SessionQueues::to_claim_from(TimeUs now_us) {
  std::erase_if(left_, [&](const auto& left) { return left.second <= now_us; });
  std::vector<std::string> queues;
  std::copy_if(served_.begin(), served_.end(), std::back_inserter(queues),
               [this](const std::string& queue) { return !left_.contains(queue); });
  return queues;
}

}  // namespace cairn
