#include "workers/simulation/scenario.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "workers/simulation/random_graph.hpp"

namespace cairn::simulation {
namespace {

constexpr TimeUs ms = 1'000;
constexpr std::int64_t reopens = 3;

using FaultKind = Fault::Kind;
using CommandKind = OutsideCommand::Kind;

SessionPlan random_session(Chance& chance, bool is_first) {
  SessionPlan plan;
  plan.starts_us = is_first ? 0 : chance.between(0, 600 * ms);
  plan.clock_us = chance.between(0, 1'000'000 * ms);
  plan.drift_ppm = chance.between(-300, 300);
  plan.concurrency = chance.one_in(3) ? static_cast<std::int32_t>(chance.between(1, 3)) : 16;
  plan.lanes = static_cast<std::int32_t>(chance.between(1, 3));
  plan.fuse_steps = chance.one_in(3) ? 1 : 32;
  plan.keep = !chance.one_in(5);
  plan.is_for_first_run = !is_first && chance.one_in(5);
  plan.lacks_other_queue = !is_first && chance.one_in(5);
  if (chance.one_in(4)) plan.runs_max = 1 + chance.below(2);
  if (chance.one_in(4)) plan.snapshot_events = chance.between(1, 30);
  return plan;
}

// Long against the time after which a session counts as dead, or short.
TimeUs random_pause(Chance& chance) {
  return chance.one_in(2) ? chance.between(10 * ms, 300 * ms) : chance.between(1'500 * ms, 4'000 * ms);
}

Fault random_fault(Chance& chance, const Scenario& of, bool may_stall) {
  static constexpr FaultKind kinds[] = {FaultKind::lost_request, FaultKind::lost_answer,  FaultKind::lost_answer,
                                        FaultKind::late_landing, FaultKind::late_landing, FaultKind::slow,
                                        FaultKind::crash,        FaultKind::crash,        FaultKind::drain,
                                        FaultKind::outage,       FaultKind::deafness,     FaultKind::stall,
                                        FaultKind::stall};
  Fault fault;
  fault.kind = kinds[chance.below(std::size(kinds) - (may_stall ? 0 : 2))];
  fault.session = chance.below(of.sessions.size());
  fault.at_us = chance.between(0, of.faults_end_us);
  fault.lasts_us = random_pause(chance);
  const bool by_call = fault.kind <= FaultKind::crash;
  if (by_call) fault.call = chance.between(1, chance.one_in(2) ? 12 : 60);
  if (fault.kind == FaultKind::outage) fault.lasts_us = std::min(fault.lasts_us, 2'000 * ms);
  return fault;
}

// One after another, so that the same steps are lost again and again.
void add_deploys(Scenario& scenario, Chance& chance) {
  TimeUs at_us = chance.between(5 * ms, 200 * ms);
  for (std::int64_t n = chance.between(3, 6); n > 0; --n) {
    const TimeUs lasts_us = chance.between(10 * ms, 100 * ms);
    scenario.faults.push_back({.kind = FaultKind::deploy, .at_us = at_us, .lasts_us = lasts_us});
    at_us += chance.between(1'300 * ms, 2'600 * ms);
  }
  scenario.faults_end_us = std::max(scenario.faults_end_us, at_us);
}

void add_surroundings(Scenario& scenario, Chance& chance, bool may_stall, bool may_cancel) {
  const std::int64_t sessions = chance.one_in(3) ? chance.between(3, 5) : chance.between(1, 2);
  for (std::int64_t n = 0; n < sessions; ++n) scenario.sessions.push_back(random_session(chance, n == 0));
  scenario.faults_end_us = chance.between(100 * ms, 2'500 * ms);
  const std::uint64_t faults = chance.one_in(4) ? 0 : 1 + chance.below(6);
  for (std::uint64_t n = 0; n < faults; ++n) scenario.faults.push_back(random_fault(chance, scenario, may_stall));
  if (chance.one_in(4)) add_deploys(scenario, chance);
  const std::uint64_t commands = chance.below(4);
  for (std::uint64_t n = 0; n < commands; ++n) {
    static constexpr CommandKind kinds[] = {CommandKind::pause,        CommandKind::resume, CommandKind::stray_answer,
                                            CommandKind::stray_signal, CommandKind::reopen, CommandKind::cancel};
    OutsideCommand command;
    command.kind = kinds[chance.below(std::size(kinds) - (may_cancel ? 0 : 1))];
    command.at_us = chance.between(0, scenario.faults_end_us);
    command.run = chance.below(scenario.runs.size());
    command.client = chance.below(scenario.clients);
    scenario.commands.push_back(command);
  }
}

// Only the order of times counts in a simulation: long ones are cut.
void shorten(Json& value, const char* field, TimeUs most_ms) {
  if (value.is_object() && value.contains(field) && value[field].is_number_integer() && value[field] > most_ms)
    value[field] = most_ms;
}

Json with_short_times(Json graph) {
  for (auto& [name, node] : graph.at("nodes").items()) {
    shorten(node, "timeout_ms", 1'000);
    shorten(node, "expires_ms", 3'000);
    if (node.contains("wait")) {
      shorten(node["wait"], "ms", 1'000);
      shorten(node["wait"], "timeout_ms", 3'000);
    }
    if (node.contains("retry")) {
      shorten(node["retry"], "backoff_ms", 100);
      shorten(node["retry"], "max_ms", 500);
    }
  }
  return graph;
}

RunPlan random_run(Chance& chance, const std::string& graph, const Json& input) {
  return {.starts_us = chance.between(0, 300 * ms),
          .graph = graph,
          .input = input,
          .priority = static_cast<std::int32_t>(chance.below(3))};
}

std::string seconds(TimeUs us) {
  const std::string text = std::to_string(us / ms);
  return std::string(text.size() < 4 ? 4 - text.size() : 0, '0') + text;
}

std::string at(TimeUs us) {
  std::string text = seconds(us);
  return "at " + text.insert(text.size() - 3, ".") + " s";
}

std::string lasting(TimeUs us) {
  std::string text = seconds(us);
  return "for " + text.insert(text.size() - 3, ".") + " s";
}

// One that holds steps back, or one that lets most go on in their places.
StartRate random_rate(Chance& chance) {
  const bool is_narrow = chance.one_in(2);
  return {is_narrow ? chance.between(1, 3) : chance.between(20, 100), chance.between(50'000, 1'000'000),
          chance.between(1, is_narrow ? 2 : 8)};
}

// The runs have one of two keys, and those that they call none.
void add_keys(QueueLimits& limits, Chance& chance) {
  limits.key = "/sum";
  limits.weights = {{"2", 3}};
  if (chance.one_in(2)) limits.key_concurrency = static_cast<std::int32_t>(chance.between(1, 2));
  if (chance.one_in(2)) limits.key_rate = random_rate(chance);
}

// Each step uses what it reserves: then no window's cap is passed. A run may wait for the next minute.
void add_budgets(QueueLimits& limits, Chance& chance) {
  constexpr std::int64_t tokens_of_step = 10;
  const auto budget = [&] {
    return UnitBudget{BudgetUnit::tokens, BudgetWindow::minute, tokens_of_step * chance.between(1, 8)};
  };
  limits.reserves = {{BudgetUnit::tokens, tokens_of_step}};
  const bool is_of_keys = limits.has_keys() && chance.one_in(2);
  if (is_of_keys) limits.key_budgets = {budget()};
  if (!is_of_keys || chance.one_in(2)) limits.budgets = {budget()};
}

// Other limits of the same kinds: a session hears of a change some seconds later, and so long it may go on as the kinds
// of before allowed. A queue that had a rate keeps one, and one without gets none; the same for rates of keys, and for
// budgets with their key. Where no step goes on without a start, it may get keys, and lose them.
QueueLimits changed_limits(QueueLimits limits, Chance& chance) {
  const bool may_change_key = !limits.has_budgets() && !limits.key_rate;
  if (may_change_key && (limits.rate ? chance.one_in(3) : limits.has_keys())) {
    limits.key = limits.has_keys() && limits.rate ? "" : chance.one_in(2) ? "/sum" : "/trace";
    if (!limits.has_keys()) limits.key_concurrency.reset();
    if (!limits.has_keys()) limits.weights.clear();
  }
  const auto some = [&] { return static_cast<std::int32_t>(chance.between(1, 3)); };
  if (limits.concurrency || (limits.rate && chance.one_in(2))) limits.concurrency = some();
  if (limits.has_keys() && chance.one_in(2)) limits.key_concurrency = some();
  if (limits.rate && chance.one_in(2)) limits.rate = random_rate(chance);
  if (limits.key_rate && chance.one_in(2)) limits.key_rate = random_rate(chance);
  for (auto* budgets : {&limits.budgets, &limits.key_budgets})
    for (UnitBudget& budget : *budgets) budget.cap = limits.reserves.at(budget.unit) * chance.between(1, 8);
  if (limits.ageing_us > 0) limits.ageing_us = chance.between(10, 500) * ms;
  limits.paused = chance.one_in(4);
  return limits;
}

// The last one is not paused.
void add_changes(Scenario& scenario, Chance& chance) {
  if (!scenario.other_limits.is_limited() || chance.one_in(4)) return;
  std::vector<TimeUs> times(static_cast<std::size_t>(chance.between(1, 8)));
  for (TimeUs& at_us : times) at_us = chance.between(1, scenario.faults_end_us);
  std::sort(times.begin(), times.end());
  QueueLimits limits = scenario.other_limits;
  for (const TimeUs at_us : times) {
    limits = changed_limits(limits, chance);
    scenario.other_changes.push_back({at_us, limits});
  }
  scenario.other_changes.back().limits.paused = false;
}

}  // namespace

std::string_view to_string(Fault::Kind kind) {
  static constexpr std::string_view names[] = {"lost request", "lost answer", "late landing", "slow call", "crash",
                                               "drain",        "stall",       "outage",       "deafness",  "deploy"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(OutsideCommand::Kind kind) {
  static constexpr std::string_view names[] = {"pause", "resume", "cancel", "retry", "stray answer", "stray signal"};
  return names[static_cast<std::size_t>(kind)];
}

Scenario random_scenario(std::uint64_t seed) {
  Chance chance(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.shards = chance.one_in(4) ? 3 : 1;
  scenario.is_comparable = !chance.one_in(3);
  RandomGraph what;
  what.blocks_max = chance.one_in(4) ? 4 : 2;
  what.has_pure = true;
  what.has_queues = chance.one_in(2);
  what.is_all_in_other = chance.one_in(4);
  what.has_times = chance.one_in(3);
  what.has_references = chance.one_in(2);
  what.is_fragile = !scenario.is_comparable && chance.one_in(2);
  scenario.graphs = {random_graph(chance, what), Json::parse(kid_graph)};
  if (what.has_queues && chance.one_in(2))
    scenario.other_limits.concurrency = static_cast<std::int32_t>(chance.between(1, 2));
  scenario.is_bulky = chance.one_in(8);
  const std::uint64_t runs = chance.one_in(3) ? 3 : 1;
  for (std::uint64_t n = 0; n < runs; ++n)
    scenario.runs.push_back(random_run(chance, what.name, {{"trace", Json::array()}, {"sum", 1 + n / 2}}));
  scenario.reopens_max = what.is_fragile ? reopens : 0;
  // A session that stood still takes an attempt for too long that was not: with timeouts the end may then differ.
  add_surroundings(scenario, chance, !(scenario.is_comparable && what.has_times), !scenario.is_comparable);
  if (what.has_queues && chance.one_in(2)) scenario.other_limits.rate = random_rate(chance);
  if (what.has_queues && chance.one_in(3)) add_keys(scenario.other_limits, chance);
  if (what.has_queues && chance.one_in(4)) scenario.other_limits.ageing_us = chance.between(10, 500) * ms;
  if (what.has_queues && !(scenario.is_comparable && what.has_times) && chance.one_in(4))
    add_budgets(scenario.other_limits, chance);
  if (!(scenario.is_comparable && what.has_times)) add_changes(scenario, chance);  // a pause lets times pass
  return scenario;
}

Scenario scenario_for(std::uint64_t seed, const std::vector<Json>& graphs, const Json& input) {
  Chance chance(seed);
  Scenario scenario;
  scenario.seed = seed;
  for (const Json& graph : graphs) scenario.graphs.push_back(with_short_times(graph));
  const std::uint64_t runs = chance.one_in(3) ? 3 : 1;
  for (std::uint64_t n = 0; n < runs; ++n)
    scenario.runs.push_back(random_run(chance, scenario.graphs.front().at("name"), input));
  add_surroundings(scenario, chance, true, true);
  return scenario;
}

std::vector<std::string> lines_of(const Scenario& scenario) {
  std::vector<std::string> lines;
  for (const Json& graph : scenario.graphs) lines.push_back("graph " + canonical(graph));
  for (const RunPlan& run : scenario.runs) lines.push_back("run of " + run.graph + " " + at(run.starts_us));
  for (const SessionPlan& session : scenario.sessions)
    lines.push_back("session " + at(session.starts_us) + ", concurrency " + std::to_string(session.concurrency) +
                    ", lanes " + std::to_string(session.lanes) + ", fuses " + std::to_string(session.fuse_steps) +
                    ", states " + std::to_string(session.runs_max) + ", snapshots after " +
                    std::to_string(session.snapshot_events) + (session.keep ? "" : ", keeps nothing") +
                    (session.is_for_first_run ? ", for run 1 alone" : "") +
                    (session.lacks_other_queue ? ", without the queue other" : ""));
  const QueueLimits& limits = scenario.other_limits;
  if (limits.concurrency) lines.push_back("limit of the queue other: " + std::to_string(*limits.concurrency));
  if (limits.is_governed()) lines.push_back("the queue other is governed: " + limits_text(limits));
  for (const auto& [at_us, changed] : scenario.other_changes)
    lines.push_back("change of the queue other " + at(at_us) + (changed.paused ? ": paused" : "") +
                    (changed.concurrency ? ", limit " + std::to_string(*changed.concurrency) : "") +
                    (changed.is_governed() ? ", governed: " + limits_text(changed) : ""));
  for (const OutsideCommand& command : scenario.commands)
    lines.push_back("command " + std::string(to_string(command.kind)) + " for run " + std::to_string(command.run + 1) +
                    " " + at(command.at_us));
  for (const Fault& fault : scenario.faults)
    lines.push_back("fault " + std::string(to_string(fault.kind)) + " of session " + std::to_string(fault.session + 1) +
                    (fault.call > 0 ? " at its call " + std::to_string(fault.call) : " " + at(fault.at_us)) + " " +
                    lasting(fault.lasts_us));
  return lines;
}

}  // namespace cairn::simulation
