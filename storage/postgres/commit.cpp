#include "storage/postgres/commit.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <spdlog/spdlog.h>
#include <thread>
#include <utility>

#include "engine/corrupt_history.hpp"
#include "storage/commit_rules.hpp"
#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/commit_rows.hpp"
#include "storage/postgres/rows.hpp"
#include "storage/postgres/single_row.hpp"

namespace cairn {
namespace {

constexpr std::string_view data_corrupted = "XX001";
constexpr std::int64_t jobs_ordered = 16;  // for a claim by a commit, besides two for each that it wants

// One batch's commit, over as many attempts as it takes. Hashes and rows are made once, before anything is locked: an
// attempt after a lost connection sends the same bytes, by which the log shows whether an earlier COMMIT landed.
class Commit {
 public:
  Commit(Shard shard, std::span<const Entry> batch, Notifier* notifier)
      : shard_(shard),
        batch_(batch),
        notifier_(notifier),
        commit_(commit_id_of(batch)),
        order_(batch.size()),
        in_doubt_(batch.front().in_doubt) {
    // Every writer locks runs in the order of their ids, so that no two batches wait for each other.
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](auto a, auto b) { return batch[a].run.id < batch[b].run.id; });
    hashes_.reserve(batch.size());
    for (const Entry& entry : batch) hashes_.push_back(chain_hashes(shard, entry, commit_));
    all_ = encode(order_);
    for (const std::size_t at : order_) {
      if (!is_new(at)) continue;
      new_runs_.add(batch_[at], hashes_[at].back());
      if (!is_derived(batch_[at].run.id)) continue;
      derived_.push_back(at);
      derived_ids_.add(batch_[at].run.id);
    }
    encode_locks();
  }

  // The first attempt of a batch whose runs are locked already. A fence that does not hold lets the transaction fail;
  // who it was is found out by the next one.
  LockedCommitted attempt_locked(PgConnection& connection, const std::optional<ClaimRequest>& claim) {
    optimistic_failed_ = true;
    send_new_runs(connection, new_count());
    all_.send(connection, shard_, commit_);
    if (claim) {
      connection.send(statement("claim_of_runs"), claim_of_runs_parameters(*claim, 2 * claim->limit + jobs_ordered));
      connection.keep_result();
    }
    connection.send(commit_statement());
    if (!ended_well(connection)) {
      connection.execute("ROLLBACK");
      return {attempt(connection)};
    }
    LockedCommitted committed{all_committed()};
    if (const std::optional<PgResult> claimed = connection.kept()) committed.claimed = read_claimed_jobs(*claimed);
    if (claim) check_claimed(*claim, committed.claimed);
    return committed;
  }

  std::vector<Verdict> attempt(PgConnection& connection) {
    // After a COMMIT whose answer was lost the rows may be our own: only the locked path can decide that.
    if (!in_doubt_ && !std::exchange(optimistic_failed_, true)) {
      if (write_optimistically(connection)) return all_committed();
    }
    connection.begin_pipeline();
    std::vector<Found> found = lock(connection);
    if (in_doubt_) find_landed(connection, found);
    std::vector<Verdict> verdicts = judge(batch_, found);
    CHECK(verdicts.size() == batch_.size());
    write(connection, found, verdicts);
    for (std::size_t at = 0; at < batch_.size(); ++at) {
      if (verdicts[at].kind == Verdict::Kind::committed) set_head(at, verdicts[at]);
    }
    return verdicts;
  }

 private:
  bool is_new(std::size_t at) const { return batch_[at].head_before == 0; }

  // Only rows that can exist are locked. A new run has no row and no job yet, except for jobs that fences name, which
  // must be judged; a job inserted held has no row either.
  void encode_locks() {
    PgArray runs(PgType::uuid);
    PgArray job_runs(PgType::uuid);
    PgArray job_branches(PgType::int4);
    for (const std::size_t at : order_) {
      if (!is_new(at)) {
        runs.add(batch_[at].run.id);
        locked_.push_back(at);
      }
      for (const BranchId branch : branches_to_lock(batch_[at])) {
        job_runs.add(batch_[at].run.id);
        job_branches.add(branch);
        named_.push_back({at, branch});
      }
    }
    lock_runs_.add(shard_).add(std::move(runs));
    lock_jobs_.add(shard_).add(std::move(job_runs)).add(std::move(job_branches));
  }

  static std::vector<BranchId> branches_to_lock(const Entry& entry) {
    std::vector<BranchId> branches;
    for (const Fence& fence : entry.fences) branches.push_back(fence.branch);
    for (const JobWrite& write : entry.jobs) {
      if (entry.head_before != 0 && write.op != JobWrite::Op::insert_held) branches.push_back(write.job.branch);
    }
    std::sort(branches.begin(), branches.end());
    branches.erase(std::unique(branches.begin(), branches.end()), branches.end());
    return branches;
  }

  Writes encode(std::span<const std::size_t> entries) const {
    Writes writes;
    for (const std::size_t at : entries) writes.add(batch_[at], hashes_[at]);
    return writes;
  }

  // Sends every statement at once; each checks what it expects (not_as_expected). False: one failed and nothing was
  // written. The sync makes all of them one implicit transaction, which saves BEGIN and COMMIT.
  bool write_optimistically(PgConnection& connection) {
    connection.begin_pipeline();
    send_new_runs(connection, new_count());
    if (!derived_.empty()) send_rows(connection, "check_archived", PgParameters().add(shard_), derived_ids_);
    all_.send(connection, shard_, commit_);
    return ended_well(connection);
  }

  // False: a statement found something else than it expected.
  bool ended_well(PgConnection& connection) {
    in_doubt_ = true;
    const std::optional<PostgresError> fault = end_pipeline(connection);
    if (fault && fault->sqlstate() != not_as_expected) throw *fault;
    in_doubt_ = false;
    return !fault;
  }

  // The notification is sent right after the sync, so that others receive it while the commit's answer is on its way to
  // us. It is not waited for.
  std::optional<PostgresError> end_pipeline(PgConnection& connection) const {
    connection.sync();
    const std::optional<NotifiedJob> named = notifier_ != nullptr ? only_freed() : std::nullopt;
    if (notifier_ != nullptr) notifier_->send(connection, named);
    std::optional<PostgresError> fault = connection.finish_or_fault();
    if (notifier_ != nullptr) notifier_->notify_here(named);
    return fault;
  }

  std::int64_t new_count() const { return static_cast<std::int64_t>(new_runs_.size()); }
  void send_new_runs(PgConnection& connection, std::optional<std::int64_t> expected) const {
    if (new_count() > 0) new_runs_.send(connection, shard_, expected);
  }

  // The one job that the batch makes claimable; nothing if there are several.
  std::optional<NotifiedJob> only_freed() const {
    std::optional<NotifiedJob> found;
    for (const Entry& entry : batch_) {
      for (const JobWrite& write : entry.jobs) {
        if (write.op != JobWrite::Op::offer && write.op != JobWrite::Op::adjust) continue;
        if (found) return std::nullopt;
        found = NotifiedJob{shard_, entry.run.id, write.job.branch};
      }
    }
    return found;
  }

  std::vector<Verdict> all_committed() const {
    std::vector<Verdict> verdicts(batch_.size());
    for (std::size_t at = 0; at < batch_.size(); ++at) set_head(at, verdicts[at]);
    return verdicts;
  }

  // Reads under lock what the batch's runs and jobs hold now, so that entries without a conflict can pass.
  std::vector<Found> lock(PgConnection& connection) {
    connection.send(begin_statement());
    send_new_runs(connection, std::nullopt);
    if (!derived_.empty()) connection.send(statement("archived"), PgParameters().add(shard_).add(derived_ids_));
    if (!locked_.empty()) connection.send(statement("lock_runs"), lock_runs_);
    if (!named_.empty()) connection.send(statement("lock_jobs"), lock_jobs_);
    connection.sync();
    connection.receive();

    std::vector<Found> found(batch_.size());
    for (std::size_t at = 0; at < batch_.size(); ++at) found[at].fenced.resize(batch_[at].fences.size());
    inserted_.assign(batch_.size(), false);
    if (new_count() > 0) read_inserted(connection.receive());
    if (!derived_.empty()) read_tombstones_into(connection.receive(), found);
    if (!locked_.empty()) read_runs_into(connection.receive(), locked_, found);
    if (!named_.empty()) read_jobs_into(connection.receive(), found);
    find_existing(connection, found);
    return found;
  }

  void read_inserted(const PgResult& rows) {
    if (rows.is_null(0, 0)) return;
    for (const std::string& bytes : rows.texts(0, 0)) {
      RunId id;
      std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
      const auto place = std::lower_bound(order_.begin(), order_.end(), id, [&](std::size_t at, const RunId& sought) {
        return batch_[at].run.id < sought;
      });
      CHECK(place != order_.end() && batch_[*place].run.id == id && is_new(*place));  // one of those sent
      inserted_[*place] = true;
    }
  }

  // A run that exists all the same was imported again.
  void read_tombstones_into(const PgResult& rows, std::vector<Found>& found) const {
    const int place = rows.column("place"), at_us = rows.column("at"), file = rows.column("file"),
              digest = rows.column("file_digest"), erased_by = rows.column("erased_by");
    for (int row = 0; row < rows.rows(); ++row) {
      const std::size_t at = derived_[place_of(rows, row, place, derived_.size())];
      if (inserted_[at])
        found[at].tombstone = FoundTombstone{rows.int8(row, at_us), std::string(rows.text(row, file)),
                                             rows.hash(row, digest), std::string(rows.text(row, erased_by))};
    }
  }

  static void read_runs_into(const PgResult& rows, std::span<const std::size_t> places, std::vector<Found>& found) {
    for (const auto& [place, run] : read_found_runs(rows, places.size())) found[places[place]].run = run;
  }

  void read_jobs_into(const PgResult& rows, std::vector<Found>& found) const {
    for (const auto& [place, job] : read_found_jobs(rows, named_.size())) {
      const auto& [at, branch] = named_[place];
      const std::vector<Fence>& fences = batch_[at].fences;
      for (std::size_t fence = 0; fence < fences.size(); ++fence)
        if (fences[fence].branch == branch) found[at].fenced[fence] = job;
    }
  }

  // Runs that should have been new but exist. Read without a lock: it is too late to take one in the order of locks.
  void find_existing(PgConnection& connection, std::vector<Found>& found) const {
    std::vector<std::size_t> existing;
    PgArray runs(PgType::uuid);
    for (const std::size_t at : order_) {
      if (!is_new(at) || inserted_[at]) continue;
      existing.push_back(at);
      runs.add(batch_[at].run.id);
    }
    if (existing.empty()) return;
    connection.send(statement("run_heads"), PgParameters().add(shard_).add(std::move(runs)));
    connection.sync();
    read_runs_into(connection.receive(), existing, found);
    for (const std::size_t at : existing)
      if (!found[at].run) found[at].run.emplace();  // an archive has removed it since: a conflict, and decided again
  }

  // An entry has landed if the log has its last event with its hash: the chain hash covers the events before it.
  void find_landed(PgConnection& connection, std::vector<Found>& found) const {
    PgArray runs(PgType::uuid);
    PgArray seqs(PgType::int8);
    PgArray hashes(PgType::bytes);
    for (const std::size_t at : order_) {
      runs.add(batch_[at].run.id);
      seqs.add(batch_[at].events.back().seq);
      hashes.add(hashes_[at].back());
    }
    connection.send(statement("landed"),
                    PgParameters().add(shard_).add(std::move(runs)).add(std::move(seqs)).add(std::move(hashes)));
    connection.sync();
    const PgResult rows = connection.receive();
    const int place = rows.column("place");
    for (int row = 0; row < rows.rows(); ++row) found[order_[place_of(rows, row, place, order_.size())]].landed = true;
    spdlog::info("A commit in doubt of {} entries {} landed.", order_.size(), rows.rows() > 0 ? "had" : "had not");
  }

  // Writes the entries that passed, and only those. If all passed, their rows are encoded already. A row that was
  // inserted to lock a new run is deleted again if its entry did not pass.
  void write(PgConnection& connection, const std::vector<Found>& found, const std::vector<Verdict>& verdicts) {
    std::vector<std::size_t> passed;
    PgArray undone(PgType::uuid);
    for (const std::size_t at : order_) {
      if (verdicts[at].kind == Verdict::Kind::committed && !found[at].landed)
        passed.push_back(at);  // a landed entry is committed, but its rows are in the log already
      else if (inserted_[at])
        undone.add(batch_[at].run.id);
    }
    for (const std::size_t at : passed)
      CHECK(stands_before(at, found[at]));  // pairs with judge(), before it is written
    if (undone.size() > 0) {
      connection.send(statement("delete_runs"), PgParameters().add(shard_).add(std::move(undone)));
    }
    if (passed.size() == batch_.size()) {
      all_.send(connection, shard_, commit_);
    } else if (!passed.empty()) {
      encode(passed).send(connection, shard_, commit_);
    }
    if (in_doubt_) connection.send(statement("wait_for_standbys"));
    connection.send(commit_statement());
    in_doubt_ = true;
    if (const std::optional<PostgresError> fault = end_pipeline(connection)) throw *fault;
    in_doubt_ = false;
  }

  // The locked row of the run stands where the entry begins.
  bool stands_before(std::size_t at, const Found& found) const {
    return is_new(at) ? inserted_[at] : found.run && found.run->head == batch_[at].head_before;
  }

  void set_head(std::size_t at, Verdict& verdict) const {
    verdict.head = batch_[at].events.back().seq;
    verdict.chain_hash = hashes_[at].back();
  }

  struct Named {
    std::size_t at;
    BranchId branch;
  };

  const Shard shard_;
  const std::span<const Entry> batch_;
  Notifier* const notifier_;
  const std::int64_t commit_;
  std::vector<std::size_t> order_;         // entries by run id
  std::vector<std::vector<Hash>> hashes_;  // of each entry's events
  Writes all_;
  NewRunRows new_runs_;
  std::vector<std::size_t> derived_;  // entries of new runs whose id may have been used before, in order
  PgArray derived_ids_{PgType::uuid};
  PgParameters lock_runs_;
  std::vector<std::size_t> locked_;  // entries, in the order of lock_runs_
  PgParameters lock_jobs_;
  std::vector<Named> named_;        // in the order of lock_jobs_
  std::vector<bool> inserted_;      // by this attempt
  bool in_doubt_;                   // a COMMIT was sent and its answer was lost
  bool optimistic_failed_ = false;  // set before the try: there is one, however it ends
};

// The parts of a batch that share a verdict: an entry by itself, or all that are linked. In the order of the batch.
std::vector<std::vector<std::size_t>> units_of(std::span<const Entry> batch) {
  std::vector<std::vector<std::size_t>> units;
  std::map<std::uint32_t, std::size_t> by_link;
  for (std::size_t at = 0; at < batch.size(); ++at) {
    const std::uint32_t link = batch[at].link;
    const auto [unit, is_new] = link == 0 ? std::pair(by_link.end(), true) : by_link.emplace(link, units.size());
    if (is_new) units.emplace_back();
    units[link == 0 ? units.size() - 1 : unit->second].push_back(at);
  }
  return units;
}

std::vector<Verdict> commit_whole(Placements& placements, Shard shard, std::span<const Entry> batch,
                                  Notifier* notifier) {
  Commit commit(shard, batch, notifier);
  return placements.run(shard, [&](PgConnection& connection) { return commit.attempt(connection); });
}

// The share of a batch's entries in the failure of their transaction.
enum class Blame : std::uint8_t {
  nothing,  // another attempt may pass, or none of this login
  right,    // a right or a table is missing that not all of them may need
  time,     // it took too long for the server or for an operator: some entry may always do
  values,   // some entry will always be refused
};

Blame blame_of(const PostgresError& fault) {
  const std::string_view code = fault.sqlstate();
  if (code == not_as_expected) return Blame::nothing;
  if (fault.is_about_values()) return Blame::values;
  if (code == query_canceled) return Blame::time;
  const bool is_right = code.starts_with("42") || (code.starts_with("55") && code != lock_not_available);
  return is_right ? Blame::right : Blame::nothing;
}

// Time and locks that others hold are no lasting refusal, of whatever batch.
[[noreturn]] void pass_on(const PostgresError& fault) {
  if (fault.sqlstate() != query_canceled && fault.sqlstate() != lock_not_available) throw PostgresError(fault);
  throw StoreUnavailable("Expected the database to commit within its limits of time, but it does not: " +
                         std::string(fault.what()));
}

// Commits a batch that was refused as a whole: it is halved until the refused entries stand alone, and all others are
// committed. A statement that timed out under load is not its entry's fault: an entry that times out alone is tried
// again, later and later, and refused once each try of it timed out while there was time for another event.
class DividedCommit {
 public:
  DividedCommit(Placements& placements, Shard shard, std::span<const Entry> batch, Notifier* notifier)
      : placements_(placements),
        shard_(shard),
        batch_(batch),
        notifier_(notifier),
        units_(units_of(batch)),
        verdicts_(batch.size()) {}

  std::vector<Verdict> commit(const PostgresError& fault) {
    divide(units_, fault);
    for (const int pause_ms : slow_pauses_ms) try_again_after(std::chrono::milliseconds(pause_ms));
    for (const Slow& slow : slow_) refuse(*slow.unit, slow.fault);
    // A right that this role lacks altogether is no entry's fault.
    if (doubtful_ && !has_taken_) throw *doubtful_;
    return std::move(verdicts_);
  }

 private:
  using Unit = std::vector<std::size_t>;
  using Units = std::span<const Unit>;
  struct Slow {  // it timed out alone
    const Unit* unit = nullptr;
    PostgresError fault;
  };
  static constexpr auto slow_pauses_ms = std::to_array<int>({100, 300, 900, 2'000});

  // REQUIRES: `units` together were refused with `fault`.
  void divide(Units units, const PostgresError& fault) {
    if (units.size() == 1) return judge_alone(units.front(), fault);
    const std::size_t half = units.size() / 2;
    for (const Units part : {units.first(half), units.subspan(half)})
      if (const std::optional<PostgresError> again = refusal_of(part)) divide(part, *again);
  }

  void judge_alone(const Unit& unit, const PostgresError& fault) {
    if (blame_of(fault) != Blame::time) return refuse(unit, fault);
    expect_time_for_another_event(fault);
    slow_.push_back({&unit, fault});
  }

  void try_again_after(std::chrono::milliseconds pause) {
    if (slow_.empty()) return;
    std::this_thread::sleep_for(pause);
    for (const Slow& slow : std::exchange(slow_, {}))
      if (const std::optional<PostgresError> again = refusal_of({slow.unit, 1})) judge_alone(*slow.unit, *again);
  }

  // Nothing: they are committed, or judged.
  std::optional<PostgresError> refusal_of(Units units) {
    try {
      take(units, commit_whole(placements_, shard_, entries_of(units), notifier_));
      return std::nullopt;
    } catch (const PostgresError& again) {
      if (blame_of(again) == Blame::nothing) pass_on(again);
      return again;
    }
  }

  // Adds an event of no run, and takes it back. Where even that has no time, all of the batch is later.
  void expect_time_for_another_event(const PostgresError& slow) {
    try {
      placements_.run(shard_, [&](PgConnection& connection) {
        connection.begin_pipeline();
        connection.send(begin_statement());
        connection.send(statement("try_event"), PgParameters().add(shard_));
        connection.sync();
        connection.finish();
        connection.execute("ROLLBACK");
      });
    } catch (const PostgresError& fault) {
      spdlog::debug("Expected another event to be added in time, but: {}.", fault.what());
      pass_on(slow);
    }
  }

  // In doubt: an attempt before may have lost its connection after its COMMIT.
  std::vector<Entry> entries_of(Units units) const {
    std::vector<Entry> entries;
    for (const Unit& unit : units)
      for (const std::size_t at : unit) {
        entries.push_back(batch_[at]);
        entries.back().in_doubt = entries.back().commit != 0;
      }
    return entries;
  }

  void take(Units units, std::vector<Verdict> verdicts) {
    std::size_t next = 0;
    for (const Unit& unit : units)
      for (const std::size_t at : unit) verdicts_[at] = std::move(verdicts[next++]);
    has_taken_ = true;
  }

  void refuse(std::span<const std::size_t> unit, const PostgresError& fault) {
    if (blame_of(fault) == Blame::right && !doubtful_) doubtful_ = fault;
    for (const std::size_t at : unit) {
      verdicts_[at].kind = Verdict::Kind::refused;
      verdicts_[at].fault = fault.what();
    }
  }

  Placements& placements_;
  const Shard shard_;
  const std::span<const Entry> batch_;
  Notifier* const notifier_;
  const std::vector<Unit> units_;
  std::vector<Verdict> verdicts_;
  std::vector<Slow> slow_;
  std::optional<PostgresError> doubtful_;  // about a right, and alone
  bool has_taken_ = false;                 // the database took some part
};

std::vector<Verdict> commit_or_divide(Placements& placements, Shard shard, std::span<const Entry> batch,
                                      Notifier* notifier) {
  try {
    return commit_whole(placements, shard, batch, notifier);
  } catch (const PostgresError& fault) {
    if (blame_of(fault) == Blame::nothing) pass_on(fault);
    return DividedCommit(placements, shard, batch, notifier).commit(fault);
  }
}

// Begins the transaction in which the runs are locked, in the order of their ids; leaves the pipeline open. A row that
// was altered is refused as a damaged one.
std::vector<LockedRun> lock_runs(PgConnection& connection, Shard shard, std::span<const KnownRun> known) {
  std::vector<std::size_t> order(known.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return known[a].id < known[b].id; });
  PgArray ids(PgType::uuid), of(PgType::uuid), after(PgType::int8);
  for (const std::size_t at : order) {
    ids.add(known[at].id);
    of.add(known[at].id);
    after.add(known[at].head);
  }
  connection.begin_pipeline();
  connection.send(begin_statement());
  connection.send(statement("lock_runs"), PgParameters().add(shard).add(std::move(ids)));
  connection.send(statement("missed_events"), PgParameters()
                                                  .add(shard)
                                                  .add(std::move(of))
                                                  .add(std::move(after))
                                                  .add(missed_events_max)
                                                  .add(missed_bytes_max(known.size())));
  connection.sync();
  connection.receive();
  std::vector<LockedRun> locked(known.size());
  try {
    for (const auto& [place, run] : read_found_runs(connection.receive(), order.size())) {
      locked[order[place]].head = run.head;
      locked[order[place]].chain_hash = run.chain_hash;
    }
    const PgResult rows = connection.receive();
    rows.expect_columns(event_columns);
    const int place = rows.column("place");
    for (int row = 0; row < rows.rows(); ++row)
      locked[order[place_of(rows, row, place, order.size())]].missed.push_back(read_event(rows, row));
  } catch (const CorruptHistory& corrupt) {
    throw PostgresError(std::string(data_corrupted), corrupt.what());
  }
  return locked;
}

// Locks those at `places`; the others are not given.
std::vector<LockedRun> lock_some(PgConnection& connection, Shard shard, std::span<const KnownRun> runs,
                                 std::span<const std::size_t> places) {
  std::vector<KnownRun> known;
  for (const std::size_t place : places) known.push_back(runs[place]);
  std::vector<LockedRun> all(runs.size(), run_not_given());
  std::vector<LockedRun> locked = lock_runs(connection, shard, known);
  for (std::size_t at = 0; at < places.size(); ++at) all[places[at]] = std::move(locked[at]);
  return all;
}

// Those of `places` whose runs can be locked and read: halved until each run that the database refuses stands alone.
std::vector<std::size_t> lockable(Placements& placements, Shard shard, std::span<const KnownRun> runs,
                                  std::span<const std::size_t> places) {
  try {
    placements.run(shard, [&](PgConnection& connection) {
      (void)lock_some(connection, shard, runs, places);
      connection.finish();
      connection.execute("ROLLBACK");
    });
    return {places.begin(), places.end()};
  } catch (const PostgresError& fault) {
    if (blame_of(fault) != Blame::values) pass_on(fault);
    if (places.size() == 1) {
      spdlog::warn("Expected to lock run {} and to read its events, but the database refuses: {}.",
                   to_string(runs[places.front()].id), fault.what());
      return {};
    }
  }
  const std::size_t half = places.size() / 2;
  std::vector<std::size_t> found = lockable(placements, shard, runs, places.first(half));
  const std::vector<std::size_t> others = lockable(placements, shard, runs, places.subspan(half));
  found.insert(found.end(), others.begin(), others.end());
  return found;
}

}  // namespace

std::vector<Verdict> commit_batch(Placements& placements, Shard shard, std::span<const Entry> batch,
                                  Notifier* notifier) {
  if (batch.empty()) return {};
  return commit_or_divide(placements, shard, batch, notifier);
}

LockedCommitted commit_locked_batch(Placements& placements, Shard shard, std::span<const KnownRun> runs,
                                    const DecideLocked& decide, Notifier& notifier) {
  LockedDecision decided;
  std::optional<Commit> commit;
  std::vector<std::size_t> places(runs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto attempt = [&](PgConnection& connection) -> LockedCommitted {
    if (commit) return {commit->attempt(connection)};  // the locks were lost after it had been decided
    decided = decide(lock_some(connection, shard, runs, places));
    if (decided.entries.empty()) {
      connection.finish();
      connection.execute("ROLLBACK");
      return {};
    }
    return commit.emplace(shard, decided.entries, decided.options.notify ? &notifier : nullptr)
        .attempt_locked(connection, decided.claim);
  };
  for (bool are_sorted_out = false;; are_sorted_out = true) {
    try {
      return placements.run(shard, attempt);
    } catch (const PostgresError& fault) {
      const Blame blame = blame_of(fault);
      if (commit && blame != Blame::nothing)
        return {DividedCommit(placements, shard, decided.entries, decided.options.notify ? &notifier : nullptr)
                    .commit(fault)};
      if (commit || are_sorted_out || blame != Blame::values) pass_on(fault);
    }
    places = lockable(placements, shard, runs, places);  // the others are decided without those
  }
}

}  // namespace cairn
