#include "workers/gateway/remote_claims.hpp"

#include <utility>

#include "engine/state.hpp"
#include "workers/session/sweeper.hpp"

namespace cairn {
namespace {

constexpr std::int64_t short_history_events = 16;  // of a run whose history comes with the claim
constexpr TimeUs lacking_pause_us = 1'000'000;     // a step that the worker has nothing for
constexpr TimeUs refused_pause_us = 2'000'000;

std::string where(const HeldJob& job) {
  return "step " + std::to_string(job.job.step) + " of run " + to_string(job.run);
}

std::size_t bytes_of(const StepInput& input) {
  return input.with.dump().size() + input.data.dump().size() + input.given.dump().size() + input.inputs.dump().size();
}

}  // namespace

// --- claimed --------------------------------------------------------------------------------------------------------

void RemoteClaims::claim_for_waiting() {
  for (auto& [one, run] : asks_.next_claims_alone()) claim(std::move(one), run);
  for (AskLines::Claiming& one : asks_.next_claims()) claim(std::move(one), {});
  asks_.answer_overdue();
}

// `only`: one step of this run.
void RemoteClaims::claim(AskLines::Claiming one, std::optional<RunId> only) {
  const Asked& asked = asks_.at(one.ask);
  ClaimSteps claim;
  claim.ask = one.ask;
  claim.request.shard = one.shard;
  claim.request.queues = std::move(one.queues);
  claim.request.session = asked.answer.session;
  claim.request.limit = only ? 1 : asked.room();
  if (only) claim.request.only_runs = {*only};
  if (!only) claim.request.not_of = sessions_.passed_by(asked.answer.session);
  claim.request.now_us = context_.now;
  claim.request.default_timeout_ms = context_.options.default_timeout_ms;
  claim.request.short_history_max = short_history_events;
  context_.call(std::move(claim));
}

void RemoteClaims::end_claim(const ClaimSteps& claim, bool was_full) {
  if (!claim.request.only_runs.empty()) return asks_.claimed_alone(claim.ask);
  asks_.claimed(claim.ask, claim.request.queues, claim.request.shard, was_full);
}

void RemoteClaims::claimed(ClaimSteps& claim) {
  end_claim(claim, std::ssize(claim.answer.jobs) >= claim.request.limit);
  for (ShortHistory& one : claim.answer.histories)
    short_histories_.insert_or_assign(one.run, History{.run = one.run, .snapshot = {}, .rows = std::move(one.events)});
  for (HeldJob& job : claim.answer.jobs) take(claim.ask, std::move(job));
  asks_.answer_if_complete(claim.ask);
}

void RemoteClaims::claim_failed(const ClaimSteps& claim) {
  end_claim(claim, false);
  asks_.answer_if_complete(claim.ask);
}

void RemoteClaims::take(AskId id, HeldJob job) {
  Asked* asked = asks_.find(id);
  if (asked == nullptr || asked->room() == 0) return offer(job, context_.now);
  ++asked->preparing;
  const Ticket ticket = context_.new_ticket();
  const RunId run = job.run;
  const std::int64_t head = job.run_head;
  const ClaimId claim = claim_of(job, context_.now);
  claims_[ticket] = {.ask = id, .job = std::move(job), .id = claim};
  committer_.await_state(ticket, run, head);
}

void RemoteClaims::answer_loads(std::vector<Load>& loads) {
  std::erase_if(loads, [this](const Load& load) {
    if (load.after_seq != 0 || load.graphs) return false;
    auto claimed = short_histories_.extract(load.run);
    if (claimed) committer_.history(std::move(claimed.mapped()));
    return static_cast<bool>(claimed);
  });
}

void RemoteClaims::add_holds(std::set<std::string>& known) const {
  for (const auto& [ticket, claim] : claims_) known.insert(hold_of(claim.id));
}

// --- left -----------------------------------------------------------------------------------------------------------

// The step is offered again, to any worker that is free.
void RemoteClaims::offer(const HeldJob& job, TimeUs run_at_us) {
  context_.call(LetGo{{{job.run, {job.job.branch, job.session, job.epoch, job.job.step}}}, run_at_us});
}

void RemoteClaims::leave(Ticket ticket, TimeUs run_at_us) {
  const Claim& claim = claims_.at(ticket);
  offer(claim.job, run_at_us);
  if (claim.is_alone) sessions_.forget(claim.id);
  drop(ticket);
}

void RemoteClaims::drop(Ticket ticket) {
  const auto found = claims_.find(ticket);
  const AskId id = found->second.ask;
  claims_.erase(found);
  --asks_.at(id).preparing;
  asks_.answer_if_complete(id);
}

// --- prepared -------------------------------------------------------------------------------------------------------

void RemoteClaims::replied(const Reply& reply) {
  Claim& claim = claims_.at(reply.ticket);
  if (!reply.status) return refused(reply.ticket, claim, reply.status.error());
  if (claim.is_written) return recorded(reply.ticket, claim);
  prepare(reply.ticket, claim, committer_.state(claim.job.run));
}

// A step that was lost twice is given to a session that has no other one, and its row says so first: if the worker dies
// of it, no other step is charged. False: it is left to others, or claimed again once its session has no other one, or
// its turn comes when the row says it.
bool RemoteClaims::may_begin(Ticket ticket, Claim& claim, const RunState& state) {
  const Step* step = find_step(state, claim.job.job.step);
  if (claim.is_alone || step == nullptr || !runs_alone(*step)) return true;
  Asked& asked = asks_.at(claim.ask);
  if (sessions_.has_claims(claim.job.session) || asked.preparing > 1 || !asked.answer.claims.empty()) {
    const bool makes_room = sessions_.make_room(claim.job.session, claim.job.run);
    leave(ticket, context_.now + (makes_room ? 0 : lacking_pause_us));
    return false;
  }
  asked.ask.max = 1;
  sessions_.execute_alone(claim.job.session, claim.id);
  context_.call(SayAlone{{claim.job.session, hold_text(claim.job)}, ticket});
  return false;
}

void RemoteClaims::said_alone(const SayAlone& said) {
  if (!said.hold.empty()) sessions_.said_alone(said.session);
  const auto found = claims_.find(said.ticket);
  if (found == claims_.end()) return;
  found->second.is_alone = true;
  prepare(said.ticket, found->second, committer_.state(found->second.job.run));
}

// `state` null: the run cannot be read now.
void RemoteClaims::prepare(Ticket ticket, Claim& claim, const RunState* state) {
  if (state == nullptr) return leave(ticket, context_.now + refused_pause_us);
  const Asked& asked = asks_.at(claim.ask);
  const Executor executor = asked.worker->executor(claim.job.session);
  Prepared prepared = NotOpen{};
  try {
    prepared = executor.prepare(*state, claim.job.job);
  } catch (const std::bad_alloc&) {
    prepared = failed(claim, memory_used_up());
  } catch (const std::exception& thrown) {  // resolved inputs that went missing: the attempt fails
    prepared = failed(claim, {"invalid", thrown.what(), false, {}});
  }
  if (std::holds_alternative<NotOpen>(prepared)) {
    committer_.doubt(claim.job.run);
    return leave(ticket, context_.now + refused_pause_us);
  }
  if (const auto* missing = std::get_if<Missing>(&prepared)) {
    context_.note(Note::Level::debug,
                  "A worker over HTTP gives back " + where(claim.job) + ": it has no " + missing->what + ".");
    const bool is_passed_by = sessions_.pass_by(claim.job.session, claim.job.run, claim.job.job.step);
    return leave(ticket, context_.now + (is_passed_by ? 0 : lacking_pause_us));
  }
  if (auto* command = std::get_if<Command>(&prepared)) return submit(ticket, claim, std::move(*command));
  if (!may_begin(ticket, claim, *state)) return;
  Work& work = std::get<Work>(prepared);
  const bool reads_none = work.blobs.empty() || asked.ask.by_reference;
  if (reads_none && !work.recorded) return give(ticket, claim, std::move(work));
  Graphs known = work.recorded ? committer_.graphs() : Graphs{};
  context_.call(ReadBlobs{ticket, shard_of(claim.job.run, context_.options.shards),
                          std::make_shared<Work>(std::move(work)), std::move(known), &asked.worker->handlers(),
                          records_, texts_});
}

Command RemoteClaims::failed(const Claim& claim, Failure failure) const {
  return FailStep{claim.job.job.step, claim.job.job.attempt, std::move(failure), claim.job.session, context_.now};
}

void RemoteClaims::blobs_read(ReadBlobs& read) {
  const auto found = claims_.find(read.slot);
  if (found == claims_.end()) return;
  Claim& claim = found->second;
  if (!read.work->answer) return give(read.slot, claim, std::move(*read.work));
  const RunState* state = committer_.state(claim.job.run);
  if (state == nullptr) return leave(read.slot, context_.now);
  std::vector<Blob> blobs;
  const Executor executor = asks_.at(claim.ask).worker->executor(claim.job.session);
  Command command = executor.report(claim.job.job, context_.now, *std::move(read.work->answer), *state->graph, blobs);
  if (blobs.empty()) return submit(read.slot, claim, std::move(command));
  const Shard shard = shard_of(claim.job.run, context_.options.shards);
  context_.call(KeepBlobs{read.slot, shard, std::move(blobs), std::move(command)});
}

void RemoteClaims::blobs_kept(KeepBlobs& keep) {
  const auto found = claims_.find(keep.slot);
  if (found != claims_.end()) submit(keep.slot, found->second, std::move(keep.command));
}

// --- given ----------------------------------------------------------------------------------------------------------

void RemoteClaims::give(Ticket ticket, Claim& claim, Work work) {
  Asked& asked = asks_.at(claim.ask);
  if (asked.takes_none()) return leave(ticket, context_.now);
  if (!work.input.tool.empty() && !work.input.inputs.is_object()) {
    const std::string says = "Expected the inputs of tool " + work.input.tool + " to be a JSON object.";
    return submit(ticket, claim, failed(claim, {"invalid", says, false, {}}));
  }
  const std::size_t bytes = asked.bytes + bytes_of(work.input);
  if (!asked.answer.claims.empty() && bytes > context_.options.claimed_bytes_max) return leave(ticket, context_.now);
  asked.bytes = bytes;
  const std::int64_t timeout_ms = timeout_of(work.timeout_ms, context_.options.default_timeout_ms);
  std::string handler = work.handler == nullptr ? "" : work.handler->name;
  asked.answer.claims.push_back({claim.id, std::move(work.input), std::move(handler), timeout_ms});
  drop(ticket);
}

// Records in the worker's place what needs none.
void RemoteClaims::submit(Ticket ticket, Claim& claim, Command command) {
  claim.is_written = true;
  committer_.submit({.ticket = ticket, .run = claim.job.run, .command = std::move(command), .fence = claim.id.fence});
}

void RemoteClaims::recorded(Ticket ticket, const Claim& claim) {
  if (claim.is_alone) sessions_.forget(claim.id);
  drop(ticket);
}

void RemoteClaims::refused(Ticket ticket, const Claim& claim, const Error& error) {
  context_.note(Note::Level::warning,
                "Expected to give " + where(claim.job) + " to a worker over HTTP, but: " + error.message);
  leave(ticket, error.code == Code::corrupt ? never_us : context_.now + refused_pause_us);
}

}  // namespace cairn
