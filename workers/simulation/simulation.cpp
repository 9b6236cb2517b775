#include "workers/simulation/simulation.hpp"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <deque>
#include <limits>
#include <utility>

#include "workers/simulation/simulated_client.hpp"
#include "workers/simulation/simulated_hooks.hpp"
#include "workers/simulation/simulated_worker.hpp"

namespace cairn::simulation {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs care_us = 120'000;
constexpr TimeUs heals_within_us = 45 * second_us;  // then every run has ended or moved on, or something is stuck
constexpr TimeUs drains_within_us = 40 * second_us;
constexpr std::int64_t happenings_max = 2'000'000;

class NoModel final : public Model {
 public:
  boost::asio::awaitable<ModelAnswer> ask(ModelRequest) override { co_return ModelAnswer{}; }
};

// Tools are executed by the script; only their table counts here.
class NoTools final : public Tools {
 public:
  explicit NoTools(const ToolTable& table) : table_(table) {}
  boost::asio::awaitable<ToolAnswer> call(ToolCall) override { co_return Failure{}; }
  const ToolTable& table() const override { return table_; }

 private:
  const ToolTable& table_;
};

class Simulation {
 public:
  Simulation(const Scenario& scenario, const Cast& cast, bool keeps_story)
      : scenario_(scenario),
        world_(scenario, cast, keeps_story),
        tools_(world_.tools),
        ports_(model_, tools_),
        hooks_(world_, scenario.seed) {
    for (std::size_t place = 0; place < scenario.sessions.size(); ++place) workers_.emplace_back(world_, ports_, place);
    for (std::size_t number = 0; number < scenario.clients; ++number)
      clients_.emplace_back(world_, number, number % 2 == 1);
  }

  Course course() {
    Course course;
    try {
      play();
      hooks_.end();
      for (const RunId& run : world_.runs) course.ends.push_back(end_of(run));
    } catch (const Violation& violation) {
      course.finding = violation.says;
    } catch (const CheckFailure& failure) {
      course.finding = "The check " + failure.says + " failed.";
    } catch (const std::exception& thrown) {
      course.finding = std::string("An exception came out: ") + thrown.what();
    }
    course.happenings = world_.agenda.done();
    course.lasted_us = world_.agenda.now();
    course.faults = world_.faults;
    course.reached = world_.reached;
    course.reached["windows with more than a burst"] += world_.checker.full_windows();
    course.reached["keys with as many held as may be"] += world_.checker.full_keys();
    course.reached["windows of budgets that are used up"] += world_.checker.full_budgets();
    course.reached["kept steps with a start"] += world_.checker.kept_with_start();
    course.reached["jobs that began while another key waited"] += world_.checker.passed_by();
    course.reached["looks at what was held before its limit"] += world_.checker.held_before();
    course.story = std::move(world_.story);
    for (const RunId& run : world_.checker.runs()) {
      const RunState& state = *world_.checker.state(run);
      course.events += state.seq;
      ++course.endings[std::string(to_string(state.status))];
      if (scenario_.may_rest) course.histories.push_back(history_of(run));
    }
    return course;
  }

 private:
  void play();
  void plan_all();
  void plan(const Fault& fault);
  void befall(const Fault& fault);
  bool waits_for_work(const Fault& fault);
  void notify_workers();
  void start(std::size_t run);
  void give(const OutsideCommand& command);
  void set(const QueueLimits& limits);
  void care();
  void care_for_all();
  bool is_cared_for(TimeUs last);
  void care_for(const RunState& state);
  void ask(const RunId& run, Command command);
  TimeUs budget_wait_us() const;
  bool is_settled() const;
  bool is_due_later() const;
  Json end_of(const RunId& run) const;
  Course::History history_of(const RunId& run) const;
  std::string stuck() const;

  const Scenario& scenario_;
  World world_;
  NoModel model_;
  NoTools tools_;
  Ports ports_;
  std::deque<SimulatedWorker> workers_;
  std::deque<SimulatedClient> clients_;
  SimulatedHooks hooks_;
  std::map<RunId, std::int64_t> reopened_;
  std::int64_t asked_ = 0;
  bool is_over_ = false;
  TimeUs cared_us_ = 0;  // for the last time before a rest
};

void Simulation::plan_all() {
  world_.on_notification = [this] { notify_workers(); };
  for (std::size_t place = 0; place < workers_.size(); ++place)
    world_.agenda.at(scenario_.sessions[place].starts_us, [this, place] { workers_[place].begin(); });
  for (std::size_t n = 0; n < world_.runs.size(); ++n)
    world_.agenda.at(scenario_.runs[n].starts_us, [this, n] { start(n); });
  for (const OutsideCommand& command : scenario_.commands)
    world_.agenda.at(command.at_us, [this, &command] { give(command); });
  for (const LimitsPlan& change : scenario_.other_changes)
    world_.agenda.at(change.at_us, [this, &change] { set(change.limits); });
  for (const Fault& fault : scenario_.faults)
    if (fault.call == 0) world_.agenda.at(fault.at_us, [this, &fault] { befall(fault); });
  world_.agenda.after(care_us, [this] { care(); });
  hooks_.begin();
}

// Before a rest each run is looked after once more; false when that has brought nothing.
bool Simulation::is_cared_for(TimeUs last) {
  if (cared_us_ > last) return world_.agenda.now() < cared_us_ + second_us;
  care_for_all();
  cared_us_ = world_.agenda.now();
  return true;
}

// Until the next window of the budgets that there are.
TimeUs Simulation::budget_wait_us() const { return scenario_.other_limits.has_budgets() ? 60 * second_us : 0; }

void Simulation::play() {
  plan_all();
  while (!is_over_) {
    const TimeUs last = std::max(world_.moved_us, scenario_.faults_end_us);
    if (world_.agenda.now() > last + heals_within_us + budget_wait_us() && !is_due_later()) {
      if (!scenario_.may_rest) found(stuck());
      if (!is_cared_for(last)) return;
    }
    if (world_.agenda.done() > happenings_max) found("Too much happens: nobody waits for anything.");
    world_.agenda.step();
  }
  for (SimulatedWorker& worker : workers_) worker.drain();
  const TimeUs drained = world_.agenda.now() + drains_within_us;
  const auto is_left = [](const SimulatedWorker& worker) { return worker.is_alive(); };
  while (std::any_of(workers_.begin(), workers_.end(), is_left)) {
    if (world_.agenda.now() > drained || world_.agenda.empty()) found("A session does not end although it drains.");
    world_.agenda.step();
  }
  world_.checker.at_the_end();
  world_.ledger.check();
}

// All sessions die while one of them executes an effect, if that comes to pass soon: else steps are seldom lost, and
// almost never twice.
bool Simulation::waits_for_work(const Fault& fault) {
  const auto is_busy = [](const SimulatedWorker& worker) { return worker.is_executing(); };
  const bool is_any_busy = std::any_of(workers_.begin(), workers_.end(), is_busy);
  if (is_any_busy || is_over_ || world_.agenda.now() > fault.at_us + second_us) return false;
  world_.agenda.after(1'000, [this, &fault] { befall(fault); });
  return true;
}

void Simulation::befall(const Fault& fault) {
  const std::string kind(to_string(fault.kind));
  switch (fault.kind) {
    case Fault::Kind::stall:
      if (!workers_[fault.session].is_alive()) return;
      workers_[fault.session].stall(fault.lasts_us);
      break;
    case Fault::Kind::drain:
      if (!workers_[fault.session].is_alive()) return;
      workers_[fault.session].drain_for(fault.lasts_us);
      break;
    case Fault::Kind::outage:
      world_.outage_until = world_.agenda.now() + fault.lasts_us;
      break;
    case Fault::Kind::deploy:
      if (waits_for_work(fault)) return;
      for (SimulatedWorker& worker : workers_) worker.crash(fault.lasts_us);
      break;
    case Fault::Kind::deafness:
      world_.deaf_until = world_.agenda.now() + fault.lasts_us;
      break;
    default:
      return;
  }
  if (world_.keeps_story) world_.write("fault", kind + " for " + std::to_string(fault.lasts_us / 1'000) + " ms");
  ++world_.faults[kind];
}

void Simulation::notify_workers() {
  for (SimulatedWorker& worker : workers_) {
    if (world_.is_deaf() || world_.chance.one_in(8)) continue;
    world_.agenda.after(world_.chance.between(50, 2'000), [&worker] { worker.notified(); });
  }
}

// --- from outside ---------------------------------------------------------------------------------------------------

void Simulation::ask(const RunId& run, Command command) {
  if (world_.ledger.is_under_way(Ledger::entry_of(run, command))) return;
  clients_[world_.chance.below(clients_.size())].command(run, std::move(command));
}

void Simulation::start(std::size_t run) {
  StartRun command;
  command.run = world_.runs[run];
  command.graph = scenario_.runs[run].graph;
  command.input = scenario_.runs[run].input;
  command.options.priority = scenario_.runs[run].priority;
  ask(world_.runs[run], std::move(command));
}

void Simulation::give(const OutsideCommand& command) {
  if (is_over_) return;  // it would begin again
  const RunId& run = world_.runs[command.run];
  const std::string name = command.name.empty() ? "asked " + std::to_string(++asked_) : command.name;
  switch (command.kind) {
    case OutsideCommand::Kind::pause:
      return ask(run, Pause{});
    case OutsideCommand::Kind::resume:
      return ask(run, Resume{});
    case OutsideCommand::Kind::cancel:
      return ask(run, Cancel{name});
    case OutsideCommand::Kind::reopen:
      return ask(run, Reopen{});
    case OutsideCommand::Kind::stray_answer:
      return ask(run, Answer{"q0", "answer to nothing", name, {}});
    case OutsideCommand::Kind::stray_signal:
      return ask(run, SendSignal{"nobody", 7, name});
  }
}

void Simulation::set(const QueueLimits& limits) {
  world_.change_limits(limits);
  if (world_.keeps_story)
    world_.write("operator", "sets the queue " + limits.name + (limits.paused ? ", paused" : "") + ": limit " +
                                 std::to_string(limits.concurrency.value_or(0)) + " " + limits_text(limits));
  ++world_.reached["changes of limits"];
}

// The acts of people over time: runs that did not begin are started again, questions answered, signals sent, paused
// runs resumed, failed ones tried again. After the faults nothing is left out any more.
void Simulation::care() {
  care_for_all();
  const TimeUs quiet_us = world_.agenda.now() - world_.moved_us;  // a run that waits long is looked after less often
  world_.agenda.after(scenario_.may_rest ? std::max(care_us, quiet_us / 10) : care_us, [this] { care(); });
}

void Simulation::care_for_all() {
  for (std::size_t n = 0; n < world_.runs.size(); ++n)
    if (world_.checker.state(world_.runs[n]) == nullptr && world_.agenda.now() > scenario_.runs[n].starts_us) start(n);
  for (const RunId& run : world_.checker.runs()) care_for(*world_.checker.state(run));
  is_over_ = is_settled();
}

void Simulation::care_for(const RunState& state) {
  const bool is_healed = world_.agenda.now() > scenario_.faults_end_us;
  const auto wants = [&] { return is_healed || world_.chance.one_in(2); };
  if (state.status == RunStatus::failed && !state.parent && reopened_[state.id] < scenario_.reopens_max && wants()) {
    ++reopened_[state.id];
    return ask(state.id, Reopen{});
  }
  if (is_ended(state.status)) return;
  if (state.status == RunStatus::paused && wants()) ask(state.id, Resume{});
  for (const auto& [id, question] : state.questions) {
    const Node& node = state.node(state.steps.at(question.step));
    const std::optional<Json> value = world_.conduct.answer(state.id, id, node);
    if (value && wants()) ask(state.id, Answer{id, *value, "answered " + id + " " + std::to_string(++asked_), {}});
  }
  for (const auto& [id, step] : state.steps) {
    const auto* wait = state.node(step).as<WaitNode>();
    const std::string name = wait == nullptr ? "" : wait->signal.value_or("");
    if (name.empty() || !step.closing_label.empty() || !wants()) continue;
    if (const std::optional<Json> value = world_.conduct.signal(state.id, id, name))
      ask(state.id, SendSignal{name, *value, "signal for step " + std::to_string(id)});
  }
}

// --- the end --------------------------------------------------------------------------------------------------------

bool Simulation::is_settled() const {
  const auto is_busy = [](const SimulatedClient& client) { return !client.is_idle(); };
  if (std::any_of(clients_.begin(), clients_.end(), is_busy)) return false;
  for (const RunId& run : world_.runs)
    if (world_.checker.state(run) == nullptr) return false;
  for (const RunId& run : world_.checker.runs()) {
    const RunState& state = *world_.checker.state(run);
    if (!is_ended(state.status)) return false;
    const auto reopened = reopened_.find(run);
    const std::int64_t times = reopened == reopened_.end() ? 0 : reopened->second;
    if (state.status == RunStatus::failed && !state.parent && times < scenario_.reopens_max) return false;
  }
  return true;
}

// A job is executed, or waits for a time that is still to come or has just come.
bool Simulation::is_due_later() const {
  if (!scenario_.may_rest) return false;
  for (const RunId& run : world_.checker.runs())
    for (const HeldJob& job : world_.store->jobs().of(run))
      if (job.session != 0 || (job.job.run_at_us > world_.now() - heals_within_us && job.job.run_at_us != never_us))
        return true;
  return false;
}

Json Simulation::end_of(const RunId& run) const {
  const RunState& state = *world_.checker.state(run);
  Json goals = Json::array();
  for (const SubGoal* goal : plan_of(state, root_branch))
    goals.push_back({goal->id, to_string(goal->status), goal->outputs, goal->error});
  for (const RejectedGoal* goal : rejected_of(state, root_branch)) goals.push_back({goal->id, goal->reason});
  Json budgets = Json::object();
  for (const auto& [name, budget] : state.budgets) budgets[name] = budget.used;
  return {{"status", to_string(state.status)},
          {"reason", state.reason},
          {"output", state.output},
          {"channels", read_channels(state, root_branch)},
          {"steps", state.last_step},
          {"budgets", budgets},
          {"plan", goals}};
}

Course::History Simulation::history_of(const RunId& run) const {
  Course::History history{world_.checker.state(run)->graph, {}};
  for (const EventRow& row : world_.store->events(run, 0, std::numeric_limits<std::int32_t>::max())) {
    const Result<Event> event = event_of(row);
    CHECK(event.ok());
    history.events.push_back(*event);
  }
  return history;
}

std::string Simulation::stuck() const {
  std::string says = "For " + std::to_string(heals_within_us / second_us) + " s without faults nothing moved";
  for (const RunId& run : world_.runs) {
    const RunState* state = world_.checker.state(run);
    if (state == nullptr) says += ", run " + to_string(run).substr(0, 8) + " has not begun";
  }
  for (const RunId& run : world_.checker.runs()) {
    const RunState& state = *world_.checker.state(run);
    if (is_ended(state.status)) continue;
    says += ", run " + to_string(run).substr(0, 8) + " is " + std::string(to_string(state.status)) + " at event " +
            std::to_string(state.seq);
    for (const HeldJob& job : world_.store->jobs().of(run))
      says += ", step " + std::to_string(job.job.step) + " in " + job.job.queue +
              (job.session == 0 ? " held by nobody" : " held by " + std::to_string(job.session)) + " at " +
              time_text(job.job.run_at_us);
  }
  return says + "; it is " + time_text(world_.now()) + ".";
}

Cast make_random_cast() {
  Cast cast;
  Handler pure;
  pure.name = "x.pure";
  pure.labels_from_node = true;
  pure.run = PureHandler();
  cast.handlers.add(pure);
  cast.tools = {{"echo", {}}, {"slow", {"slow", {}}}};
  return cast;
}

}  // namespace

const Cast& random_cast() {
  static const Cast cast = make_random_cast();
  return cast;
}

Course simulate(const Scenario& scenario, const Cast& cast, bool keeps_story) {
  return Simulation(scenario, cast, keeps_story).course();
}

Course simulate_and_compare(const Scenario& scenario, const Cast& cast) {
  Course course = simulate(scenario, cast);
  if (!course.finding.empty() || !scenario.is_comparable || scenario.faults.empty()) return course;
  Scenario calm = scenario;
  calm.faults.clear();
  calm.commands.clear();
  calm.sessions.resize(1);
  calm.sessions.front().runs_max = SessionPlan().runs_max;
  calm.sessions.front().snapshot_events = SessionPlan().snapshot_events;
  const Course other = simulate(calm, cast);
  if (!other.finding.empty()) {
    course.finding = "Without its faults: " + other.finding;
    return course;
  }
  for (std::size_t n = 0; n < course.ends.size(); ++n) {
    if (course.ends[n] == other.ends[n]) continue;
    course.finding = "Run " + std::to_string(n + 1) + " ends otherwise than without the faults: " +
                     excerpt(Json::diff(other.ends[n], course.ends[n]), 1'000);
    return course;
  }
  return course;
}

}  // namespace cairn::simulation
