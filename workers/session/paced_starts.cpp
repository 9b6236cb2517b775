#include "workers/session/paced_starts.hpp"

#include <utility>

namespace cairn {
namespace {

constexpr TimeUs shortage_us = 1'000'000;  // a call that is answered with too few starts costs more than claims

}  // namespace

bool PacedStarts::is_short(const std::string& queue, const std::string& key) const {
  const auto found = waits_.find(queue);
  if (found == waits_.end()) return false;
  const auto until = found->second.short_until.find(key);
  return until != found->second.short_until.end() && now_ < until->second;
}

void PacedStarts::wait(Pool::Start start) {
  CHECK(must_wait(start));
  waits_[start.job.job.queue].waiting.push_back(std::move(start));
}

std::vector<const Pool::Start*> PacedStarts::waiting() const {
  std::vector<const Pool::Start*> waiting;
  for (const auto& [name, queue] : waits_)
    for (const std::vector<Pool::Start>* starts : {&queue.waiting, &queue.asked})
      for (const Pool::Start& start : *starts) waiting.push_back(&start);
  return waiting;
}

std::vector<TakeStarts> PacedStarts::drain_calls() {
  std::vector<TakeStarts> calls;
  for (auto& [name, queue] : waits_) {
    if (queue.waiting.empty() || !queue.asked.empty()) continue;
    queue.asked = std::exchange(queue.waiting, {});
    calls.push_back({.queue = name, .asked = {}});
    for (const Pool::Start& start : queue.asked) ++calls.back().asked[start.job.key];
  }
  return calls;
}

PacedStarts::Outcome PacedStarts::taken(const TakeStarts& call) {
  Queue& queue = waits_.at(call.queue);
  KeyCounts left = call.answer;
  Outcome outcome;
  std::erase_if(queue.short_until, [this](const auto& key) { return key.second <= now_; });
  for (Pool::Start& start : std::exchange(queue.asked, {})) {
    const auto starts = left.find(start.job.key);
    const bool begins = starts != left.end() && starts->second-- > 0;
    if (!begins) queue.short_until[start.job.key] = now_ + shortage_us;
    (begins ? outcome.begin : outcome.give_back).push_back(std::move(start));
  }
  return outcome;
}

PacedStarts::Outcome PacedStarts::failed(const TakeStarts& call) {
  return {{}, std::exchange(waits_.at(call.queue).asked, {})};
}

}  // namespace cairn
