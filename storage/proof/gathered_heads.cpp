#include "storage/proof/gathered_heads.hpp"

#include <algorithm>

namespace cairn {

// Batches are noted by several threads, so that an older head may arrive later: only a newer one replaces it.
void GatheredHeads::note(std::span<const Entry> batch, std::span<const Verdict> verdicts) {
  CHECK(batch.size() == verdicts.size());
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < batch.size(); ++at) {
    const Verdict& verdict = verdicts[at];
    if (verdict.kind != Verdict::Kind::committed) continue;
    Head& head = heads_[batch[at].run.id];
    if (verdict.head > head.seq) head = {batch[at].run.id, verdict.head, verdict.chain_hash};
  }
}

void GatheredHeads::note(const Head& head) {
  const std::lock_guard lock(mutex_);
  Head& known = heads_[head.run];
  if (head.seq > known.seq) known = head;
}

bool GatheredHeads::empty() const {
  const std::lock_guard lock(mutex_);
  return heads_.empty();
}

bool GatheredHeads::is_due(TimeUs now_us, TimeUs every_us) {
  const std::lock_guard lock(mutex_);
  if (heads_.empty()) return false;
  if (waiting_since_us_ == 0) waiting_since_us_ = now_us;
  return heads_.size() >= checkpoint_heads_max || now_us - waiting_since_us_ >= every_us;
}

std::vector<Head> GatheredHeads::take() {
  std::vector<Head> taken;
  {
    const std::lock_guard lock(mutex_);
    while (!heads_.empty() && taken.size() < checkpoint_heads_max)
      taken.push_back(heads_.extract(heads_.begin()).mapped());
    waiting_since_us_ = 0;
  }
  std::sort(taken.begin(), taken.end(), [](const Head& a, const Head& b) { return a.run < b.run; });
  return taken;
}

}  // namespace cairn
