#include "ops/audit/signed_heads.hpp"

#include <algorithm>
#include <tuple>

namespace cairn {
namespace {

constexpr std::size_t unsorted_min = 100'000;

}  // namespace

// A run is named by many checkpoints: what is added twice is removed each time the list has doubled.
void SignedHeads::add(const RunId& run, std::int64_t seq) {
  heads_.push_back({run, seq});
  if (heads_.size() >= 2 * sorted_ + unsorted_min) compact();
}

void SignedHeads::compact() {
  std::sort(heads_.begin(), heads_.end(),
            [](const Covered& a, const Covered& b) { return std::tie(a.run, b.seq) < std::tie(b.run, a.seq); });
  const auto same_run = [](const Covered& a, const Covered& b) { return a.run == b.run; };
  heads_.erase(std::unique(heads_.begin(), heads_.end(), same_run), heads_.end());
  sorted_ = heads_.size();
}

std::int64_t SignedHeads::covered(const RunId& run) const {
  const auto found = std::lower_bound(heads_.begin(), heads_.end(), run,
                                      [](const Covered& head, const RunId& sought) { return head.run < sought; });
  return found == heads_.end() || found->run != run ? 0 : found->seq;
}

}  // namespace cairn
