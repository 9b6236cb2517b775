#include "workers/gateway/ask_lines.hpp"

#include <algorithm>

#include "engine/result.hpp"

namespace cairn {

void AskLines::Line::want_all() {
  for (Place& place : places) place.wants = true;
}

bool AskLines::Line::is_empty() const {
  return waiting.empty() && std::none_of(places.begin(), places.end(), [](Place one) { return one.is_claiming; });
}

AskLines::Place* AskLines::Line::next_open() {
  for (std::size_t n = 0; n < places.size(); ++n) {
    const std::size_t shard = (next + n) % places.size();
    if (!places[shard].is_open()) continue;
    next = shard + 1;
    return &places[shard];
  }
  return nullptr;
}

void AskLines::tick(TimeUs steady_us) {
  steady_ = std::max(steady_, steady_us);
  for (auto& [queues, line] : lines_) {
    if (line.waiting.empty() || steady_ < line.poll_at) continue;
    line.poll_at = steady_ + poll_us_;
    line.want_all();
  }
}

void AskLines::notified() {
  for (auto& [queues, line] : lines_) line.want_all();
}

void AskLines::offered(const std::string& queue) {
  for (auto& [queues, line] : lines_)
    if (std::find(queues.begin(), queues.end(), queue) != queues.end()) line.want_all();
}

TimeUs AskLines::due_us() const {
  TimeUs due = deadlines_.empty() ? never_us : deadlines_.begin()->first;
  for (const auto& [queues, line] : lines_)
    if (!line.waiting.empty()) due = std::min(due, line.poll_at);
  return due;
}

void AskLines::join(const Queues& queues, const Waiting& one) {
  Line& line = lines_[queues];
  if (line.places.empty()) line.places.resize(shards_);
  // While no one waited, notifications were not listened to.
  if (line.waiting.empty() && one.waits_first_time) line.want_all();
  line.waiting.push_back(one.ask);
  if (one.has_something) line.in_haste.push_back(one.ask);
  const bool is_new = in_line_.insert({one.ask, {&line, one.until}}).second;
  CHECK(is_new);
  deadlines_.insert({one.until, one.ask});
}

void AskLines::take_out(std::map<AskId, InLine>::iterator one) {
  deadlines_.erase({one->second.until, one->first});
  in_line_.erase(one);
}

void AskLines::leave(AskId ask) {
  const auto found = in_line_.find(ask);
  CHECK(found != in_line_.end());
  std::erase(found->second.line->waiting, ask);
  take_out(found);
}

void AskLines::hurry(AskId ask) {
  InLine& one = in_line_.at(ask);
  deadlines_.erase({one.until, ask});
  one.until = steady_;
  deadlines_.insert({one.until, ask});
}

std::vector<AskLines::Claiming> AskLines::next_claims(const std::function<bool(AskId)>& may_claim) {
  std::vector<Claiming> claims;
  for (auto& [queues, line] : lines_) {
    auto at = line.waiting.begin();
    while (at != line.waiting.end()) {
      if (!may_claim(*at)) {
        ++at;
        continue;
      }
      Place* place = line.next_open();
      if (place == nullptr) break;
      *place = {.wants = false, .is_claiming = true};
      line.poll_at = steady_ + poll_us_;
      claims.push_back({*at, queues, static_cast<Shard>(place - line.places.data())});
      take_out(in_line_.find(*at));
      at = line.waiting.erase(at);
    }
  }
  return claims;
}

void AskLines::claimed(const Queues& queues, Shard shard, bool was_full) {
  const auto line = lines_.find(queues);
  CHECK(line != lines_.end());  // a line stays while a claim is under way
  Place& place = line->second.places[static_cast<std::size_t>(shard)];
  place.is_claiming = false;
  place.wants = place.wants || was_full;
}

std::vector<AskId> AskLines::overdue() {
  std::vector<AskId> asks;
  for (auto& [queues, line] : lines_) {
    asks.insert(asks.end(), line.in_haste.begin(), line.in_haste.end());
    line.in_haste.clear();
  }
  for (const auto& [until, ask] : deadlines_) {
    if (until > steady_) break;
    asks.push_back(ask);
  }
  return asks;
}

void AskLines::forget_empty() {
  std::erase_if(lines_, [](const auto& entry) { return entry.second.is_empty(); });
}

}  // namespace cairn
