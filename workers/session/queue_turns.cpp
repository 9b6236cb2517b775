#include "workers/session/queue_turns.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr TimeUs ask_share = 20;  // questions take this part of the time at most

}  // namespace

void QueueTurns::begin(const std::string& queue, const std::string& key) {
  Queue& now = queues_[queue] = {.has_keys = !key.empty()};
  if (now.has_keys)
    for (Shard shard = 0; shard < shards_; ++shard) now.turns[shard].is_wanted = true;
}

void QueueTurns::end(const std::string& queue) { queues_.erase(queue); }

void QueueTurns::claimed(const std::string& queue, Shard shard) {
  if (const auto found = queues_.find(queue); found != queues_.end()) found->second.turns[shard].is_wanted = true;
}

void QueueTurns::seen(const NoOneWaits& there, Shard shard, TimeUs until) {
  const auto found = queues_.find(there.queue);
  if (found == queues_.end() || (!there.for_turn && !there.but_of)) return;
  Turn& turn = found->second.turns[shard];
  turn.until = until;
  turn.but_of = there.but_of;
  turn.is_wanted = false;
}

QueueTurns::Free QueueTurns::free_for(const std::string& queue, Shard shard, const std::string& key, TimeUs now_us) {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return Free::no;
  const auto own = found->second.turns.find(shard);
  if (own == found->second.turns.end() || now_us >= own->second.until) return Free::no;
  const auto is_of_others = [&key](const auto& there) {
    return there.second.is_wanted || (there.second.but_of && *there.second.but_of != key);
  };
  const bool is_wanted = found->second.has_keys
                             ? std::any_of(found->second.turns.begin(), found->second.turns.end(), is_of_others)
                             : is_of_others(*own);
  if (is_wanted) return Free::no;
  found->second.is_used = true;
  return own->second.but_of ? Free::of_its_key : Free::yes;
}

void QueueTurns::notified() {
  for (auto& [name, queue] : queues_)
    for (auto& [shard, turn] : queue.turns) turn.is_heard = true;
}

bool QueueTurns::may_ask(const Queue& queue, const Turn& turn) {
  return queue.has_keys && queue.is_used && turn.is_heard && !turn.is_asked && !turn.is_wanted;
}

std::vector<AskForOthers> QueueTurns::asks(TimeUs now_us, TimeUs pause_us) {
  std::vector<AskForOthers> asks;
  for (auto& [name, queue] : queues_) {
    const std::size_t before = asks.size();
    for (auto& [shard, turn] : queue.turns) {
      if (!may_ask(queue, turn) || now_us < std::max(turn.ask_again_at, turn.asked_at + pause_us)) continue;
      turn.is_heard = false;
      turn.is_asked = true;
      turn.asked_at = now_us;
      asks.push_back({.queue = name, .shard = shard, .but_of = turn.but_of});
    }
    queue.is_used = queue.is_used && asks.size() == before;
  }
  return asks;
}

QueueTurns::Turn* QueueTurns::find(const AskForOthers& ask) {
  const auto queue = queues_.find(ask.queue);
  if (queue == queues_.end()) return nullptr;
  const auto turn = queue->second.turns.find(ask.shard);
  return turn == queue->second.turns.end() ? nullptr : &turn->second;
}

void QueueTurns::answered(const AskForOthers& ask, TimeUs now_us, TimeUs until) {
  Turn* const turn = find(ask);
  if (turn == nullptr) return;
  turn->is_asked = false;
  turn->ask_again_at = now_us + std::max(ask_pause_us, ask_share * (now_us - turn->asked_at));
  if (turn->is_wanted) return;  // a claim has seen that meanwhile
  if (ask.answer)
    turn->is_wanted = true;
  else if (turn->but_of == ask.but_of)
    turn->until = until;
}

void QueueTurns::failed(const AskForOthers& ask) {
  Turn* const turn = find(ask);
  if (turn == nullptr) return;
  turn->is_asked = false;
  turn->is_heard = true;
}

TimeUs QueueTurns::ask_due_us(TimeUs pause_us) const {
  TimeUs due_us = never_us;
  for (const auto& [name, queue] : queues_)
    for (const auto& [shard, turn] : queue.turns)
      if (may_ask(queue, turn)) due_us = std::min(due_us, std::max(turn.ask_again_at, turn.asked_at + pause_us));
  return due_us;
}

}  // namespace cairn
