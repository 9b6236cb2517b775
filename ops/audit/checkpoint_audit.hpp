// The check of signed checkpoints against the database. The checkpoints of each process are read from the table and
// from its file side by side: signatures, the chain from the first to the last, table against file, and every head
// against the events, or against the tombstone of an archived run. This finds a truncated tail, a removed run and a
// recomputed history, each run once. Memory grows with the findings, not with the checkpoints. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ops/audit/finding.hpp"
#include "storage/proof/checkpoint_files.hpp"
#include "storage/proof/checkpoint_table.hpp"

namespace cairn {

class CheckpointAudit {
 public:
  using Found = std::function<void(const Finding&)>;

  // REQUIRES: all outlive it.
  CheckpointAudit(CheckpointTable& table, const CheckpointFiles& files, Found found);

  // Throws StoreUnavailable.
  void run();

  std::int64_t checkpoints() const { return checkpoints_; }

 private:
  struct Process;
  void audit_process(std::int64_t process, bool has_file);
  void pair(Process& process, const std::optional<Checkpoint>& filed, const std::optional<Checkpoint>& stored);
  void follow(Process& process, const Checkpoint& checkpoint);
  const PublicKey* key_of(const Hash& fingerprint);
  bool is_signed(const Checkpoint& checkpoint);
  void compare(const Checkpoint& checkpoint);
  void judge(const Head& head, const CheckpointTable::Found& now);
  void judge_gone(const std::vector<Head>& gone);
  bool is_explained(const Head& head, const std::optional<Tombstone>& tombstone);
  void find(const std::string& says);

  CheckpointTable& table_;
  const CheckpointFiles& files_;
  Found found_;
  std::map<Hash, std::optional<PublicKey>> keys_;
  std::set<RunId> reported_;
  std::int64_t checkpoints_ = 0;
};

}  // namespace cairn
