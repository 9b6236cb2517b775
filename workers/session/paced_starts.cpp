#include "workers/session/paced_starts.hpp"

#include <iterator>
#include <utility>

namespace cairn {
namespace {

constexpr TimeUs shortage_us = 1'000'000;  // a call that is answered with too few starts costs more than claims

}  // namespace

bool PacedStarts::is_short(const std::string& queue) const {
  const auto found = waits_.find(queue);
  return found != waits_.end() && now_ < found->second.short_until;
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
    calls.push_back({.queue = name, .count = std::ssize(queue.asked)});
  }
  return calls;
}

PacedStarts::Outcome PacedStarts::taken(const TakeStarts& call) {
  Queue& queue = waits_.at(call.queue);
  std::vector<Pool::Start> asked = std::exchange(queue.asked, {});
  CHECK(std::ssize(asked) == call.count && call.answer <= call.count);  // one call of a queue at a time
  const auto first_left = asked.begin() + static_cast<std::ptrdiff_t>(call.answer);
  if (first_left != asked.end()) queue.short_until = now_ + shortage_us;
  return {{std::make_move_iterator(asked.begin()), std::make_move_iterator(first_left)},
          {std::make_move_iterator(first_left), std::make_move_iterator(asked.end())}};
}

PacedStarts::Outcome PacedStarts::failed(const TakeStarts& call) {
  return {{}, std::exchange(waits_.at(call.queue).asked, {})};
}

}  // namespace cairn
