#include "workers/gateway/gateway.hpp"

#include <algorithm>
#include <utility>

#include "engine/state.hpp"
#include "workers/session/session_tools.hpp"
#include "workers/session/sweeper.hpp"

namespace cairn {
namespace {

constexpr std::int64_t short_history_events = 16;  // of a run whose history comes with the claim
constexpr TimeUs lacking_pause_us = 1'000'000;     // a step that the worker has nothing for
constexpr TimeUs refused_pause_us = 2'000'000;
constexpr TimeUs again_us = 500'000;       // a call that failed
constexpr TimeUs arrives_us = 10'000'000;  // a claim that was given is on its way to the worker for so long at most
constexpr TimeUs met_us = 2'000'000;       // the same, for claims that another process gave
constexpr const char* no_label = "ok";

CommitterOptions committer_options(const GatewayOptions& options, const ToolTable& tools) {
  CommitterOptions made;
  made.shards = options.shards;
  made.lanes = options.lanes;
  made.actor = "gateway";
  made.default_timeout_ms = options.default_timeout_ms;
  made.tools = &tools;
  made.new_id = options.new_id;
  made.draw = options.draw;
  made.new_commit = options.new_commit;
  return made;
}

RemoteWorkerRef make_nobody() { return std::make_shared<RemoteWorker>(RemoteWorkerSays{"", "", {"default"}, {}, {}}); }

// As hold_text() names it.
std::string hold_of(const ClaimId& claim) {
  HeldJob held;
  held.run = claim.run;
  held.job.branch = claim.fence.branch;
  held.epoch = claim.fence.epoch;
  return hold_text(held);
}

std::string where(const HeldJob& job) {
  return "step " + std::to_string(job.job.step) + " of run " + to_string(job.run);
}

// An outcome without a label leaves by the handler's only one.
void set_label(Outcome& outcome, const RunState& state, const Step& step, const HandlerTable& handlers) {
  if (step.goal >= 0 || !outcome.label.empty()) return;
  const Handler* handler = handlers.find(state.node(step).handler());
  outcome.label = handler != nullptr && handler->labels.size() == 1 ? handler->labels.front() : no_label;
}

bool is_same(const Command& report, const EventBody& end) {
  if (const auto* complete = std::get_if<CompleteStep>(&report)) {
    if (const auto* succeeded = std::get_if<StepSucceeded>(&end))
      return (complete->outcome.label.empty() || succeeded->label == complete->outcome.label) &&
             parse_stored(succeeded->patch) == complete->outcome.patch;
    // An outcome that its node does not take is recorded as a failed attempt.
    const auto* failed = std::get_if<StepFailed>(&end);
    if (failed != nullptr) return failed->error == "invalid";
    const auto* closed = std::get_if<SubGoalClosed>(&end);
    return closed != nullptr && closed->status == GoalStatus::succeeded &&
           parse_stored(closed->outputs) == complete->outcome.patch;
  }
  const Failure& failure = std::get<FailStep>(report).failure;
  if (const auto* failed = std::get_if<StepFailed>(&end))
    return failed->error == failure.error && failed->message == failure.message;
  const auto* closed = std::get_if<SubGoalClosed>(&end);
  return closed != nullptr && closed->error == failure.error && closed->message == failure.message;
}

SessionId worker_of(const EventBody& end) {
  if (const auto* succeeded = std::get_if<StepSucceeded>(&end)) return succeeded->worker;
  if (const auto* failed = std::get_if<StepFailed>(&end)) return failed->worker;
  return std::get<SubGoalClosed>(end).worker;
}

bool is_lost(const EventBody& end) {
  const auto* failed = std::get_if<StepFailed>(&end);
  return failed != nullptr && failed->error == lost_error;
}

std::size_t bytes_of(const StepInput& input) {
  return input.with.dump().size() + input.data.dump().size() + input.given.dump().size() + input.inputs.dump().size();
}

}  // namespace

std::string_view to_string(ReportStatus status) {
  switch (status) {
    case ReportStatus::committed:
      return "committed";
    case ReportStatus::already:
      return "already";
    case ReportStatus::stale:
      return "stale";
    case ReportStatus::closed:
      return "closed";
    case ReportStatus::conflict:
      return "conflict";
    case ReportStatus::invalid:
      return "invalid";
  }
  CHECK(false);
}

Gateway::Gateway(GatewayOptions options, const ToolTable& tools)
    : options_(std::move(options)),
      own_tools_(tools),
      known_tools_(tools),
      nobody_(make_nobody()),
      committer_(committer_options(options_, known_tools_)) {
  committer_.set_capacity({.is_accepting = true, .free_slots = 0, .refills = 0});
}

// --- time -----------------------------------------------------------------------------------------------------------

void Gateway::tick(TimeUs steady_us) {
  steady_ = std::max(steady_, steady_us);
  now_ = clock_.now(steady_);
  if (is_ready_) committer_.tick(steady_, now_);
  for (auto& [queues, source] : sources_) {
    if (source.waiting.empty() || steady_ < source.poll_at) continue;
    source.poll_at = steady_ + options_.poll_ms * 1'000;
    for (Source::Place& place : source.places) place.wants = true;
  }
}

void Gateway::notified() {
  for (auto& [queues, source] : sources_)
    for (Source::Place& place : source.places) place.wants = true;
}

TimeUs Gateway::due_us() const {
  TimeUs due = is_ready_ ? committer_.due_us() : never_us;
  if (!asks_.empty() || is_served()) due = std::min(due, is_looking_ ? never_us : look_at_);
  for (const auto& [queues, source] : sources_)
    if (!source.waiting.empty()) due = std::min(due, source.poll_at);
  for (const auto& [id, asked] : asks_)
    if (asked.is_waiting) due = std::min(due, asked.until);
  for (const auto& [at, one] : later_) due = std::min(due, at);
  return due;
}

GatewayActions Gateway::drain_actions() {
  std::vector<GatewayCall> again;
  std::erase_if(later_, [&](auto& one) {
    if (one.first > steady_) return false;
    again.push_back(std::move(one.second));
    return true;
  });
  for (GatewayCall& one : again) call(std::move(one));
  look_if_due();
  if (is_ready_) {
    claim_for_waiting();
    while (dispatch_commits()) claim_for_waiting();
  }
  short_histories_.clear();
  under_way_ += static_cast<std::int64_t>(actions_.calls.size());
  return std::exchange(actions_, {});
}

void Gateway::look_if_due() {
  if (is_looking_ || steady_ < look_at_ || (asks_.empty() && !is_served())) return;
  is_looking_ = true;
  look_at_ = steady_ + options_.look_ms * 1'000;
  LookAround look;
  look.known = known_graphs_;
  for (const auto& [session, remote] : remotes_) {
    const bool is_asking = std::any_of(asks_.begin(), asks_.end(), [&session = session](const auto& entry) {
      return entry.second.answer.session == session;
    });
    if (is_asking || steady_ - remote.contact_at < options_.contact_ms * 1'000) look.beating.push_back(session);
  }
  call(std::move(look));
}

void Gateway::later(GatewayCall one) { later_.emplace_back(steady_ + again_us, std::move(one)); }

// --- asks -----------------------------------------------------------------------------------------------------------

void Gateway::ask(AskId id, Ask ask) {
  contact_at_ = steady_;
  Asked& asked = asks_[id];
  asked.ask = std::move(ask);
  asked.worker = asked.ask.worker ? asked.ask.worker : nobody_;
  asked.until = steady_ + asked.ask.wait_us;
  asked.answer.results.resize(asked.ask.finished.size());
  asked.open_reports = asked.ask.finished.size();
  const auto found = remotes_.find(asked.ask.session);
  const bool is_known = found != remotes_.end() && found->second.caller == asked.ask.caller;
  const bool says_the_same = asked.ask.worker == nullptr ||
                             (is_known && found->second.worker && found->second.worker->says() == asked.worker->says());
  if (is_known && says_the_same) {
    if (asked.ask.worker) asked.worker = found->second.worker;
    found->second.contact_at = steady_;
    asked.answer.session = asked.ask.session;
    return begin(id, asked);
  }
  call(OpenRemote{id, asked.ask.session, asked.ask.caller, asked.ask.worker, options_.new_session()});
}

void Gateway::on_answer(OpenRemote& opened) {
  const auto found = asks_.find(opened.ask);
  if (found == asks_.end()) return;
  Asked& asked = found->second;
  asked.answer.session = opened.answer.session;
  if (opened.answer.is_foreign) {
    asked.answer.is_foreign = true;
    asked.open_reports = 0;
    asked.answer.results.clear();
    return finish(opened.ask);
  }
  if (opened.answer.session != 0) {
    const auto [entry, is_new] = remotes_.try_emplace(opened.answer.session);
    Remote& remote = entry->second;
    if (is_new) remote.met_at = steady_;
    if (is_new) remote.was_opened_elsewhere = opened.answer.session == opened.named;
    remote.caller = opened.caller;
    if (opened.worker) remote.worker = opened.worker;
    remote.contact_at = steady_;
  }
  begin(opened.ask, asked);
}

void Gateway::begin(AskId id, Asked& asked) {
  asked.is_open = true;
  for (const std::string& queue : asked.worker->says().queues)
    if (asked.ask.worker) queues_.insert(queue);
  if (is_ready_) begin_reports(id, asked);
}

void Gateway::begin_reports(AskId id, Asked& asked) {
  for (std::size_t place = 0; place < asked.ask.finished.size(); ++place) {
    Ask::Report& one = asked.ask.finished[place];
    forget_given(one.claim.fence.session, to_text(one.claim));
    const Ticket ticket = ++last_ticket_;
    Task& task = tasks_[ticket];
    task = {.ask = id, .is_report = true, .place = place, .claim = one.claim, .result = std::move(one.result)};
    if (one.is_release) {
      // The store leaves it alone if it is held no more as the fence says.
      const bool is_own = one.claim.fence.session == asked.answer.session;
      if (is_own) call(LetGo{{{one.claim.run, one.claim.fence}}, now_ + one.pause_ms * 1'000});
      set_result(task, is_own ? ReportStatus::committed : ReportStatus::stale, is_own ? "" : "The hold was lost.");
      tasks_.erase(ticket);
      continue;
    }
    committer_.await_state(ticket, one.claim.run, one.claim.head);
  }
  settle(id);
}

void Gateway::gone(AskId id) {
  const auto found = asks_.find(id);
  if (found == asks_.end()) return;
  found->second.is_gone = true;
  settle(id);
}

void Gateway::hurry(AskId id) {
  const auto found = asks_.find(id);
  if (found == asks_.end()) return;
  found->second.until = steady_;
  settle(id);
}

void Gateway::take_back(const std::vector<ClaimId>& claims) {
  LetGo lost{{}, now_};
  for (const ClaimId& claim : claims) {
    const auto remote = remotes_.find(claim.fence.session);
    if (remote == remotes_.end() || !remote->second.given.contains(to_text(claim))) continue;
    forget_given(claim.fence.session, to_text(claim));
    lost.holds.emplace_back(claim.run, claim.fence);
  }
  if (!lost.holds.empty()) call(std::move(lost));
}

std::int32_t Gateway::room_of(const Asked& asked) const {
  if (asked.is_gone || asked.ask.closes) return 0;
  const auto taken = static_cast<std::int32_t>(asked.preparing + asked.answer.claims.size());
  return std::max(asked.ask.max - taken, 0);
}

void Gateway::set_result(const Task& task, ReportStatus status, std::string says) {
  const auto found = asks_.find(task.ask);
  CHECK(found != asks_.end() && found->second.open_reports > 0);  // an ask stays until all its reports are answered
  found->second.answer.results[task.place] = {status, std::move(says)};
  --found->second.open_reports;
}

// Answers the ask if nothing more is to come; else it waits in its source for a claim.
void Gateway::settle(AskId id) {
  const auto found = asks_.find(id);
  if (found == asks_.end()) return;
  Asked& asked = found->second;
  if (!asked.is_open || !is_ready_ || asked.open_reports > 0 || asked.preparing > 0 || asked.is_claiming) return;
  const bool has_something = !asked.answer.results.empty() || !asked.answer.claims.empty();
  if (room_of(asked) == 0 || (has_something && asked.is_waiting) || steady_ >= asked.until + again_us)
    return finish(id);
  if (!asked.is_waiting) {
    asked.is_waiting = true;
    Source& source = source_of(asked);
    // While no one waited, notifications were not listened to.
    if (source.waiting.empty() && std::exchange(asked.is_new, false))
      for (Source::Place& place : source.places) place.wants = true;
    source.waiting.push_back(id);
    return;
  }
  if (steady_ >= asked.until) finish(id);
}

void Gateway::finish(AskId id) {
  const auto found = asks_.find(id);
  Asked& asked = found->second;
  if (asked.is_waiting) std::erase(source_of(asked).waiting, id);
  const SessionId closed = asked.ask.closes && !asked.answer.is_foreign ? asked.answer.session : 0;
  if (closed != 0) {
    remotes_.erase(closed);
    call(CloseSession{closed});
  }
  if (const auto remote = remotes_.find(asked.answer.session); remote != remotes_.end())
    for (const RemoteClaim& claim : asked.answer.claims)
      remote->second.given[to_text(claim.id)] = {steady_, claim.input.node};
  if (asked.is_gone) {
    std::vector<ClaimId> claims;
    for (const RemoteClaim& claim : asked.answer.claims) claims.push_back(claim.id);
    take_back(claims);
    asked.answer.claims.clear();
  }
  actions_.answers.emplace_back(id, std::move(asked.answer));
  asks_.erase(found);
  if (closed != 0) end_asks_of(closed);
}

// A step that another request of the session waits for would be held by no session.
void Gateway::end_asks_of(SessionId session) {
  std::vector<AskId> ids;
  for (auto& [id, asked] : asks_) {
    if (asked.answer.session != session) continue;
    asked.ask.max = 0;
    ids.push_back(id);
  }
  for (const AskId id : ids) settle(id);
}

std::optional<std::vector<std::string>> Gateway::hears(SessionId session, const std::string& caller,
                                                       const std::vector<ClaimId>& has) {
  contact_at_ = steady_;
  const auto found = remotes_.find(session);
  if (found == remotes_.end() || found->second.caller != caller) return std::nullopt;
  Remote& remote = found->second;
  remote.contact_at = steady_;
  std::vector<std::string> nodes;
  std::set<std::string> there;
  for (const ClaimId& claim : has) {
    const std::string text = to_text(claim);
    const auto given = remote.given.find(text);
    nodes.push_back(given == remote.given.end() ? "" : given->second.node);
    there.insert(text);
  }
  std::vector<ClaimId> lost;
  for (const auto& [text, given] : remote.given)
    if (!there.contains(text) && steady_ - given.at >= arrives_us) lost.push_back(*parse_claim_id(text));
  take_back(lost);
  if (remote.was_opened_elsewhere && steady_ - remote.met_at >= met_us) {
    remote.was_opened_elsewhere = false;
    FindHolds find{session};
    for (const ClaimId& claim : has) find.known.insert(hold_of(claim));
    call(std::move(find));
  }
  return nodes;
}

// The process before may have died between a claim and the answer that was to bring it.
void Gateway::on_answer(FindHolds& found) {
  const auto remote = remotes_.find(found.session);
  if (remote == remotes_.end()) return;
  for (const auto& [text, given] : remote->second.given) found.known.insert(hold_of(*parse_claim_id(text)));
  for (const auto& [ticket, task] : tasks_) found.known.insert(hold_of(task.claim));
  LetGo lost{{}, now_};
  for (const HeldJob& job : found.answer)
    if (!found.known.contains(hold_text(job))) lost.holds.emplace_back(job.run, claim_of(job, 0).fence);
  if (!lost.holds.empty()) call(std::move(lost));
}

// --- claims ---------------------------------------------------------------------------------------------------------

Gateway::Source& Gateway::source_of(const Asked& asked) {
  Source& source = sources_[asked.worker->says().queues];
  if (source.places.empty()) source.places.resize(static_cast<std::size_t>(options_.shards));
  return source;
}

void Gateway::claim_for_waiting() {
  std::vector<AskId> dry;
  for (auto& [queues, source] : sources_) {
    std::deque<AskId> still;
    for (const AskId id : source.waiting) {
      Asked& asked = asks_.at(id);
      if (claim_for(id, asked, source)) continue;
      still.push_back(id);
      const bool has_something = !asked.answer.results.empty() || !asked.answer.claims.empty();
      if (has_something || steady_ >= asked.until) dry.push_back(id);
    }
    source.waiting = std::move(still);
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
    asked.is_claiming = true;
    asked.is_waiting = false;
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
  if (asked != asks_.end()) asked->second.is_claiming = false;
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
  asked->second.is_claiming = false;
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
  const RunState* state = committer_.state(found->second.job.run);
  state == nullptr ? leave(said.ticket, now_) : prepare(said.ticket, *state);
}

void Gateway::prepare(Ticket ticket, const RunState& state) {
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
  if (work.blobs.empty() && !work.recorded) return give(ticket, std::move(work));
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
  std::size_t bytes = bytes_of(work.input);
  for (const RemoteClaim& one : asked.answer.claims) bytes += bytes_of(one.input);
  if (!asked.answer.claims.empty() && bytes > options_.claimed_bytes_max) return leave(ticket, now_);
  const std::int64_t timeout_ms = work.timeout_ms > 0 ? work.timeout_ms : options_.default_timeout_ms;
  std::string handler = work.handler == nullptr ? "" : work.handler->name;
  asked.answer.claims.push_back({task.claim, std::move(work.input), std::move(handler), timeout_ms});
  drop(ticket);
}

// --- reports --------------------------------------------------------------------------------------------------------

// `state` null: the run has ended. The command is made even where it comes too late, to be compared with what became of
// the step.
void Gateway::report(Ticket ticket, const RunState* state) {
  Task& task = tasks_.at(ticket);
  const Asked& asked = asks_.at(task.ask);
  const ClaimId& claim = task.claim;
  const Step* step = state == nullptr ? nullptr : find_step(*state, claim.fence.step);
  const bool is_open = step != nullptr && step->attempt == claim.attempt && !is_ended(state->status);
  if (step != nullptr && *task.result) set_label(**task.result, *state, *step, asked.worker->handlers());
  Job job;
  job.branch = claim.fence.branch;
  job.step = claim.fence.step;
  job.attempt = claim.attempt;
  std::vector<Blob> blobs;
  const GraphRef graph = state == nullptr ? nullptr : state->graph;
  static const Graph no_graph{};
  const TimeUs began = std::clamp(claim.claimed_at, std::min(is_open ? step->opened_at : now_, now_), now_);
  const Executor executor = asked.worker->executor(claim.fence.session);
  task.command =
      executor.report(job, began, *std::exchange(task.result, std::nullopt), graph ? *graph : no_graph, blobs);
  if (!is_open || claim.fence.session != asked.answer.session) {
    task.stage = Stage::judged;
    return call(FindEnd{ticket, claim});
  }
  if (const std::optional<Job> open = job_of(*state, claim.fence.branch)) task.queue = open->queue;
  if (blobs.empty()) return submit(ticket);
  call(KeepBlobs{ticket, shard_of(claim.run, options_.shards), std::move(blobs), *task.command});
}

void Gateway::on_answer(KeepBlobs& keep) {
  const auto found = tasks_.find(keep.slot);
  if (found == tasks_.end()) return;
  found->second.command = std::move(keep.command);
  submit(keep.slot);
}

void Gateway::submit(Ticket ticket) {
  Task& task = tasks_.at(ticket);
  task.stage = Stage::writes;
  Submission submission{.ticket = ticket, .run = task.claim.run, .command = *task.command, .fence = task.claim.fence};
  const auto asked = asks_.find(task.ask);
  const bool takes_more = asked != asks_.end() && room_of(asked->second) > 0;
  if (task.is_report && takes_more && !task.queue.empty()) submission.keep_in = task.queue;
  committer_.submit(std::move(submission));
}

void Gateway::refused(Ticket ticket, const Error& error) {
  Task& task = tasks_.at(ticket);
  if (!task.is_report) {
    note(Note::Level::warning, "Expected to give " + where(task.job) + " to a worker over HTTP, but: " + error.message);
    return leave(ticket, error.code == Code::corrupt ? never_us : now_ + refused_pause_us);
  }
  const bool is_late = error.code == Code::stale || error.code == Code::closed || error.code == Code::conflict ||
                       error.code == Code::not_found;
  if (is_late && task.command) {
    task.stage = Stage::judged;
    return call(FindEnd{ticket, task.claim});
  }
  set_result(task, is_late ? ReportStatus::stale : ReportStatus::invalid, error.message);
  drop(ticket);
}

// The same report may be on its way in another request.
bool Gateway::is_being_written(const Task& judged) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [&judged](const auto& entry) {
    const Task& other = entry.second;
    return other.is_report && other.stage == Stage::writes && other.claim == judged.claim;
  });
}

// A report that was not written: the history says what became of its attempt.
void Gateway::judge(const FindEnd& found) {
  const auto entry = tasks_.find(found.ticket);
  if (entry == tasks_.end()) return;
  const Task& task = entry->second;
  const std::optional<EventBody>& end = found.answer;
  if (!end && is_being_written(task)) return later(found);
  if (!end || is_lost(*end) || worker_of(*end) != task.claim.fence.session) {
    set_result(
        task, ReportStatus::stale,
        end ? "The hold was lost, and another attempt counts." : "The hold was lost, or the step was cancelled.");
  } else if (is_same(*task.command, *end)) {
    set_result(task, ReportStatus::already, "");
  } else {
    set_result(task, ReportStatus::conflict, "The attempt has ended by another report of this claim.");
  }
  drop(found.ticket);
}

void Gateway::replied(Reply reply) {
  const auto found = tasks_.find(reply.ticket);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  if (!reply.status) return refused(reply.ticket, reply.status.error());
  if (task.stage == Stage::reads_run) {
    const RunState* state = committer_.state(task.claim.run);
    if (task.is_report) return report(reply.ticket, state);
    return state == nullptr ? leave(reply.ticket, now_ + refused_pause_us) : prepare(reply.ticket, *state);
  }
  if (task.is_report) set_result(task, ReportStatus::committed, "");
  if (reply.next) take(task.ask, *std::move(reply.next));
  drop(reply.ticket);
}

// --- the committer --------------------------------------------------------------------------------------------------

bool Gateway::dispatch_commits() {
  CommitterActions actions = committer_.drain_actions();
  if (actions.empty()) return false;
  read(std::move(actions.loads));
  for (const CommitBatch& batch : actions.commits) call(Commit{batch});
  for (LockedCommit& commit : actions.locked_commits) call(CommitLocked{std::move(commit)});
  for (PutSnapshot& one : actions.snapshots) call(KeepSnapshot{std::move(one)});
  for (const RunId& run : actions.without_snapshots) call(DropSnapshots{run});
  for (const Offered& offered : actions.offered) {
    if (offered.run_at_us > now_) continue;
    for (auto& [queues, source] : sources_)
      if (std::find(queues.begin(), queues.end(), offered.queue) != queues.end())
        for (Source::Place& place : source.places) place.wants = true;
  }
  CHECK(actions.created_held.empty());  // there is no room for new branches
  for (Reply& reply : actions.replies) replied(std::move(reply));
  return true;
}

void Gateway::read(std::vector<Load> loads) {
  std::erase_if(loads, [this](const Load& load) {
    if (load.after_seq != 0 || load.graphs) return false;
    auto claimed = short_histories_.extract(load.run);
    if (claimed) committer_.history(std::move(claimed.mapped()));
    return static_cast<bool>(claimed);
  });
  for (ReadHistories& one : calls_of(std::move(loads))) call(std::move(one));
}

void Gateway::on_answer(ReadHistories& read) {
  for (const GraphRef& graph : read.answer.graphs.graphs) committer_.add_graph(graph, false);
  for (History& history : read.answer.histories) committer_.history(std::move(history));
}

void Gateway::on_failure(const ReadHistories& read) {
  for (const Load& load : read.loads) committer_.load_failed(load.run);
}

// --- what is around -------------------------------------------------------------------------------------------------

void Gateway::on_answer(LookAround& look) {
  is_looking_ = false;
  clock_.observe(look.answer.database_us, look.answer.steady_us, look.answer.steady_us);
  known_graphs_ = std::move(look.known);
  for (const std::string& fault : look.answer.graphs.faults) note(Note::Level::warning, fault);
  for (const GraphRef& graph : look.answer.graphs.graphs) committer_.add_graph(graph, true);
  limited_queues_.clear();
  for (const QueueSettings& one : look.answer.queue_settings)
    if (one.is_limited()) limited_queues_.insert(one.name);
  learn(look.answer.sessions);
  QueueNames open = queues_;
  for (const std::string& limited : limited_queues_) open.erase(limited);
  committer_.set_open_queues(std::move(open));
  now_ = clock_.now(steady_);
  if (std::exchange(is_ready_, true)) return;
  committer_.tick(steady_, now_);
  std::vector<AskId> waiting;
  for (const auto& [id, asked] : asks_)
    if (asked.is_open) waiting.push_back(id);
  for (const AskId id : waiting) begin_reports(id, asks_.at(id));
}

// A session that was reaped is forgotten: when it asks again, it gets a new one.
void Gateway::learn(const std::vector<SessionRow>& sessions) {
  known_tools_ = own_tools_;
  std::set<SessionId> there;
  for (const SessionRow& row : sessions) {
    there.insert(row.id);
    for (auto& [name, facts] : tools_of(row)) known_tools_.try_emplace(name, facts);
  }
  const TimeUs opened_after = steady_ - options_.look_ms * 1'000;
  std::erase_if(remotes_, [&](const auto& entry) {
    return !there.contains(entry.first) && entry.second.contact_at < opened_after;
  });
}

// --- all calls ------------------------------------------------------------------------------------------------------

void Gateway::answered(GatewayCall one) {
  --under_way_;
  CHECK(under_way_ >= 0);
  std::visit([this](auto& of) { on_answer(of); }, one);
}

void Gateway::failed(const GatewayCall& one) {
  --under_way_;
  CHECK(under_way_ >= 0);
  std::visit([this](const auto& of) { on_failure(of); }, one);
}

}  // namespace cairn
