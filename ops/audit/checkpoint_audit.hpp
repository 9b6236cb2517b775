// The check of signed checkpoints against the database. The checkpoints of each process are read from the table and
// from its file side by side: signatures, the chain from the first to the last, table against file, and every head
// against the events, or against the tombstone of an archived run. This finds a truncated tail, a removed run and a
// recomputed history, each run once; and it reports how far each history is covered, by which what was added is found
// (auditor.hpp). Memory grows with the findings and the covered runs, not with the checkpoints. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "ops/audit/finding.hpp"
#include "ops/audit/signed_heads.hpp"
#include "ops/audit/trusted_keys.hpp"
#include "storage/proof/checkpoint_files.hpp"
#include "storage/proof/checkpoint_table.hpp"

namespace cairn {

class CheckpointAudit {
 public:
  using Found = std::function<void(const Finding&)>;

  // `keys`: those in the folder of the files, unless others are given. REQUIRES: table and files outlive it.
  CheckpointAudit(CheckpointTable& table, const CheckpointFiles& files, Found found);
  CheckpointAudit(CheckpointTable& table, const CheckpointFiles& files, TrustedKeys keys, Found found);

  // Checkpoints signed later are passed over, in table and files: a replica may lack them.
  void until(TimeUs at_us) { until_us_ = at_us; }
  // Throws StoreUnavailable.
  void run();

  std::int64_t checkpoints() const { return checkpoints_; }
  // Closed by run().
  const SignedHeads& signed_heads() const { return signed_; }

 private:
  struct Process;
  struct Doubt;
  void audit_process(std::int64_t process, bool has_file);
  void pair(Process& process, const std::optional<Checkpoint>& filed, const std::optional<Checkpoint>& stored);
  void follow(Process& process, const Checkpoint& checkpoint);
  const PublicKey* key_of(const Hash& fingerprint);
  void find_others();
  void audit_processes();
  bool is_signed(const Checkpoint& checkpoint);
  void compare(const Checkpoint& checkpoint);
  void judge(const Checkpoint& checkpoint, const std::vector<Doubt>& doubts);
  void report(const Doubt& doubt, bool has_tombstone);
  bool is_explained(const Head& head, const std::optional<Tombstone>& tombstone);
  void find(const std::string& says);

  CheckpointTable& table_;
  const CheckpointFiles& files_;
  Found found_;
  TrustedKeys keys_;
  SignedHeads signed_;
  std::set<Hash> unknown_keys_;
  std::set<RunId> reported_;
  std::int64_t checkpoints_ = 0;
  TimeUs until_us_ = never_us;
};

}  // namespace cairn
