#include "workers/gateway/remote_reports.hpp"

#include <algorithm>
#include <utility>

#include "engine/state.hpp"
#include "workers/gateway/report_rules.hpp"
#include "workers/session/attempt_note.hpp"

namespace cairn {
namespace {

constexpr const char* altered = "Expected the claim as it was given, but its last two numbers are others.";
constexpr const char* hold_lost = "The hold was lost.";
constexpr const char* of_handler =
    "Expected a patch, for the claim is a handler's, but found outputs, which tools have.";
constexpr const char* never_held = "Expected a claim of an attempt that was made, but there is none.";

// No one has held such a claim, as far as the run has come.
bool never_was(const RunState& state, const Step* open, const ClaimId& claim) {
  return claim.fence.step > state.last_step || (open != nullptr && claim.attempt > open->attempt);
}

}  // namespace

void RemoteReports::begin(AskId id) {
  Asked& asked = asks_.at(id);
  for (std::size_t place = 0; place < asked.ask.finished.size(); ++place) {
    Ask::Report& one = asked.ask.finished[place];
    if (sessions_.is_altered(one.claim)) {
      asks_.set_result(id, place, {ReportStatus::stale, altered});
      continue;
    }
    sessions_.forget(one.claim);
    const Ticket ticket = context_.new_ticket();
    Report& report = reports_[ticket];
    report = {
        .ask = id, .place = place, .claim = one.claim, .result = std::move(one.result), .has_outputs = one.has_outputs};
    if (one.is_release)
      release(ticket, report, one.pause_ms);
    else
      committer_.await_state(ticket, one.claim.run, one.claim.head);
  }
}

void RemoteReports::give_up(AskId id) {
  std::vector<Ticket> left;
  for (const auto& [ticket, report] : reports_)
    if (report.ask == id && report.stage != Stage::writes) left.push_back(ticket);
  for (const Ticket ticket : left) end(ticket, {ReportStatus::stale, "Its client was gone, and it is to come again."});
}

// Whether the claim is still held is known by the store, in the write itself.
void RemoteReports::release(Ticket ticket, Report& report, std::int64_t pause_ms) {
  if (report.claim.fence.session == asks_.at(report.ask).answer.session) {
    report.stage = Stage::writes;
    return context_.call(LetGo{{{report.claim.run, report.claim.fence}}, context_.now + pause_ms * 1'000, ticket});
  }
  asks_.set_result(report.ask, report.place, {ReportStatus::stale, hold_lost});
  reports_.erase(ticket);
}

void RemoteReports::add_holds(std::set<std::string>& known) const {
  for (const auto& [ticket, report] : reports_) known.insert(hold_of(report.claim));
}

// --- decided --------------------------------------------------------------------------------------------------------

// `state` null: the run has ended. The command is made even where it comes too late, to be compared with what became of
// the step.
void RemoteReports::decide(Ticket ticket, Report& report, const RunState* state) {
  const Asked& asked = asks_.at(report.ask);
  const ClaimId& claim = report.claim;
  const Step* step = state == nullptr ? nullptr : find_step(*state, claim.fence.step);
  const bool is_open = step != nullptr && step->attempt == claim.attempt && !is_ended(state->status);
  const bool is_taken = is_open && claim.fence.session == asked.answer.session;
  if (is_taken && report.has_outputs && step->goal < 0) return end(ticket, {ReportStatus::invalid, of_handler});
  add_digest(*report.result);
  if (step != nullptr) complete_report(*report.result, *state, *step, asked.worker->handlers());
  Job job;
  job.branch = claim.fence.branch;
  job.step = claim.fence.step;
  job.attempt = claim.attempt;
  std::vector<Blob> blobs;
  const GraphRef graph = state == nullptr ? nullptr : state->graph;
  static const Graph no_graph{};
  const TimeUs earliest = std::min(is_open ? step->opened_at : context_.now, context_.now);
  const TimeUs began = std::clamp(claim.claimed_at, earliest, context_.now);
  const TimeUs took = context_.now - began;
  if (is_taken && is_worth_a_line(*report.result, took))
    context_.actions.notes.push_back(
        attempt_note(*report.result, took, fields_of_attempt(claim.run, claim.fence, claim.attempt, state)));
  const Executor executor = asked.worker->executor(claim.fence.session);
  report.command =
      executor.report(job, began, *std::exchange(report.result, std::nullopt), graph ? *graph : no_graph, blobs);
  if (state != nullptr && never_was(*state, step, claim)) return end(ticket, {ReportStatus::stale, never_held});
  if (!is_taken) {
    report.moved = std::move(blobs);
    return find_end(ticket, report);
  }
  if (const std::optional<Job> open = job_of(*state, claim.fence.branch)) report.queue = open->queue;
  if (blobs.empty()) return submit(ticket, report);
  const Shard shard = shard_of(claim.run, context_.options.shards);
  context_.call(KeepBlobs{ticket, shard, std::move(blobs), *report.command});
}

void RemoteReports::blobs_kept(KeepBlobs& keep) {
  const auto found = reports_.find(keep.slot);
  if (found == reports_.end()) return;
  found->second.command = std::move(keep.command);
  submit(keep.slot, found->second);
}

void RemoteReports::submit(Ticket ticket, Report& report) {
  report.stage = Stage::writes;
  Submission submission{
      .ticket = ticket, .run = report.claim.run, .command = *report.command, .fence = report.claim.fence};
  const bool takes_next = asks_.at(report.ask).room() > 0 && !sessions_.makes_room(report.claim.fence.session);
  if (takes_next && !report.queue.empty()) submission.keep_in = report.queue;
  committer_.submit(std::move(submission));
}

// --- written, or not ------------------------------------------------------------------------------------------------

void RemoteReports::replied(Reply reply) {
  Report& report = reports_.at(reply.ticket);
  if (!reply.status) return refused(reply.ticket, report, reply.status.error());
  if (report.stage == Stage::reads_run) return decide(reply.ticket, report, committer_.state(report.claim.run));
  // Its worker goes on with the branch's next step, which is held already.
  if (reply.next) claims_.take(report.ask, *std::move(reply.next));
  end(reply.ticket, {ReportStatus::committed, ""});
}

void RemoteReports::refused(Ticket ticket, Report& report, const Error& error) {
  const bool is_late = error.code == Code::stale || error.code == Code::closed || error.code == Code::conflict ||
                       error.code == Code::not_found;
  if (is_late && report.command) return find_end(ticket, report);
  end(ticket, {is_late ? ReportStatus::stale : ReportStatus::invalid, error.message});
}

void RemoteReports::find_end(Ticket ticket, Report& report) {
  report.stage = Stage::judged;
  to_find_.push_back(ticket);
  find_next();
}

void RemoteReports::find_next() {
  while (!to_find_.empty() && !has(to_find_.front())) to_find_.pop_front();  // given up
  if (is_finding_ || to_find_.empty()) return;
  const Ticket ticket = to_find_.front();
  to_find_.pop_front();
  is_finding_ = true;
  Report& report = reports_.at(ticket);
  const auto* complete = std::get_if<CompleteStep>(&*report.command);
  context_.call(FindEnd{ticket, report.claim, complete == nullptr ? Json() : complete->outcome.patch,
                        std::exchange(report.moved, {})});
}

bool RemoteReports::end_found(const FindEnd& found) {
  is_finding_ = false;
  find_next();
  const auto entry = reports_.find(found.ticket);
  if (entry == reports_.end()) return true;
  const Report& report = entry->second;
  if (!found.answer.event && is_being_written(report.claim)) return false;
  const Asked& asked = asks_.at(report.ask);
  const HandlerTable* declared = asked.answer.session == 0 ? nullptr : &asked.worker->handlers();
  end(found.ticket, judge_report(*report.command, found.answer, report.claim.fence.session, declared));
  return true;
}

// The same report may be on its way in another request.
bool RemoteReports::is_being_written(const ClaimId& claim) const {
  return std::any_of(reports_.begin(), reports_.end(), [&claim](const auto& entry) {
    return entry.second.stage == Stage::writes && entry.second.claim == claim;
  });
}

void RemoteReports::let_go(const LetGo& let_go) {
  if (!has(let_go.report)) return;
  end(let_go.report,
      let_go.answer > 0 ? ReportReply{ReportStatus::committed, ""} : ReportReply{ReportStatus::stale, hold_lost});
}

void RemoteReports::end(Ticket ticket, ReportReply reply) {
  const auto found = reports_.find(ticket);
  const AskId ask = found->second.ask;
  asks_.set_result(ask, found->second.place, std::move(reply));
  reports_.erase(found);
  asks_.answer_if_complete(ask);
}

}  // namespace cairn
