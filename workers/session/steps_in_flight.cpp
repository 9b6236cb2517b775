#include "workers/session/steps_in_flight.hpp"

#include <algorithm>
#include <utility>

#include "storage/commit_rules.hpp"
#include "workers/runs/history.hpp"
#include "workers/runs/trace_ids.hpp"
#include "workers/session/attempt_note.hpp"

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs lacking_pause_us = 1'000'000;  // a step whose handler is not here
constexpr TimeUs fell_short_pause_us = 1'000'000;
constexpr TimeUs refused_pause_us = 2'000'000;
constexpr TimeUs room_wait_max_us = 10'000'000;
constexpr TimeUs preparing_max_us = (deadline_grace_ms - 1'000) * 1'000;  // the hold's deadline counts from the claim
constexpr std::size_t parsed_bytes = 8;  // what a byte of JSON takes once it is parsed: an array of small numbers

std::string step_text(const HeldJob& job, const char* word = "step ") {
  return word + std::to_string(job.job.step) + " of run " + to_string(job.run);
}

// An input that takes less is not counted: those of all slots together fit next to the others.
constexpr std::size_t inline_memory_min = 1u << 20;

// An estimate. It is of composed values, so no deeper than json_depth_max.
std::size_t composed_bytes(const Json& value) {
  constexpr std::size_t node_bytes = 64;  // of a field, or of a text
  std::size_t bytes = sizeof(Json);
  if (value.is_string()) bytes += node_bytes + value.get_ref<const std::string&>().size();
  if (value.is_object())
    for (auto field = value.begin(); field != value.end(); ++field)
      bytes += node_bytes + field.key().size() + composed_bytes(field.value());
  if (value.is_array())
    for (const Json& part : value) bytes += composed_bytes(part);
  return bytes;
}

std::size_t composed_bytes(const StepInput& input) {
  std::size_t bytes = 0;
  for (const Json* part : {&input.with, &input.data, &input.given, &input.inputs}) bytes += composed_bytes(*part);
  for (const GoalView& goal : input.plan) bytes += composed_bytes(goal.inputs) + composed_bytes(goal.outputs);
  return bytes;
}

ProgressPlace place_of(const HeldJob& held) { return {held.run, held.job.step, held.job.attempt}; }

// The time at which the state wants the job; 0: it does not say.
TimeUs wanted_at(const RunState* state, const Job& job) {
  if (state == nullptr) return 0;
  for (const Job& wanted : jobs_of(*state))
    if (wanted.branch == job.branch && wanted.step == job.step && wanted.run_at_us < never_us) return wanted.run_at_us;
  return 0;
}

}  // namespace

StepsInFlight::StepsInFlight(const Executor& executor, StepOptions options, SessionActions& outside)
    : executor_(executor), options_(options), outside_(outside) {}

const HeldJob& StepsInFlight::begin(Ticket slot, HeldJob job) {
  Step& step = steps_[slot];
  step.job = std::move(job);
  return step.job;
}

const HeldJob* StepsInFlight::job(Ticket slot) const {
  const auto found = steps_.find(slot);
  return found == steps_.end() ? nullptr : &found->second.job;
}

void StepsInFlight::note(Note::Level level, std::string text, const Step& step) {
  outside_.notes.push_back({level, std::move(text), fields_of(step)});
}

// The fields by which a line of the log leads to the history, the metrics and the trace; the last two once the run's
// state is read.
Json StepsInFlight::fields_of(const Step& step) const {
  const HeldJob& held = step.job;
  Json fields = {{"run", to_string(held.run)},
                 {"step", held.job.step},
                 {"attempt", held.job.attempt},
                 {"worker", options_.session}};
  if (step.graph == nullptr) return fields;
  fields["trace"] = step.trace.empty() ? trace_id(held.run, {}) : step.trace;
  fields["graph"] = step.graph->name;
  fields["node"] = step.graph->node(step.node).name;
  return fields;
}

void StepsInFlight::drain_actions(Actions& drained) {
  begin_reading();
  drained.reports.clear();
  drained.ended.clear();
  drained.room_for.clear();
  drained.doubted.clear();
  drained.lacking_in.clear();
  drained.with_room.clear();
  std::swap(drained, actions_);
}

std::vector<Sweeper::Executing> StepsInFlight::executing() const {
  std::vector<Sweeper::Executing> executing;
  executing.reserve(steps_.size());
  for (const auto& [slot, step] : steps_)
    executing.push_back(
        {slot, {step.job.run, step.job.job.branch, step.job.epoch}, step.at == At::running, step.began});
  return executing;
}

// --- executing ------------------------------------------------------------------------------------------------------

Prepared StepsInFlight::prepared(const Step& step, const RunState& state) const {
  try {
    return executor_.prepare(state, step.job.job);
  } catch (const std::bad_alloc&) {
    return Command(FailStep{step.job.job.step, step.job.job.attempt, memory_used_up(), options_.session, now_});
  } catch (const std::exception& thrown) {  // resolved inputs that went missing: the attempt fails
    return Command(FailStep{
        step.job.job.step, step.job.job.attempt, {"invalid", thrown.what(), false, {}}, options_.session, now_});
  }
}

void StepsInFlight::execute(Ticket slot, const RunState* state, const Graphs& graphs) {
  const auto found = steps_.find(slot);
  if (found == steps_.end()) return;
  if (is_draining_) return give_back(slot, now_);
  Step& step = found->second;
  if (state == nullptr) return give_back(slot, now_ + refused_pause_us);  // it has ended
  if (!may_begin(slot, *state)) return;
  Prepared prepared = this->prepared(step, *state);
  if (std::holds_alternative<NotOpen>(prepared)) {
    actions_.doubted.push_back(step.job.run);
    return give_back(slot, now_ + refused_pause_us);
  }
  if (const auto* missing = std::get_if<Missing>(&prepared)) return leave_to_others(slot, *missing);
  if (const auto* composed = std::get_if<Work>(&prepared); composed != nullptr && waits_for_room(slot, *composed))
    return;
  if (waits_for_row(slot, *state)) return;
  ++begun_;
  step.started_at = now_;
  step.began = steady_;
  if (auto* command = std::get_if<Command>(&prepared)) {
    step.at = At::ended;
    return submit(slot, std::move(*command));
  }
  step.graph = state->graph;
  step.node = find_step(*state, step.job.job.step)->node;
  if (const std::optional<TraceParent> parent = parent_of_trace(state->tags)) step.trace = parent->trace;
  Work& work = std::get<Work>(prepared);
  if (work.blobs.empty() && !work.recorded) return run_work(slot, std::move(work));
  read_values(slot, std::move(work), graphs);
}

// --- large values ---------------------------------------------------------------------------------------------------

// Whether it gets its turn later. A reference costs a few bytes and stands for megabytes: what it composes counts as
// the values that blobs hold do.
bool StepsInFlight::waits_for_room(Ticket slot, const Work& work) {
  Step& step = steps_.at(slot);
  if (step.values_bytes > 0) return false;  // this is its turn
  const std::size_t composed = composed_bytes(work.input);
  if (composed < inline_memory_min) return false;
  const std::size_t bytes = composed + work.blob_bytes * parsed_bytes;
  const bool is_next = waiting_.empty() && has_room(bytes);
  is_next ? take_room(step, bytes) : void(waiting_.push_back({steady_, bytes, slot, std::nullopt}));
  return !is_next;
}

// There always is room for one, however large.
bool StepsInFlight::has_room(std::size_t bytes) const {
  return values_bytes_ == 0 || values_bytes_ + bytes <= options_.values_bytes_max;
}

void StepsInFlight::take_room(Step& step, std::size_t bytes) {
  CHECK(step.values_bytes == 0);  // pairs with drop_values(): the sum is of all steps, each counted once
  step.values_bytes = bytes;
  values_bytes_ += bytes;
}

void StepsInFlight::read_values(Ticket slot, Work work, const Graphs& graphs) {
  const Shard shard = shard_of(steps_.at(slot).job.run, options_.shards);
  const std::size_t bytes = work.blob_bytes * parsed_bytes;
  Graphs known = work.recorded ? graphs : Graphs{};
  ReadBlobs call{slot,     shard, std::make_shared<Work>(std::move(work)), std::move(known), &executor_.handlers(),
                 records_, texts_};
  if (steps_.at(slot).values_bytes > 0) return void(outside_.calls.emplace_back(std::move(call)));
  waiting_.push_back({steady_, bytes, slot, std::move(call)});
  begin_reading();
}

// In their order. One that is larger than all the room goes alone.
void StepsInFlight::begin_reading() {
  while (!waiting_.empty()) {
    WaitsForRoom& next = waiting_.front();
    const auto found = steps_.find(next.slot);
    const bool is_gone = found == steps_.end();  // its hold was lost while it waited: as any other step that stops
    const bool fits = has_room(next.bytes);
    const bool is_given_back = !is_gone && (is_draining_ || (!fits && steady_ - next.since >= room_wait_max_us));
    if (!is_gone && !is_given_back && !fits) return;
    if (is_given_back) {
      if (next.call) --begun_;
      give_back(next.slot, is_draining_ ? now_ : now_ + refused_pause_us);
    } else if (!is_gone) {
      take_room(found->second, next.bytes);
      if (next.call) {
        found->second.started_at = now_;
        found->second.began = steady_;
        outside_.calls.emplace_back(*std::move(next.call));
      } else {
        actions_.with_room.push_back(next.slot);
      }
    }
    waiting_.pop_front();
  }
}

void StepsInFlight::drop_values(Step& step) {
  CHECK(values_bytes_ >= step.values_bytes);
  values_bytes_ -= std::exchange(step.values_bytes, 0);
}

TimeUs StepsInFlight::due_us() const {
  const TimeUs deadline = deadlines_.empty() ? never_us : deadlines_.begin()->first;
  return waiting_.empty() ? deadline : std::min(deadline, waiting_.front().since + room_wait_max_us);
}

// --- alone ----------------------------------------------------------------------------------------------------------

std::string StepsInFlight::alone() const { return alone_ ? alone_->hold : ""; }

bool StepsInFlight::is_any_begun() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const auto& entry) { return entry.second.started_at != 0; });
}

// False: it is given back, or its turn comes once the row says that it runs alone.
bool StepsInFlight::may_begin(Ticket slot, const RunState& state) {
  const HeldJob& held = steps_.at(slot).job;
  if (alone_ && alone_->slot == slot) return alone_->may_begin;
  const cairn::Step* step = find_step(state, held.job.step);
  const bool is_for_itself = step != nullptr && runs_alone(*step);
  if (!alone_ && !is_for_itself) return true;
  if (alone_ || is_any_begun()) {
    if (!alone_) actions_.room_for.push_back(held.run);
    finish(slot, Ended::How::left_to_others, now_);
    return false;
  }
  alone_ = Alone{slot, hold_text(held)};
  outside_.calls.emplace_back(SetAlone{options_.session, alone_->hold});
  return false;
}

const HeldJob* StepsInFlight::alone_set(const SetAlone& call) {
  if (call.hold.empty()) {
    alone_.reset();
    return nullptr;
  }
  alone_->may_begin = true;
  if (const HeldJob* held = job(alone_->slot)) return held;
  clear_alone();  // it was given back meanwhile
  return nullptr;
}

// The row may say the one or the other now.
void StepsInFlight::alone_not_set(const SetAlone& call) {
  if (is_draining_ && call.hold.empty()) return alone_.reset();
  alone_->may_begin = true;
  if (steps_.contains(alone_->slot)) return give_back(alone_->slot, now_ + refused_pause_us);
  clear_alone();
}

void StepsInFlight::clear_alone() { outside_.calls.emplace_back(SetAlone{options_.session, ""}); }

// The step is in flight no more.
void StepsInFlight::forget(Ticket slot) {
  const auto found = steps_.find(slot);
  if (found == steps_.end()) return;
  drop_values(found->second);
  if (found->second.has_progress) said_no_more_.push_back(place_of(found->second.job));
  steps_.erase(found);
  CHECK(!steps_.empty() || values_bytes_ == 0);
  if (alone_ && alone_->slot == slot && alone_->may_begin) clear_alone();
}

// --- steps that may not be lost -------------------------------------------------------------------------------------

// True: it gets its turn once the row says that it has begun. Calls go one after another, each for all that wait.
bool StepsInFlight::waits_for_row(Ticket slot, const RunState& state) {
  const cairn::Step* step = find_step(state, steps_.at(slot).job.job.step);
  if (steps_.at(slot).row_says == RowSays::begun || step == nullptr || !may_not_be_lost(state, *step)) return false;
  to_begin_.push_back(slot);
  say_begun();
  return true;
}

std::vector<std::string> StepsInFlight::said_begun() const {
  std::vector<std::string> attempts;
  for (const auto& [slot, step] : steps_)
    if (step.row_says != RowSays::nothing) attempts.push_back(attempt_text(step.job));
  return attempts;
}

void StepsInFlight::say_begun() {
  if (is_saying_begun_ || to_begin_.empty()) return;
  is_saying_begun_ = true;
  SetBegun call{.session = options_.session};
  for (const Ticket slot : std::exchange(to_begin_, {})) {
    const auto found = steps_.find(slot);
    if (found == steps_.end()) continue;
    found->second.row_says = RowSays::perhaps;
    const HeldJob& held = found->second.job;
    call.slots.push_back(slot);
    call.holds.emplace_back(held.run, Fence{held.job.branch, held.session, held.epoch, held.job.step});
  }
  call.attempts = said_begun();
  outside_.calls.emplace_back(std::move(call));
}

void StepsInFlight::begun_set(const SetBegun& call) {
  is_saying_begun_ = false;
  CHECK(call.answer.size() == call.slots.size());
  for (std::size_t place = 0; place < call.slots.size(); ++place) {
    const auto found = steps_.find(call.slots[place]);
    if (found == steps_.end()) continue;
    if (call.answer[place] == HoldStanding::held)
      found->second.row_says = RowSays::begun;
    else if (call.answer[place] == HoldStanding::unsaid)
      give_back(call.slots[place], now_ + refused_pause_us);
    else
      stop(call.slots[place]);
  }
  say_begun();
}

// The row may say it now, which is true of no later attempt or hold.
void StepsInFlight::begun_not_set(const SetBegun& call) {
  is_saying_begun_ = false;
  for (const Ticket slot : call.slots) give_back(slot, now_ + refused_pause_us);
  say_begun();
}

// --- what it reads ---------------------------------------------------------------------------------------------------

void StepsInFlight::cannot_be_read(Ticket slot, const Error& error) {
  const auto found = steps_.find(slot);
  if (found == steps_.end()) return;
  const bool is_stopped = error.code == Code::corrupt;
  const char* const follows =
      is_stopped ? " The run stops until its history can be read and the queue is rebuilt." : " It is left to others.";
  note(Note::Level::error, "Expected to execute " + step_text(found->second.job) + ", but: " + error.message + follows,
       found->second);
  is_stopped ? finish(slot, Ended::How::left_to_others, never_us) : finish(slot, Ended::How::run_left_to_others, now_);
}

void StepsInFlight::blobs_read(const ReadBlobs& call) {
  if (steps_.contains(call.slot)) run_work(call.slot, std::move(*call.work));
}

void StepsInFlight::blobs_kept(const KeepBlobs& call) { submit(call.slot, call.command); }

void StepsInFlight::blobs_failed(Ticket slot) { give_back(slot, now_ + refused_pause_us); }

void StepsInFlight::run_work(Ticket slot, Work work) {
  Step& step = steps_.at(slot);
  CHECK(step.at == At::preparing);
  if (work.handler != nullptr && work.handler->is_pure()) return report_result(slot, Executor::run_pure(work));
  step.timeout_ms = timeout_of(work.timeout_ms, options_.default_timeout_ms);
  if (step.timeout_ms > 0) {
    // The time that a slow store took to give its values is not the effect's, as far as the hold's deadline leaves it.
    step.deadline = std::min(steady_, step.began + preparing_max_us) + step.timeout_ms * 1000;
    deadlines_.emplace(step.deadline, slot);
  }
  step.at = At::running;
  outside_.effects.push_back({slot, std::move(work)});
}

// --- progress -------------------------------------------------------------------------------------------------------

void StepsInFlight::said(std::vector<ProgressBoard::Said> texts) {
  KeepProgress keep{options_.session, {}, std::exchange(said_no_more_, {})};
  for (ProgressBoard::Said& said : texts) {
    Step* step = running(said.slot);
    if (step == nullptr) continue;
    step->has_progress = true;
    const ProgressPlace place = place_of(step->job);
    std::erase(keep.ended, place);  // given back and taken again
    keep.texts.push_back({.place = place,
                          .branch = step->job.job.branch,
                          .session = options_.session,
                          .node = step->graph->node(step->node).name,
                          .text = std::move(said.text),
                          .written = said.written});
  }
  if (keep.texts.empty() && keep.ended.empty()) return;
  is_keeping_progress_ = true;
  outside_.calls.emplace_back(std::move(keep));
}

// The texts come again when they change.
void StepsInFlight::progress_not_kept(const KeepProgress& call) {
  is_keeping_progress_ = false;
  said_no_more_.insert(said_no_more_.end(), call.ended.begin(), call.ended.end());
}

// --- reporting ------------------------------------------------------------------------------------------------------

// An effect that brings something after its step's end is not heard.
StepsInFlight::Step* StepsInFlight::running(Ticket slot) {
  const auto found = steps_.find(slot);
  return found == steps_.end() || found->second.at != At::running ? nullptr : &found->second;
}

void StepsInFlight::ended(Ticket slot, StepResult result) {
  if (running(slot) != nullptr) report_result(slot, std::move(result));
}

void StepsInFlight::fell_short(Ticket slot, const std::string& lacking) {
  Step* step = running(slot);
  if (step == nullptr) return;
  step->at = At::ended;
  const bool is_reported = shortage_reported_at_ == never_us || steady_ - shortage_reported_at_ >= second_us;
  if (is_reported) {
    const std::int64_t others = std::exchange(unreported_shortages_, 0);
    note(Note::Level::warning,
         lacking + ". " + step_text(step->job, "Step ") + " is given back" +
             (others > 0 ? ", as " + std::to_string(others) + " others were" : "") +
             ", and this worker takes fewer steps for a while.",
         *step);
    shortage_reported_at_ = steady_;
  } else {
    ++unreported_shortages_;
  }
  --begun_;
  finish(slot, Ended::How::fell_short, now_ + fell_short_pause_us);
}

void StepsInFlight::yielded(Ticket slot, const std::string& lacking) {
  Step* step = running(slot);
  if (step == nullptr) return;
  step->at = At::ended;
  --begun_;
  leave_to_others(slot, {lacking});
}

void StepsInFlight::note_result(const Step& step, const StepResult& result) {
  const TimeUs took = steady_ - step.began;
  if (is_worth_a_line(result, took)) outside_.notes.push_back(attempt_note(result, took, fields_of(step)));
}

void StepsInFlight::report_result(Ticket slot, StepResult result) {
  Step& step = steps_.at(slot);
  CHECK(step.at < At::ended);  // an attempt has one outcome
  step.at = At::ended;
  drop_values(step);
  if (step.deadline != never_us) deadlines_.erase({step.deadline, slot});
  note_result(step, result);
  std::vector<Blob> blobs;
  Command command = executor_.report(step.job.job, step.started_at, std::move(result), *step.graph, blobs);
  if (blobs.empty()) return submit(slot, std::move(command));
  // Large values first: once the report is committed, its readers must find them.
  outside_.calls.emplace_back(
      KeepBlobs{slot, shard_of(step.job.run, options_.shards), std::move(blobs), std::move(command)});
}

void StepsInFlight::submit(Ticket slot, Command command) {
  if (steps_.contains(slot)) actions_.reports.push_back({slot, std::move(command)});
}

void StepsInFlight::committed(Ticket slot) { forget(slot); }

void StepsInFlight::refused(Ticket slot, const Error& error, const RunState* state) {
  const auto found = steps_.find(slot);
  if (found == steps_.end()) return;
  Step& step = found->second;
  const bool lacks_memory = error.code == Code::limit;
  const bool is_broken = error.code == Code::corrupt || error.code == Code::unsupported || lacks_memory;
  note(is_broken ? Note::Level::error : Note::Level::debug, error.message, step);
  if (error.code == Code::stale || error.code == Code::closed) {
    ++late_;
    forget(slot);
    actions_.ended.push_back({slot, Ended::How::done, 0});
    return;
  }
  // An outcome that the state cannot take, or the memory, is the handler's fault: the attempt fails, so that the
  // graph's retry applies. A second time it is the history that cannot be written to.
  if (error.code != Code::unsupported && is_broken && step.at != At::failing) {
    step.at = At::failing;
    const Job& job = step.job.job;
    Failure failure{lacks_memory ? "limit" : "invalid", error.message, true, {}};
    return submit(slot, FailStep{job.step, job.attempt, std::move(failure), options_.session, step.started_at});
  }
  if (is_broken) return finish(slot, Ended::How::run_left_to_others, now_);
  // A timer may have got a later time while it was held: until then it would be claimed and refused again and again.
  give_back(slot, std::max(now_ + refused_pause_us, wanted_at(state, step.job.job)));
}

// --- ending ---------------------------------------------------------------------------------------------------------

void StepsInFlight::finish(Ticket slot, Ended::How how, TimeUs run_at_us) {
  const auto found = steps_.find(slot);
  CHECK(found != steps_.end());
  if (found->second.at == At::running) outside_.cancelled.push_back(slot);
  deadlines_.erase({found->second.deadline, slot});
  forget(slot);
  actions_.ended.push_back({slot, how, run_at_us});
}

void StepsInFlight::give_back(Ticket slot, TimeUs run_at_us) {
  if (steps_.contains(slot)) finish(slot, Ended::How::given_back, run_at_us);
}

void StepsInFlight::leave_to_others(Ticket slot, const Missing& missing) {
  const Step& step = steps_.at(slot);
  const HeldJob& held = step.job;
  note(Note::Level::debug,
       "Step " + std::to_string(held.job.step) + " of run " + to_string(held.run) + " is given back: there is no " +
           missing.what + " here.",
       step);
  actions_.lacking_in.push_back(held.job.queue);
  elsewhere_.contains(missing.what) ? finish(slot, Ended::How::run_left_to_others, now_)
                                    : finish(slot, Ended::How::left_to_others, now_ + lacking_pause_us);
}

void StepsInFlight::stop(Ticket slot) { finish(slot, Ended::How::done, 0); }

void StepsInFlight::expire() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= steady_) {
    const Ticket slot = deadlines_.begin()->second;
    const Step& step = steps_.at(slot);
    CHECK(step.at == At::running);
    outside_.cancelled.push_back(slot);
    const std::string says = "Expected an outcome within " + std::to_string(step.timeout_ms) + " ms.";
    report_result(slot, Failure{"timeout", says, true, {}});
  }
}

// One that may not be lost is lost now: given back it would be repeated.
void StepsInFlight::stop_running() {
  std::vector<Ticket> slots;
  for (const auto& [slot, step] : steps_)
    if (step.at == At::running) slots.push_back(slot);
  for (const Ticket slot : slots) {
    if (steps_.at(slot).row_says != RowSays::begun) {
      give_back(slot, now_);
      continue;
    }
    Step& step = steps_.at(slot);
    step.at = At::ended;
    drop_values(step);
    if (step.deadline != never_us) deadlines_.erase({step.deadline, slot});
    outside_.cancelled.push_back(slot);
    const Job& job = step.job.job;
    Failure lost{lost_error, "Its worker ended before it did.", true, {}};
    submit(slot, FailStep{job.step, job.attempt, std::move(lost), options_.session, step.started_at});
  }
}

}  // namespace cairn
