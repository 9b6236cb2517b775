#include "workers/session/session_queues.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace cairn {

bool SessionQueues::learn(const std::vector<QueueLimits>& limits, TimeUs now_us) {
  QueueNames limited, counted, alone, paced, aged, with_places;
  std::map<std::string, TimeUs> budgets_since;
  for (const QueueLimits& one : limits) {
    if (one.is_limited()) limited.insert(one.name);
    if (one.lets_go_on())
      (one.takes_starts() ? paced : counted).insert(one.name);
    else if (one.lets_go_on_alone())
      alone.insert(one.name);
    if (one.ageing_us > 0) aged.insert(one.name);
    if (one.concurrency || one.key_concurrency) with_places.insert(one.name);
    if (one.has_budgets()) budgets_since[one.name] = has_budgets_since(one.name).value_or(now_us);
  }
  const bool is_new = std::tie(limited, counted, alone, paced) != std::tie(limited_, counted_, alone_, paced_);
  std::tie(limited_, counted_, alone_, paced_) =
      std::tuple(std::move(limited), std::move(counted), std::move(alone), std::move(paced));
  aged_ = std::move(aged);
  with_places_ = std::move(with_places);
  budgets_since_ = std::move(budgets_since);
  return is_new;
}

std::optional<TimeUs> SessionQueues::has_budgets_since(const std::string& queue) const {
  const auto found = budgets_since_.find(queue);
  return found == budgets_since_.end() ? std::nullopt : std::optional(found->second);
}

void SessionQueues::claimed(const ClaimRequest& request, const ClaimedBatch& batch, TimeUs until) {
  for (const std::string& queue : request.queues) {
    free_until_.erase(queue);
    empty_until_.erase({queue, request.shard});
  }
  for (const std::string& queue : batch.with_places) free_until_[queue] = until;
  for (const std::string& queue : batch.emptied) empty_until_[{queue, request.shard}] = until;
}

bool SessionQueues::has_free_places(const std::string& queue, TimeUs now_us) const {
  const auto found = free_until_.find(queue);
  return found != free_until_.end() && now_us < found->second;
}

bool SessionQueues::is_empty(const std::string& queue, Shard shard, TimeUs now_us) const {
  const auto found = empty_until_.find({queue, shard});
  return found != empty_until_.end() && now_us < found->second;
}

ServedQueues SessionQueues::by_what_is_kept() const {
  const auto served_of = [this](const QueueNames& queues) {
    QueueNames both;
    std::set_intersection(served_.begin(), served_.end(), queues.begin(), queues.end(),
                          std::inserter(both, both.end()));
    return both;
  };
  QueueNames open = served_;
  std::erase_if(open, [this](const std::string& queue) { return limited_.contains(queue); });
  QueueNames held = served_of(counted_);
  held.merge(served_of(alone_));
  return {std::move(open), std::move(held), served_of(paced_)};
}

std::vector<std::string> SessionQueues::to_claim_from(TimeUs now_us) {
  std::erase_if(left_, [&](const auto& left) { return left.second <= now_us; });
  std::vector<std::string> queues;
  std::copy_if(served_.begin(), served_.end(), std::back_inserter(queues),
               [this](const std::string& queue) { return !left_.contains(queue); });
  return queues;
}

}  // namespace cairn
