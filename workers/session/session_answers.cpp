// The answers of the store: for each call of store_calls.hpp what the session makes of its answer, and of its failure.
#include <utility>

#include "workers/session/session.hpp"

namespace cairn {
namespace {

constexpr TimeUs no_one_waits_us = 1'000'000;  // for so long it is believed

}  // namespace

// --- the session's row ----------------------------------------------------------------------------------------------

template <>
void Session::on_answer(OpenSession& open) {
  own_row_.written();
  lifecycle_.opened();
  observe_clock(open.answer.database_us, open.answer.steady_us);
  tick_parts();
  known_graphs_ = std::move(open.known);
  learn(open.answer.graphs, true);
  learn(open.answer.queue_limits);
  write_row_if_changed();
  for (const RunId& run : home_of_) call(SetHome{id(), run, true});  // the store takes it of sessions on record only
}

template <>
void Session::on_failure(const OpenSession&) {
  own_row_.failed();
  lifecycle_.open_failed();
}

template <>
void Session::on_answer(CloseSession&) {
  lifecycle_.closed();
}
template <>
void Session::on_failure(const CloseSession&) {
  lifecycle_.closed();
}

// --- graphs, histories, commits -------------------------------------------------------------------------------------

template <>
void Session::on_answer(ReadGraphs& read) {
  known_graphs_ = std::move(read.known);
  learn(read.answer, true);
  write_row_if_changed();
  for (ReadHistories& one : calls_of(after_names_.ended())) call(std::move(one));
  if (after_names_.wants_reading()) read_graphs();
}
template <>
void Session::on_failure(const ReadGraphs&) {  // read again in a few seconds, or with the next load that wants them
  for (const Load& load : after_names_.ended()) committer_.load_failed(load.run);
  if (after_names_.wants_reading()) read_graphs();
}

template <>
void Session::on_answer(ReadHistories& read) {
  learn(read.answer.graphs, false);
  for (History& history : read.answer.histories) committer_.history(std::move(history));
}
template <>
void Session::on_failure(const ReadHistories& read) {
  for (const Load& load : read.loads) committer_.load_failed(load.run);
}

template <>
void Session::on_answer(Commit& commit) {
  committer_.verdicts(commit.batch.batch, std::move(commit.answer));
}
template <>
void Session::on_failure(const Commit& commit) {
  committer_.batch_failed(commit.batch.batch);
}

template <>
void Session::on_answer(CommitLocked& locked) {
  committer_.verdicts(locked.commit.batch, std::move(locked.answer.verdicts));
  pool_.refilled(std::move(locked.answer.claimed));
}
template <>
void Session::on_failure(const CommitLocked& locked) {
  committer_.batch_failed(locked.commit.batch);
}

template <>
void Session::on_answer(KeepSnapshot&) {}
template <>
void Session::on_failure(const KeepSnapshot&) {}  // a cache

// --- jobs -----------------------------------------------------------------------------------------------------------

template <>
void Session::on_answer(ClaimJobs& claim) {
  claims_asked_.erase(claims_asked_.find({claim.request.shard, claim.asked_us}));
  queues_.claimed(claim.request, claim.answer, steady_ + no_one_waits_us);
  pool_.claimed(claim.request.shard, std::move(claim.answer.jobs));
  for (ShortHistory& one : claim.answer.histories)
    short_histories_.insert_or_assign(one.run, History{.run = one.run, .snapshot = {}, .rows = std::move(one.events)});
  // Runs that ours had called before this session began are ours too.
  if (!options_.only_runs.empty() && pool_.finds_nothing() && !lifecycle_.is_draining())
    sweeping_.find_children(options_.only_runs);
}
template <>
void Session::on_failure(const ClaimJobs& claim) {
  claims_asked_.erase(claims_asked_.find({claim.request.shard, claim.asked_us}));
  pool_.claim_failed(claim.request.shard);
}

template <>
void Session::on_answer(TakeStarts& take) {
  resolve(paced_.taken(take));
}
template <>
void Session::on_failure(const TakeStarts& take) {
  resolve(paced_.failed(take));
}

template <>
void Session::on_answer(AskForOthers& ask) {
  queues_.turns().answered(ask, steady_, steady_ + no_one_waits_us);
}
template <>
void Session::on_failure(const AskForOthers& ask) {
  queues_.turns().failed(ask);
}

template <>
void Session::on_answer(LetGo&) {}
template <>
void Session::on_failure(const LetGo& let_go) {
  if (!lifecycle_.is_draining()) call(let_go);  // else the other sessions find the holds when this one is gone
}

// --- large values ---------------------------------------------------------------------------------------------------

template <>
void Session::on_answer(ReadBlobs& read) {
  steps_.blobs_read(read);
}
template <>
void Session::on_failure(const ReadBlobs& read) {
  steps_.blobs_failed(read.slot);
}

template <>
void Session::on_answer(KeepBlobs& keep) {
  steps_.blobs_kept(keep);
}
template <>
void Session::on_failure(const KeepBlobs& keep) {
  steps_.blobs_failed(keep.slot);
}

// --- a step that runs alone -----------------------------------------------------------------------------------------

template <>
void Session::on_answer(SetAlone& set) {
  const HeldJob* job = steps_.alone_set(set);
  if (job != nullptr) committer_.await_state(steps_.alone_slot(), job->run, job->run_head);
}
template <>
void Session::on_failure(const SetAlone& set) {
  steps_.alone_not_set(set);
}

// --- steps that may not be lost -------------------------------------------------------------------------------------

template <>
void Session::on_answer(SetBegun& set) {
  steps_.begun_set(set);
  for (const Ticket slot : set.slots)
    if (const HeldJob* job = steps_.job(slot)) committer_.await_state(slot, job->run, job->run_head);
}
template <>
void Session::on_failure(const SetBegun& set) {
  steps_.begun_not_set(set);
}

// --- what stays here -------------------------------------------------------------------------------------------------

template <>
void Session::on_answer(SetHome&) {}
template <>
void Session::on_failure(const SetHome&) {}  // the run's steps may go elsewhere, which costs time

// --- progress -------------------------------------------------------------------------------------------------------

template <>
void Session::on_answer(KeepProgress&) {
  steps_.progress_kept();
}
template <>
void Session::on_failure(const KeepProgress& keep) {
  steps_.progress_not_kept(keep);
}

// --- other sessions -------------------------------------------------------------------------------------------------

template <>
void Session::on_answer(ScanSessions& scan) {
  observe_clock(scan.answer.database_us, scan.answer.steady_us);
  learn(scan.answer.queue_limits);
  learn(scan.answer.sessions, scan.asked_us);
  dispatch_holds();  // an answer of this round may have brought what the scan takes for a stray
  const Sweeper::Findings found = sweeping_.scanned(scan, ours(), lifecycle_.is_draining());
  if (options_.only_runs.empty()) {
    crowd_.seen(scan.answer.sessions, queues_.served(), now_, session_silence_ms * 1'000);
    pool_.poll_every(crowd_.poll_us(options_.poll_ms * 1'000));
    sweeping_.rest_for(crowd_.scan_pause_us(sweeping_.pause_us()));
  }
  if (!unknown_tools_.empty()) scan_again();
  for (const Ticket slot : found.stopped) steps_.stop(slot);
  if (!found.is_forgotten || lifecycle_.is_draining()) return;
  note(Note::Level::warning,
       "Session " + std::to_string(id()) + " was declared dead while it lives; opening it again.");
  write_row();
}
template <>
void Session::on_failure(const ScanSessions&) {
  sweeping_.scan_failed();
}

template <>
void Session::on_answer(ReapSession& reap) {
  if (!reap.answer.empty())
    note(Note::Level::info, "Session " + std::to_string(reap.session) + " is gone; " +
                                std::to_string(reap.answer.size()) + " steps that it held are taken over.");
  sweeping_.reaped(reap);
}
template <>
void Session::on_failure(const ReapSession&) {}  // named again by the next scan

template <>
void Session::on_answer(TieEnds&) {}
template <>
void Session::on_failure(const TieEnds&) {}  // found again by a later scan

// --- all calls: after the specializations, which it uses -----------------------------------------------------------

void Session::answered(StoreCall call) {
  --under_way_;
  CHECK(under_way_ >= 0);
  lifecycle_.answered(under_way_);
  std::visit([this](auto& one) { on_answer(one); }, call);
  dispatch_steps();
  dispatch_sweeps();
}

// The lasting refusal of a single entry is a verdict. If a whole batch is refused again and again, whatever becomes of
// the others, this login has lost its rights or its tables: another session may have them.
void Session::end_if_refused(const StoreCall& call, StoreFailure kind, const std::string& refusal) {
  constexpr int refusals_max = 5;  // over some seconds: each is tried again after a pause
  if (kind == StoreFailure::passing || !refusal_.empty()) return;
  if (kind == StoreFailure::final) {
    refusal_ = refusal;
    note(Note::Level::error, refusal_ + ". Session " + std::to_string(id()) + " ends.");
    return hurry();
  }
  const auto* commit = std::get_if<Commit>(&call);
  const auto* locked = std::get_if<CommitLocked>(&call);
  if (commit == nullptr && locked == nullptr) return;
  const std::uint64_t batch = commit != nullptr ? commit->batch.batch : locked->commit.batch;
  if (committer_.batch_refused(batch) < refusals_max) return;
  refusal_ =
      "Expected the database to take what session " + std::to_string(id()) + " commits, but it refuses: " + refusal;
  note(Note::Level::error, refusal_ + "; it gives back what it holds, and ends.");
  hurry();
}

void Session::failed(const StoreCall& call, StoreFailure kind, const std::string& refusal) {
  --under_way_;
  CHECK(under_way_ >= 0);
  end_if_refused(call, kind, refusal);
  std::visit([this](const auto& one) { on_failure(one); }, call);
  dispatch_steps();
}

}  // namespace cairn
