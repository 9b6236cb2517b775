// What one run gains in one commit, while it is gathered: decisions are added one after another, then it is sealed into
// the store's Entry. Used by the committer alone. Pure; not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/decide.hpp"
#include "storage/store.hpp"

namespace cairn {

// May this job stay with the session that commits it? Its deadline if so, nothing if not. `born`: its row would be new.
using Stays = std::function<std::optional<TimeUs>(const Job& job, bool born)>;

// Where the numbering of a run stood: what is beyond it is new.
struct Numbering {
  StepId last_step = 0;
  BranchId last_branch = 0;
};

class Draft {
 public:
  // `before`: of the committed state, at `head` with `chain`.
  Draft(const RunId& run, std::int64_t head, const Hash& chain, Numbering before);

  // The worker must still hold the branch; of several for one branch the first counts, for the row stands there.
  // `keep_in`: the queue its row stands in if the branch's next job may stay with the fence's session, else "". A row
  // that stays keeps its queue, so a job of another queue is offered. `above`: the branches it lies in.
  void fence(const Fence& fence, const std::string& keep_in, const std::vector<BranchId>& above);
  void add(std::vector<Event> events, const std::vector<BranchId>& touched);

  std::size_t events() const { return entry_.events.size(); }
  bool is_new_run() const { return entry_.head_before == 0; }

  // The entry with the run row, the job rows of all touched branches and the questions. `after`: the state as evolved.
  Entry seal(const RunState& after, SessionId session, const Stays& stays);

  // After seal: what stays with the session once the entry is committed; the kept ones by their branch.
  std::map<BranchId, HeldJob>& kept() { return kept_; }
  std::vector<HeldJob>& born() { return born_; }

 private:
  struct Held {
    Fence fence;
    std::string keep_in;
  };
  const Held* held(BranchId branch) const;
  void note_questions(const Event& event);
  void write_job(const RunState& after, BranchId branch, SessionId session, const Stays& stays);
  JobWrite::Op place(const Job& job, const Held* holder) const;
  void write_questions(const RunState& after);

  Entry entry_;
  Numbering before_;
  std::map<BranchId, Held> held_;
  std::vector<BranchId> touched_;
  std::set<BranchId> rowless_;  // open branches that had no job row when the entry began: forked or mapped ones
  std::set<StepId> retried_;
  std::vector<std::string> asked_;
  bool whole_ = false;  // a run that is reopened or begins as a fork: every row is new
  std::map<BranchId, HeldJob> kept_;
  std::vector<HeldJob> born_;
};

// The branches that `branch` lies in, innermost first.
std::vector<BranchId> branches_above(const RunState& state, BranchId branch);

}  // namespace cairn
