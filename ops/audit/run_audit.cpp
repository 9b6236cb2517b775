#include "ops/audit/run_audit.hpp"

#include <algorithm>

#include "workers/runs/history.hpp"

namespace cairn {

RunAudit::RunAudit(const RunId& run, Shard shard, const Graphs& graphs) : graphs_(graphs), chain_(run, shard) {
  state_.id = run;
}

void RunAudit::add(const EventRow& row) {
  if (is_enough()) return;
  ++events_;
  chain_.add(row);
  fold(row);
}

void RunAudit::fold(const EventRow& row) {
  if (state() == nullptr) return;
  const Status folded = fold_rows(state_, std::span(&row, 1), graphs_);
  if (folded) return;
  const bool is_unknown = folded.error().code == Code::unsupported;
  unfolded_ = Finding{state_.id, row.seq, is_unknown ? "unsupported" : "unfoldable", folded.error().message};
}

void RunAudit::end(std::int64_t head) {
  const std::int64_t last = chain_.last_seq();
  if (last == head) return;
  const std::string says = "Expected event " + std::to_string(head) +
                           " to be the last, as the run's row says, but the history " +
                           (last < head ? "ends with event " : "goes on to event ") + std::to_string(last) + ".";
  end_ = {state_.id, std::min(last, head) + 1, last < head ? "missing" : "surplus", says};
}

std::vector<Finding> RunAudit::findings() const {
  std::vector<Finding> all;
  for (const auto& [seq, finding] : chain_.findings()) all.push_back(finding);
  if (unfolded_ && !chain_.findings().contains(unfolded_->seq)) all.push_back(*unfolded_);
  if (end_) all.push_back(*end_);
  return all;
}

const RunState* RunAudit::state() const {
  const bool is_cut = end_ && end_->kind == "missing";
  const bool is_whole = chain_.findings().empty() && !unfolded_ && !is_cut;
  return is_whole ? &state_ : nullptr;
}

}  // namespace cairn
