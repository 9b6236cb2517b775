#include "workers/simulation/simulated_worker.hpp"

#include <algorithm>
#include <utility>

namespace cairn::simulation {
namespace {

constexpr TimeUs advance_us = 20;

}  // namespace

SimulatedWorker::SimulatedWorker(World& world, Ports& ports, std::size_t place)
    : world_(world), ports_(ports), place_(place) {}

std::string SimulatedWorker::name() const {
  return "session " + std::to_string(place_ + 1) + "." + std::to_string(births_);
}

TimeUs SimulatedWorker::steady() const {
  const TimeUs now = world_.agenda.now();
  return plan().clock_us + now + now * plan().drift_ppm / 1'000'000;
}

TimeUs SimulatedWorker::from_steady(TimeUs steady_us) const {
  if (steady_us > never_us / 4'000'000) return never_us;
  return (steady_us - plan().clock_us) * 1'000'000 / (1'000'000 + plan().drift_ppm) + 1;
}

WorkerOptions SimulatedWorker::options() const {
  WorkerOptions of;
  of.concurrency = plan().concurrency;
  of.poll_ms = 400 * plan().slowness;
  of.beat_ms = 250 * plan().slowness;
  of.dead_after_ms = 1'200 * plan().slowness;
  of.keep_steps = 8;
  of.default_timeout_ms = plan().default_timeout_ms;
  of.database_lanes = plan().lanes;
  of.fuse_steps = plan().fuse_steps;
  of.runs_max = plan().runs_max;
  of.snapshot_events = plan().snapshot_events;
  of.keep = plan().keep;
  if (plan().is_for_first_run) of.only_runs = {world_.runs.front()};
  if (plan().lacks_other_queue) of.queues = {"default", "slow", std::string(timer_queue)};
  return of;
}

SessionOrigin SimulatedWorker::origin() {
  SessionOrigin of;
  of.self.id = static_cast<SessionId>(100 * (place_ + 1)) + births_;
  of.shards = world_.scenario.shards;
  of.new_id = [this] { return world_.new_run(); };
  of.draw = [this] { return world_.chance.part(); };
  of.new_commit = [this] { return ++world_.last_commit; };
  return of;
}

// --- living and dying -----------------------------------------------------------------------------------------------

void SimulatedWorker::begin() {
  if (is_leaving_ || is_alive()) return;
  ++births_;
  gone_ = std::make_shared<bool>(false);
  SessionOrigin of = origin();
  executor_.emplace(world_.handlers, ports_, of.self.id);
  session_ = std::make_unique<Session>(std::move(of), options(), *executor_, world_.tools);
  stalled_until_ = 0;
  has_stalled_ = false;
  executing_.clear();
  next_advance_ = never_us;
  back_after_.reset();
  if (world_.keeps_story) world_.write(name(), "begins");
  advance_at(world_.agenda.now());
  beat();
}

void SimulatedWorker::end() {
  *gone_ = true;
  world_.reached["states forgotten"] += session_->report().forgotten;
  session_.reset();
  executor_.reset();
  ++advances_;
}

void SimulatedWorker::begin_again(TimeUs pause) {
  world_.agenda.after(pause, [this] { begin(); });
}

void SimulatedWorker::crash(TimeUs pause) {
  if (!is_alive()) return;
  if (world_.keeps_story) world_.write(name(), "dies");
  end();
  begin_again(pause);
}

void SimulatedWorker::stall(TimeUs pause) {
  if (!is_alive()) return;
  if (world_.keeps_story) world_.write(name(), "stands still for " + std::to_string(pause / 1'000) + " ms");
  has_stalled_ = true;
  stalled_until_ = world_.agenda.now() + pause;
}

void SimulatedWorker::drain_for(TimeUs pause) {
  if (!is_alive()) return;
  if (world_.keeps_story) world_.write(name(), "is asked to end");
  back_after_ = pause;
  session_->drain();
  advance_at(world_.agenda.now());
}

void SimulatedWorker::drain() {
  is_leaving_ = true;
  if (!is_alive()) return;
  session_->drain();
  advance_at(world_.agenda.now());
}

void SimulatedWorker::notified() {
  if (!is_alive() || is_stalled()) return;
  session_->notified();
  advance_at(world_.agenda.now() + advance_us);
}

void SimulatedWorker::beat() {
  if (session_->beats() && !is_stalled() && !world_.is_out()) world_.store->sessions().beat(session_->id());
  world_.agenda.after(options().beat_ms * 1'000, [this, gone = gone_] {
    if (!*gone) beat();
  });
}

// --- advancing ------------------------------------------------------------------------------------------------------

void SimulatedWorker::advance_at(TimeUs when) {
  when = std::max({when, world_.agenda.now(), stalled_until_});
  if (when >= next_advance_ || when == never_us) return;
  next_advance_ = when;
  world_.agenda.at(when, [this, number = ++advances_] {
    if (number == advances_ && is_alive()) advance();
  });
}

void SimulatedWorker::advance() {
  next_advance_ = never_us;
  if (is_stalled()) return advance_at(stalled_until_);
  session_->tick(steady());
  SessionActions actions = session_->drain_actions();
  for (StoreCall& call : actions.calls)
    if (!send(std::move(call))) return;
  for (const Ticket slot : actions.cancelled) executing_.erase(slot);
  for (Effect& effect : actions.effects) start(std::move(effect));
  for (const Ticket slot : actions.cancelled) executing_.erase(slot);
  if (world_.keeps_story)
    for (const Note& note : actions.notes) world_.write(name(), "notes: " + note.text);
  if (session_->is_finished()) {
    if (world_.keeps_story) world_.write(name(), "ends");
    end();
    if (back_after_) begin_again(*back_after_);
    return;
  }
  advance_at(std::max(from_steady(session_->due_us()), world_.agenda.now() + advance_us));
}

// --- store calls ----------------------------------------------------------------------------------------------------

const Fault* SimulatedWorker::fault_at(std::int64_t call) const {
  for (const Fault& fault : world_.scenario.faults)
    if (fault.call == call && fault.session == place_) return &fault;
  return nullptr;
}

// False if the session died of it.
bool SimulatedWorker::send(StoreCall call) {
  Trouble trouble;
  if (const Fault* fault = fault_at(++calls_)) {
    ++world_.faults[std::string(to_string(fault->kind))];
    if (world_.keeps_story)
      world_.write(name(), std::string(to_string(fault->kind)) + ": expected to " + purpose(call));
    if (fault->kind == Fault::Kind::crash) {
      const std::uint64_t phase = world_.chance.below(3);
      if (phase == 0) return crash(fault->lasts_us), false;
      world_.agenda.after(world_.chance.between(0, phase == 1 ? 1'500 : 20'000), [this, gone = gone_, fault] {
        if (!*gone) crash(fault->lasts_us);
      });
    }
    trouble.is_lost = fault->kind == Fault::Kind::lost_request;
    trouble.is_answerless = fault->kind == Fault::Kind::lost_answer;
    trouble.silence_us = trouble.is_answerless ? fault->lasts_us : 0;
    trouble.lands_late_us = fault->kind == Fault::Kind::late_landing ? fault->lasts_us : 0;
    trouble.slow_us = fault->kind == Fault::Kind::slow ? fault->lasts_us : 0;
  }
  // Asked a little before it lands, answered a little later: so exactly does it know the database's time.
  const auto asked = [this, error = -world_.chance.between(0, 3'000)]() mutable {
    return steady() + std::exchange(error, world_.chance.between(0, 3'000));
  };
  const auto decide = [this, gone = gone_](std::uint64_t batch, std::vector<LockedRun> runs) {
    if (*gone || is_stalled()) throw StoreUnavailable("Expected a decision under the lock, but its session is away.");
    session_->tick(steady());
    return session_->decide_locked(batch, std::move(runs));
  };
  world_.send(std::move(call), trouble, asked, decide, gone_,
              [this](StoreCall& sent, bool is_answered) { answered(std::move(sent), is_answered); });
  return true;
}

void SimulatedWorker::answered(StoreCall call, bool is_answered) {
  if (is_stalled()) {
    world_.agenda.at(stalled_until_, [this, gone = gone_, call = std::move(call), is_answered]() mutable {
      if (!*gone) answered(std::move(call), is_answered);
    });
    return;
  }
  session_->tick(steady());
  if (is_answered) {
    session_->answered(std::move(call));
  } else {
    session_->failed(call);
  }
  advance_at(world_.agenda.now() + advance_us);
}

// --- effects --------------------------------------------------------------------------------------------------------

// While a step runs alone, no other effect is under way in its session (A10).
void SimulatedWorker::check_alone(const Effect& effect) {
  const RunState* state = world_.checker.state(effect.work.input.run);
  const Step* step = state == nullptr ? nullptr : find_step(*state, effect.work.input.step);
  const bool is_alone = step != nullptr && step->attempt == effect.work.input.attempt && runs_alone(*step);
  if (is_alone) ++world_.reached["steps run alone"];
  const bool has_lonely = std::any_of(executing_.begin(), executing_.end(), [](const auto& one) { return one.second; });
  if ((is_alone && !executing_.empty()) || has_lonely)
    found("Step " + std::to_string(effect.work.input.step) + " of run " +
          to_string(effect.work.input.run).substr(0, 8) + " does not run alone in " + name() + ".");
  executing_.emplace(effect.slot, is_alone);
}

// An attempt that may not be lost is begun once. Any other whose end is in the log is begun by no one any more, but for
// a session that stood still and does not know yet that it has lost its holds.
void SimulatedWorker::check_first(const Effect& effect) const {
  const StepInput& input = effect.work.input;
  const RunState* state = world_.checker.state(input.run);
  const Step* step = state == nullptr ? nullptr : find_step(*state, input.step);
  if (step != nullptr && may_not_be_lost(*state, *step)) {
    ++world_.reached["attempts that may not be lost"];
    if (!world_.begun.insert({input.run, input.step, input.attempt, state->counted_from}).second)
      found("Attempt " + std::to_string(input.attempt) + " at step " + std::to_string(input.step) + " of run " +
            to_string(input.run).substr(0, 8) + " may not be lost, and is begun again in " + name() + ".");
  }
  if (has_stalled_ || !world_.checker.has_ended(input.run, input.step, input.attempt)) return;
  found("Attempt " + std::to_string(input.attempt) + " at step " + std::to_string(input.step) + " of run " +
        to_string(input.run).substr(0, 8) + " is begun in " + name() + ", but has ended.");
}

// A cancelled effect may end all the same, and an end may be reported twice.
void SimulatedWorker::start(Effect effect) {
  if (world_.keeps_story)
    world_.write(name(), "executes step " + std::to_string(effect.work.input.step) + " of run " +
                             to_string(effect.work.input.run).substr(0, 8) + ", attempt " +
                             std::to_string(effect.work.input.attempt) + " (" + effect.work.input.node +
                             effect.work.input.sub_goal + ")");
  check_alone(effect);
  check_first(effect);
  Act act = world_.act(effect.work.input, effect.work.timeout_ms);
  const auto report = [this, gone = gone_, slot = effect.slot, result = std::move(act.result)] {
    if (!*gone) ended(slot, result);
  };
  if (act.hangs) {
    if (world_.chance.one_in(2)) world_.agenda.after(world_.chance.between(400'000, 900'000), report);
    return;
  }
  world_.agenda.after(act.takes_us, report);
  if (world_.chance.one_in(10)) world_.agenda.after(act.takes_us + world_.chance.between(0, 5'000), report);
}

void SimulatedWorker::ended(Ticket slot, const StepResult& result) {
  if (is_stalled()) {
    world_.agenda.at(stalled_until_, [this, gone = gone_, slot, result] {
      if (!*gone) ended(slot, result);
    });
    return;
  }
  session_->tick(steady());
  executing_.erase(slot);
  session_->ended(slot, result);
  advance_at(world_.agenda.now() + advance_us);
}

}  // namespace cairn::simulation
