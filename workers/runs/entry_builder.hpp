// The builder of one run's share of a group commit: gathers decisions one after another, then builds the store's Entry.
// The row of each touched branch is derived from the job that it had before the entry and the one it has after.
// Used by the committer alone. Pure; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/decide.hpp"
#include "storage/store.hpp"
#include "workers/runs/keep_rules.hpp"

namespace cairn {

// The step and attempt that a branch's job row stands for.
struct JobRow {
  StepId step = 0;
  std::int32_t attempt = 1;
  bool operator==(const JobRow&) const = default;
};

// The rows that a run has in the queue as of its committed head: the jobs of that state, held or not. A plain
// value.
class JobRows {
 public:
  const JobRow* find(BranchId branch) const;
  std::size_t size() const { return rows_.size(); }
  void clear() { rows_.clear(); }
  void assign(const RunState& state);                                        // all rows
  void assign(const RunState& state, const std::vector<BranchId>& touched);  // those of these branches
  void apply(const std::vector<JobWrite>& writes);                           // which were committed
  bool operator==(const JobRows&) const = default;

 private:
  std::map<BranchId, JobRow> rows_;
};

// A branch that the reporting worker must still hold (a lease; the fence is its fencing token).
struct HeldBranch {
  Fence fence;
  std::optional<std::string> keep_in = {};  // if its next step may stay with the fence's session: the row's queue
  std::vector<BranchId> ancestors = {};     // the branches it lies in; they have no rows, as they wait for it
};

class EntryBuilder {
 public:
  // `head`, `chain` and `last_branch` are those of the committed state; later branches are new.
  EntryBuilder(const RunId& run, std::int64_t head, const Hash& chain, BranchId last_branch);

  // An entry has one fence for each branch, as the branch has one row. False: it has another one for this branch, so
  // that what comes by this fence has to be in an entry of its own.
  bool takes(const Fence& fence) const;
  void fence(HeldBranch held);  // REQUIRES: takes() it
  void add(std::vector<Event> events, const std::vector<BranchId>& touched);

  // The entry with the run row, the job rows of all touched branches and the questions. `after`: the state as evolved;
  // `before`: the run's rows as committed. `session`: that holds new branches; 0: none does.
  Entry build(const RunState& after, const JobRows& before, SessionId session, KeepRules& rules);

  std::size_t bytes() const { return bytes_; }  // of the events' payloads

  // After build(): what stays with the session once the entry is committed; the kept ones by their branch.
  std::map<BranchId, HeldJob>& kept() { return kept_; }
  std::vector<HeldJob>& created_held() { return created_held_; }

 private:
  const HeldBranch* held(BranchId branch) const;
  void note_questions(const Event& event);
  void note_closed(const std::vector<std::string>& questions);
  void write_job(const RunState& after, BranchId branch, const JobRow* before);
  JobWrite::Op op_of(const Job& job, const JobRow* before) const;
  bool keep(JobWrite& write, const RunState& after);
  bool create_held(JobWrite& write, const RunState& after);
  void write_questions(const RunState& after);

  Entry entry_;
  std::size_t bytes_ = 0;
  const BranchId last_branch_;
  std::map<BranchId, HeldBranch> held_;
  std::set<BranchId> ancestors_;  // of held branches
  std::vector<BranchId> touched_;
  std::vector<std::string> asked_;
  bool is_revived_ = false;  // reopened, or begun as a fork: its open steps are older than their rows
  SessionId session_ = 0;
  KeepRules* rules_ = nullptr;  // during build()
  std::map<BranchId, HeldJob> kept_;
  std::vector<HeldJob> created_held_;
};

// The branches that `branch` lies in, innermost first.
std::vector<BranchId> branches_above(const RunState& state, BranchId branch);

}  // namespace cairn
