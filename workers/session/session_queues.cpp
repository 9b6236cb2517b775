#include "workers/session/session_queues.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn {
namespace {

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
    queue.has_ageing = one.ageing_us > 0;
    if (one.has_budgets()) queue.budgets_since = known(one.name).budgets_since.value_or(now_us);
  }
  const bool is_same = std::equal(
      now_known.begin(), now_known.end(), known_.begin(), known_.end(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.second.goes_on == b.second.goes_on; });
  known_ = std::move(now_known);
  return !is_same;
}

void SessionQueues::claimed(const ClaimRequest& request, const ClaimedBatch& batch, TimeUs until) {
  for (const std::string& queue : request.queues) {
    place_free_until_.erase(queue);
    turn_free_until_.erase({queue, request.shard});
  }
  for (const NoOneWaits& there : batch.no_one_waits) {
    if (there.for_place) place_free_until_[there.queue] = until;
    if (there.for_turn) turn_free_until_[{there.queue, request.shard}] = until;
  }
}

ServedQueues SessionQueues::served_queues() const {
  ServedQueues queues;
  for (const std::string& queue : served_) queues.emplace(queue, goes_on(queue));
  return queues;
}

// A budget that the queue has got since the branch was claimed would not count what its steps use.
bool SessionQueues::must_be_claimed(const std::string& queue, TimeUs held_us, TimeUs now_us) const {
  const Known& limits = known(queue);
  return limits.goes_on == GoesOn::never || (limits.budgets_since && now_us - held_us <= *limits.budgets_since);
}

// Where all places are taken, or a job may wait that is to go first, others wait for the holder's: it is given to them
// after a quarter of a second, as is a pause its effect, and a job of a higher priority its turn. Where starts are
// counted, others wait when they are short. Where turns are counted no one may wait, and a job that comes must find
// slots that are worth a claim.
bool SessionQueues::may_go_on(const std::string& queue, const Holder& holder, TimeUs now_us) const {
  constexpr TimeUs turn_us = 250'000;
  const Known& limits = known(queue);
  if (limits.goes_on == GoesOn::open) return true;
  if (must_be_claimed(queue, holder.held_us, now_us)) return false;
  const bool is_turn_free = is_before(turn_free_until_, {queue, holder.shard}, now_us);
  const bool is_place_wanted = limits.has_places && !is_before(place_free_until_, queue, now_us);
  const bool is_turn_wanted = limits.has_ageing && !is_turn_free;
  if ((is_place_wanted || is_turn_wanted) && holder.held_us >= turn_us) return false;
  switch (limits.goes_on) {
    case GoesOn::open:
    case GoesOn::freely:
    case GoesOn::paced:
      return !holder.is_short;
    case GoesOn::while_none_waits:
      return holder.would_claim && is_turn_free;
    case GoesOn::never:
      break;
  }
  return false;
}

std::vector<std::string> SessionQueues::to_claim_from(TimeUs now_us) {
  std::erase_if(left_, [&](const auto& left) { return left.second <= now_us; });
  std::vector<std::string> queues;
  std::copy_if(served_.begin(), served_.end(), std::back_inserter(queues),
               [this](const std::string& queue) { return !left_.contains(queue); });
  return queues;
}

}  // namespace cairn
