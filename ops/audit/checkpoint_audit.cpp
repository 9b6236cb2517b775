#include "ops/audit/checkpoint_audit.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace cairn {
namespace {

constexpr std::int32_t processes_page = 1'000;
constexpr std::int32_t checkpoints_page = 10;  // they may have a megabyte each

// A process's checkpoints in the table, read when they are needed: it may be at work.
class Stored {
 public:
  Stored(CheckpointTable& table, std::int64_t process, TimeUs until_us)
      : table_(table), process_(process), until_us_(until_us) {}

  const Checkpoint* front() {
    if (read_.empty())
      for (Checkpoint& one : table_.checkpoints(process_, last_, checkpoints_page)) read_.push_back(std::move(one));
    return read_.empty() || read_.front().at_us > until_us_ ? nullptr : &read_.front();
  }
  Checkpoint take() {
    Checkpoint first = std::move(read_.front());
    read_.pop_front();
    last_ = first.n;
    return first;
  }
  bool has(std::int64_t n) const {
    const std::vector<Checkpoint> found = table_.checkpoints(process_, n - 1, 1);
    return !found.empty() && found.front().n == n;
  }

 private:
  CheckpointTable& table_;
  const std::int64_t process_;
  const TimeUs until_us_;
  std::deque<Checkpoint> read_;
  std::int64_t last_ = 0;
};

std::string name(std::int64_t process, std::int64_t n) {
  return "checkpoint " + std::to_string(n) + " of process " + std::to_string(process);
}

}  // namespace

struct CheckpointAudit::Process {
  std::int64_t id = 0;
  Stored stored;
  std::int64_t n = 0;         // of the last one
  Hash previous{};            // that the next one must name
  std::int64_t unstored = 0;  // the last one of the file, if the table lacks it
};

// A signed head that the log does not have as it was signed.
struct CheckpointAudit::Doubt {
  Head head;
  CheckpointTable::Found now;
  bool is_gone() const { return !now.head && !now.chain_hash; }
};

CheckpointAudit::CheckpointAudit(CheckpointTable& table, const CheckpointFiles& files, Found found)
    : CheckpointAudit(table, files, TrustedKeys(files.folder()), std::move(found)) {}
CheckpointAudit::CheckpointAudit(CheckpointTable& table, const CheckpointFiles& files, TrustedKeys keys, Found found)
    : table_(table), files_(files), found_(std::move(found)), keys_(std::move(keys)) {}

void CheckpointAudit::find(const std::string& says) { found_({{}, 0, "checkpoint", says}); }

void CheckpointAudit::run() {
  audit_processes();
  signed_.close();
}

// A database that was made where the other one's data had been would be found sound, for want of anything in it.
void CheckpointAudit::find_others() {
  if (!files_.processes().empty() || !table_.processes(std::numeric_limits<std::int64_t>::min(), 1).empty()) return;
  const std::vector<std::string> others = files_.other_databases();
  if (others.empty()) return;
  std::string names;
  for (const std::string& other : others) names += (names.empty() ? "" : ", ") + other;
  find("Expected checkpoints of database " + files_.database() + " in " + files_.folder() +
       ", but there are those of " + names + " alone: another database may stand in its place.");
}

void CheckpointAudit::audit_processes() {
  find_others();
  const std::vector<std::int64_t> filed = files_.processes();
  for (const std::int64_t process : filed) audit_process(process, true);
  for (std::int64_t after = std::numeric_limits<std::int64_t>::min();;) {
    const std::vector<std::int64_t> page = table_.processes(after, processes_page);
    for (const std::int64_t process : page)
      if (!std::binary_search(filed.begin(), filed.end(), process)) audit_process(process, false);
    if (page.size() < static_cast<std::size_t>(processes_page)) return;
    after = page.back();
  }
}

void CheckpointAudit::audit_process(std::int64_t id, bool has_file) {
  Process process{.id = id, .stored = Stored(table_, id, until_us_)};
  CheckpointReader file(files_, id);
  const auto next_filed = [&]() -> std::optional<Checkpoint> {
    std::optional<Checkpoint> next = file.next();
    return next && next->at_us <= until_us_ ? next : std::nullopt;
  };
  std::optional<Checkpoint> filed = has_file ? next_filed() : std::nullopt;
  for (;;) {
    const Checkpoint* stored = process.stored.front();
    if (!filed && stored == nullptr) break;
    const std::int64_t n = std::min(filed ? filed->n : stored->n, stored != nullptr ? stored->n : filed->n);
    const bool is_filed = filed && filed->n == n;
    const bool is_stored = stored != nullptr && stored->n == n;
    if (filed && !is_filed)
      find("Expected " + name(id, n) + " in " + files_.path(id) + " as in the table, but it is not.");
    pair(process, is_filed ? filed : std::nullopt,
         is_stored ? std::optional<Checkpoint>(process.stored.take()) : std::nullopt);
    if (is_filed) filed = next_filed();
  }
  if (file.is_broken())
    find("Expected a checkpoint of this database in line " + std::to_string(file.line()) + " of " + files_.path(id) +
         ", but it is none.");
}

// The table may lack the last one of the file: the process ended between the two.
void CheckpointAudit::pair(Process& process, const std::optional<Checkpoint>& filed,
                           const std::optional<Checkpoint>& stored) {
  if (process.unstored != 0 && !process.stored.has(process.unstored))
    find("Expected " + name(process.id, process.unstored) + " in the table as in " + files_.path(process.id) +
         ", but it is not.");
  process.unstored = filed && !stored ? filed->n : 0;
  if (filed && stored && *filed != *stored)
    find("Expected " + name(process.id, filed->n) + " to be the same in the table and in " + files_.path(process.id) +
         ", but they differ.");
  follow(process, filed ? *filed : *stored);
}

void CheckpointAudit::follow(Process& process, const Checkpoint& checkpoint) {
  ++checkpoints_;
  const std::string it = name(process.id, checkpoint.n);
  if (checkpoint.n != process.n + 1)
    find("Expected " + name(process.id, process.n + 1) + ", but the next one is " + std::to_string(checkpoint.n) + ".");
  else if (checkpoint.previous != process.previous)
    find("Expected " + it + " to be signed over the one before it, but it is signed over another.");
  process.n = checkpoint.n;
  process.previous = checkpoint_hash(checkpoint, files_.database());
  if (is_signed(checkpoint)) compare(checkpoint);
}

// Null if it is missing, which is reported once.
const PublicKey* CheckpointAudit::key_of(const Hash& wanted) {
  const PublicKey* key = keys_.find(wanted);
  if (key == nullptr && unknown_keys_.insert(wanted).second)
    find("Expected the public key that signed in " + keys_.place_of(wanted) +
         ", but it is not there; what it signed proves nothing.");
  return key;
}

bool CheckpointAudit::is_signed(const Checkpoint& checkpoint) {
  const PublicKey* key = key_of(checkpoint.key);
  if (key == nullptr) return false;
  if (is_signed_by(*key, signed_bytes(checkpoint, files_.database()), checkpoint.signature)) return true;
  find("Expected the signature of " + name(checkpoint.process, checkpoint.n) +
       " to be that of its key, but it is not.");
  return false;
}

void CheckpointAudit::compare(const Checkpoint& checkpoint) {
  const std::optional<std::vector<Head>> heads = parse_heads(checkpoint.heads);
  if (!heads)
    return find("Expected heads in " + name(checkpoint.process, checkpoint.n) + ", but found something else.");
  const std::vector<CheckpointTable::Found> now = table_.find(*heads);
  std::vector<Doubt> doubts;
  for (std::size_t at = 0; at < heads->size(); ++at) {
    const Head& head = (*heads)[at];
    if (now[at].chain_hash == head.chain_hash)
      signed_.add(head.run, head.seq);
    else if (!reported_.contains(head.run))
      doubts.push_back({head, now[at]});
  }
  if (!doubts.empty()) judge(checkpoint, doubts);
}

// A tombstone explains that a run is gone. It explains another history under the run's id only to what was signed
// before it: older programs started an archived run again under the same key.
void CheckpointAudit::judge(const Checkpoint& checkpoint, const std::vector<Doubt>& doubts) {
  std::vector<Head> heads;
  for (const Doubt& doubt : doubts) heads.push_back(doubt.head);
  const std::vector<std::optional<Tombstone>> left = table_.tombstones(heads);
  for (std::size_t at = 0; at < doubts.size(); ++at) {
    const bool is_in_time = doubts[at].is_gone() || (left[at] && checkpoint.at_us <= left[at]->at_us);
    if (is_in_time && is_explained(heads[at], left[at])) continue;
    if (reported_.insert(heads[at].run).second) report(doubts[at], left[at].has_value());
  }
}

void CheckpointAudit::report(const Doubt& doubt, bool has_tombstone) {
  const Head& head = doubt.head;
  const std::string event = "event " + std::to_string(head.seq);
  if (doubt.is_gone())
    return found_(
        {head.run, head.seq, "removed",
         "Expected the run, whose " + event + " was signed when it was written, but " +
             (has_tombstone ? "it is gone, and its tombstone does not vouch for that event." : "it is gone.")});
  if (!doubt.now.chain_hash)
    return found_({head.run, head.seq, "missing",
                   "Expected " + event + ", which was signed when it was written, but it is gone."});
  found_({head.run, head.seq, "rewritten",
          "Expected " + event + " to have the hash that was signed then, but it has another."});
}

bool CheckpointAudit::is_explained(const Head& head, const std::optional<Tombstone>& tombstone) {
  if (!tombstone || tombstone->head.seq < head.seq) return false;
  if (tombstone->head.seq == head.seq && tombstone->head.chain_hash != head.chain_hash) return false;
  const PublicKey* key = key_of(tombstone->key);
  return key != nullptr && is_signed_by(*key, signed_bytes(*tombstone, files_.database()), tombstone->signature);
}

}  // namespace cairn
