// Claims of the gateway: steps on their way from the store to the asks that wait for them.
#include <algorithm>
#include <utility>

#include "engine/state.hpp"
#include "workers/gateway/gateway.hpp"
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

Gateway::Source& Gateway::source_of(const Asked& asked) {
  Source& source = sources_[asked.worker->says().queues];
  if (source.places.empty()) source.places.resize(static_cast<std::size_t>(options_.shards));
  return source;
}

void Gateway::claim_for_waiting() {
  std::vector<AskId> dry;
  for (auto& [queues, source] : sources_) {
    auto at = source.waiting.begin();
    while (at != source.waiting.end() && source.wants())
      at = claim_for(*at, asks_.at(*at), source) ? source.waiting.erase(at) : std::next(at);
    for (const AskId id : std::exchange(source.in_haste, {})) dry.push_back(id);
  }
  for (const auto& [until, id] : deadlines_) {
    if (until > steady_) break;
    dry.push_back(id);
  }
  for (const AskId id : dry) settle(id);
}

// False: no shard has anything now, as far as is known, or the session executes something alone.
bool Gateway::claim_for(AskId id, Asked& asked, Source& source) {
  const auto remote = remotes_.find(asked.answer.session);
  if (remote != remotes_.end() && !remote->second.alone.empty()) return false;
  for (std::size_t n = 0; n < source.places.size(); ++n) {
    const std::size_t shard = (source.next + n) % source.places.size();
    Source::Place& place = source.places[shard];
    if (!place.wants || place.is_claiming) continue;
    source.next = shard + 1;
    source.poll_at = steady_ + options_.poll_ms * 1'000;
    place.is_claiming = true;
    place.wants = false;
    wait_no_more(id, asked);
    asked.at = Asked::At::claims;
    ClaimSteps claim;
    claim.ask = id;
    claim.request.shard = static_cast<Shard>(shard);
    claim.request.queues = asked.worker->says().queues;
    claim.request.session = asked.answer.session;
    claim.request.limit = room_of(asked);
    claim.request.now_us = now_;
    claim.request.default_timeout_ms = options_.default_timeout_ms;
    claim.request.short_history_max = short_history_events;
    call(std::move(claim));
    return true;
  }
  return false;
}

void Gateway::on_answer(ClaimSteps& claim) {
  const auto source = sources_.find(claim.request.queues);
  CHECK(source != sources_.end());
  Source::Place& place = source->second.places[static_cast<std::size_t>(claim.request.shard)];
  place.is_claiming = false;
  place.wants = place.wants || std::ssize(claim.answer.jobs) >= claim.request.limit;
  const auto asked = asks_.find(claim.ask);
  if (asked != asks_.end()) asked->second.at = Asked::At::works;
  for (ShortHistory& one : claim.answer.histories)
    short_histories_.insert_or_assign(one.run, History{.run = one.run, .snapshot = {}, .rows = std::move(one.events)});
  for (HeldJob& job : claim.answer.jobs) take(claim.ask, std::move(job));
  settle(claim.ask);
}

void Gateway::on_failure(const ClaimSteps& claim) {
  Source& source = sources_.at(claim.request.queues);
  Source::Place& place = source.places[static_cast<std::size_t>(claim.request.shard)];
  place.is_claiming = false;
  const auto asked = asks_.find(claim.ask);
  if (asked == asks_.end()) return;
  asked->second.at = Asked::At::works;
  settle(claim.ask);
}

void Gateway::take(AskId id, HeldJob job) {
  const auto found = asks_.find(id);
  if (found == asks_.end() || room_of(found->second) == 0) return offer(job, now_);
  ++found->second.preparing;
  const Ticket ticket = ++last_ticket_;
  const RunId run = job.run;
  const std::int64_t head = job.run_head;
  const ClaimId claim = claim_of(job, now_);
  tasks_[ticket] = {.ask = id, .job = std::move(job), .claim = claim};
  committer_.await_state(ticket, run, head);
}

// The step is offered again, to any worker that is free.
void Gateway::offer(const HeldJob& job, TimeUs run_at_us) {
  call(LetGo{{{job.run, {job.job.branch, job.session, job.epoch, job.job.step}}}, run_at_us});
}

void Gateway::drop(Ticket ticket) {
  const auto found = tasks_.find(ticket);
  const AskId id = found->second.ask;
  const bool is_report = found->second.is_report;
  tasks_.erase(found);
  const auto asked = asks_.find(id);
  if (asked == asks_.end()) return;
  if (!is_report) --asked->second.preparing;
  settle(id);
}

void Gateway::leave(Ticket ticket, TimeUs run_at_us) {
  const Task& task = tasks_.at(ticket);
  offer(task.job, run_at_us);
  if (task.is_alone) forget_given(task.job.session, to_text(task.claim));
  drop(ticket);
}

void Gateway::forget_given(SessionId session, const std::string& claim) {
  const auto remote = remotes_.find(session);
  if (remote == remotes_.end()) return;
  remote->second.given.erase(claim);
  if (claim != remote->second.alone) return;
  remote->second.alone.clear();
  call(SayAlone{{session, ""}, 0});
}

// A step that was lost twice is given to a session that has no other one, and its row says so first: if the worker dies
// of it, no other step is charged. False: it is left to others, or its turn comes when the row says it.
bool Gateway::may_begin(Ticket ticket, const RunState& state) {
  Task& task = tasks_.at(ticket);
  const Step* step = find_step(state, task.job.job.step);
  if (task.is_alone || step == nullptr || !runs_alone(*step)) return true;
  Asked& asked = asks_.at(task.ask);
  const auto remote = remotes_.find(task.job.session);
  const bool has_others = remote == remotes_.end() || !remote->second.given.empty() || !remote->second.alone.empty() ||
                          asked.preparing > 1 || !asked.answer.claims.empty();
  if (has_others) {
    leave(ticket, now_ + lacking_pause_us);
    return false;
  }
  asked.ask.max = 1;
  remote->second.alone = to_text(task.claim);
  call(SayAlone{{task.job.session, hold_text(task.job)}, ticket});
  return false;
}

void Gateway::on_answer(SayAlone& said) {
  const auto found = tasks_.find(said.ticket);
  if (found == tasks_.end()) return;
  found->second.is_alone = true;
  prepare(said.ticket, committer_.state(found->second.job.run));
}

// `found` null: the run cannot be read now.
void Gateway::prepare(Ticket ticket, const RunState* found) {
  if (found == nullptr) return leave(ticket, now_ + refused_pause_us);
  const RunState& state = *found;
  if (!may_begin(ticket, state)) return;
  Task& task = tasks_.at(ticket);
  const Asked& asked = asks_.at(task.ask);
  const Executor executor = asked.worker->executor(task.job.session);
  Prepared prepared = NotOpen{};
  try {
    prepared = executor.prepare(state, task.job.job);
  } catch (const std::bad_alloc&) {
    prepared = Command(FailStep{task.job.job.step, task.job.job.attempt, memory_used_up(), task.job.session, now_});
  } catch (const std::exception& thrown) {  // resolved inputs that went missing: the attempt fails
    prepared = Command(FailStep{
        task.job.job.step, task.job.job.attempt, {"invalid", thrown.what(), false, {}}, task.job.session, now_});
  }
  if (std::holds_alternative<NotOpen>(prepared)) {
    committer_.doubt(task.job.run);
    return leave(ticket, now_ + refused_pause_us);
  }
  if (const auto* missing = std::get_if<Missing>(&prepared)) {
    note(Note::Level::debug, "A worker over HTTP gives back " + where(task.job) + ": it has no " + missing->what + ".");
    return leave(ticket, now_ + lacking_pause_us);
  }
  if (auto* command = std::get_if<Command>(&prepared)) {
    task.command = std::move(*command);
    return submit(ticket);
  }
  Work& work = std::get<Work>(prepared);
  const bool reads_none = work.blobs.empty() || asked.ask.by_reference;
  if (reads_none && !work.recorded) return give(ticket, std::move(work));
  Graphs known = work.recorded ? committer_.graphs() : Graphs{};
  call(ReadBlobs{ticket, shard_of(task.job.run, options_.shards), std::make_shared<Work>(std::move(work)),
                 std::move(known), &asked.worker->handlers(), records_, texts_});
}

void Gateway::on_answer(ReadBlobs& read) {
  const auto found = tasks_.find(read.slot);
  if (found == tasks_.end()) return;
  if (!read.work->answer) return give(read.slot, std::move(*read.work));
  Task& task = found->second;
  const RunState* state = committer_.state(task.job.run);
  if (state == nullptr) return leave(read.slot, now_);
  std::vector<Blob> blobs;
  const Executor executor = asks_.at(task.ask).worker->executor(task.job.session);
  task.command = executor.report(task.job.job, now_, *std::move(read.work->answer), *state->graph, blobs);
  if (blobs.empty()) return submit(read.slot);
  call(KeepBlobs{read.slot, shard_of(task.job.run, options_.shards), std::move(blobs), *task.command});
}

void Gateway::give(Ticket ticket, Work work) {
  Task& task = tasks_.at(ticket);
  Asked& asked = asks_.at(task.ask);
  if (asked.is_gone) return leave(ticket, now_);
  if (!work.input.tool.empty() && !work.input.inputs.is_object()) {
    task.command =
        FailStep{task.job.job.step,
                 task.job.job.attempt,
                 {"invalid", "Expected the inputs of tool " + work.input.tool + " to be a JSON object.", false, {}},
                 task.job.session,
                 now_};
    return submit(ticket);
  }
  const std::size_t bytes = asked.bytes + bytes_of(work.input);
  if (!asked.answer.claims.empty() && bytes > options_.claimed_bytes_max) return leave(ticket, now_);
  asked.bytes = bytes;
  const std::int64_t timeout_ms = work.timeout_ms > 0 ? work.timeout_ms : options_.default_timeout_ms;
  std::string handler = work.handler == nullptr ? "" : work.handler->name;
  asked.answer.claims.push_back({task.claim, std::move(work.input), std::move(handler), timeout_ms});
  drop(ticket);
}

// Its run refused what was to be recorded in the worker's place.
void Gateway::cannot_give(Ticket ticket, const Error& error) {
  note(Note::Level::warning,
       "Expected to give " + where(tasks_.at(ticket).job) + " to a worker over HTTP, but: " + error.message);
  leave(ticket, error.code == Code::corrupt ? never_us : now_ + refused_pause_us);
}

}  // namespace cairn
