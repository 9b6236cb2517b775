// The heads that a process has committed since its last checkpoint: the latest of each run. Safe from any thread.
#pragma once

#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "storage/proof/checkpoint.hpp"

namespace cairn {

class GatheredHeads {
 public:
  // The most heads in one checkpoint.
  static constexpr std::size_t checkpoint_heads_max = 10'000;

  void note(std::span<const Entry> batch, std::span<const Verdict> verdicts);
  void note(const Head& head);
  auto watch() {  // the CommitWatch of a store, which must not outlive this
    return [this](std::span<const Entry> batch, std::span<const Verdict> verdicts) { note(batch, verdicts); };
  }

  bool empty() const;
  // A checkpoint is due when the oldest head has waited `every_us`, or when they are more than one holds.
  bool is_due(TimeUs now_us, TimeUs every_us);
  // Removes and returns the heads of one checkpoint, in the order of their runs.
  std::vector<Head> take();

 private:
  mutable std::mutex mutex_;
  std::unordered_map<RunId, Head> heads_;
  TimeUs waiting_since_us_ = 0;  // 0: is_due() was not asked since it was last empty
};

}  // namespace cairn
