#include "workers/simulation/world.hpp"

#include <utility>

#include "engine/codec.hpp"
#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "storage/limit_book.hpp"
#include "storage/memory/memory_store.hpp"

namespace cairn::simulation {
namespace {

Graphs graphs_of(Store& store, const std::vector<Json>& texts) {
  Graphs graphs;
  for (const Json& graph : texts) {
    const std::string text = canonical(graph);
    const std::string version = graph_version(text);
    graphs.add(stored_graph(graph, version), true);
    store.graphs().put({graph.at("name"), version, text, true});
  }
  return graphs;
}

std::string line_of(const Event& event) {
  const Json payload = parse_stored(encode_payload(event.body));
  return std::to_string(event.seq) + " " + std::string(type_of(event.body)) +
         (event.step == 0 ? "" : " of step " + std::to_string(event.step)) + " " + excerpt(payload, 160);
}

}  // namespace

World::World(const Scenario& of, const Cast& cast, bool keeps_story_of)
    : scenario(of),
      keeps_story(keeps_story_of),
      chance(of.seed ^ 0x5eed),
      store(make_memory_store(of.shards, [this] { return now(); })),
      graphs(graphs_of(*store, of.graphs)),
      checker(*store, graphs),
      tools(cast.tools) {
  add_handlers(cast);
  for (std::size_t n = 0; n < scenario.runs.size(); ++n) runs.push_back(new_run());
  if (scenario.other_limits.is_limited()) change_limits(scenario.other_limits);
  std::vector<GraphRef> all;
  for (const Json& graph : scenario.graphs) all.push_back(graphs.current(graph.at("name").get<std::string>()));
  const Reserves& reserves = scenario.other_limits.reserves;
  if (cast.conduct)
    conduct = cast.conduct(all);
  else if (cast.says.is_null())
    conduct = fateful_conduct(scenario.seed, scenario.is_bulky, reserves.empty() ? 0 : reserves.at(BudgetUnit::tokens));
  else
    conduct = drawn_conduct(scenario.seed, cast.says, all, cast.handlers, chance);
}

void World::change_limits(QueueLimits limits) {
  limits.revision = limits_of(store->limits(), limits.name).revision;
  CHECK(store->limits().change_limits({limits, "the scenario"}).ok());
  checker.limit(limits);
}

void World::add_handlers(const Cast& cast) {
  const auto scripted = [this](const StepInput& input) {
    checker.executed(input.run, input.step, input.attempt);
    return conduct.act(input, -input.attempt, 0).result;
  };
  for (const Json& graph : scenario.graphs) {
    for (const Node& node : graphs.current(graph.at("name").get<std::string>())->nodes) {
      if (node.work() == nullptr || handlers.find(node.handler()) != nullptr) continue;
      Handler handler;
      if (const Handler* known = cast.handlers.find(node.handler())) handler = *known;
      handler.labels_from_node = handler.name.empty() || handler.labels_from_node;
      handler.name = node.handler();
      handler.reads = {"*"};
      handler.is_here = true;
      handler.run = handler.is_pure() && cast.handlers.find(node.handler()) != nullptr
                        ? std::variant<PureHandler, EffectHandler>(PureHandler(scripted))
                        : std::variant<PureHandler, EffectHandler>(EffectHandler{});
      handlers.add(std::move(handler));
    }
  }
}

RunId World::new_run() {
  RunId id;
  const std::uint64_t high = chance.next();
  const std::uint64_t low = chance.next();
  for (std::size_t i = 0; i < 8; ++i) {
    id.bytes[i] = static_cast<std::uint8_t>(high >> (8 * i));
    id.bytes[i + 8] = static_cast<std::uint8_t>(low >> (8 * i));
  }
  return id;
}

Act World::act(const StepInput& input, std::int64_t timeout_ms) {
  checker.begun(input.run, input.step);
  checker.executed(input.run, input.step, input.attempt);
  return conduct.act(input, checker.errors(input.run, input.step), timeout_ms);
}

void World::write(const std::string& who, const std::string& what) {
  std::string time = std::to_string(1'000'000 + agenda.now() % 1'000'000).substr(1, 4);
  story.push_back(std::to_string(agenda.now() / 1'000'000) + "." + time + " " + who + " " + what);
}

// --- the way to the store -------------------------------------------------------------------------------------------

TimeUs World::delay() {
  if (chance.one_in(8)) return chance.between(1'000, 60'000);
  return chance.between(20, 1'500);
}

void World::send(StoreCall call, Trouble trouble, std::function<TimeUs()> steady, DecideUnderLock decide,
                 std::shared_ptr<const bool> gone, Then then) {
  const auto sent = std::make_shared<StoreCall>(std::move(call));
  const bool is_locked = std::holds_alternative<CommitLocked>(*sent);
  if (is_locked && std::exchange(trouble.lands_late_us, 0) > 0) trouble.is_answerless = true;
  const auto lands_at_store = [this, steady = std::move(steady), decide = std::move(decide)](StoreCall& landing) {
    return land(landing, {*store, steady, {}, decide});
  };
  std::shared_ptr<std::vector<Entry>> entries;  // the sender's own may be gone when they land
  if (auto* commit = std::get_if<Commit>(sent.get())) {
    entries = std::make_shared<std::vector<Entry>>(*commit->batch.entries);
    commit->batch.entries = entries.get();
  }
  const TimeUs there = delay() + trouble.slow_us;
  const TimeUs back = delay() + trouble.silence_us;
  const auto answer = [this, sent, gone, then = std::move(then), back](bool is_answered) {
    agenda.after(back, [sent, gone, then, is_answered] {
      if (!*gone) then(*sent, is_answered);
    });
  };
  const bool survives = chance.one_in(2);
  const bool lands_in_outage = chance.one_in(2);
  if (trouble.lands_late_us > 0) {
    // A copy lands, after the sender has been given a failure.
    agenda.after(there + trouble.lands_late_us,
                 [late = std::make_shared<StoreCall>(*sent), entries, lands_at_store] { lands_at_store(*late); });
    return answer(false);
  }
  agenda.after(there, [this, sent, entries, lands_at_store, gone, answer, trouble, survives, lands_in_outage] {
    const bool fails = is_out() || trouble.is_lost || trouble.is_answerless;
    const bool may_land = !trouble.is_lost && (!is_out() || lands_in_outage) && (!*gone || survives);
    const bool lands = may_land && lands_at_store(*sent);
    answer(lands && !fails);
  });
}

// False: the session that should decide was away.
bool World::land(StoreCall& call, const CallSite& at) {
  try {
    if (auto* batch = std::get_if<Commit>(&call)) {
      commit(*batch, at);
    } else if (auto* locked = std::get_if<CommitLocked>(&call)) {
      commit_locked(*locked, at);
    } else {
      carry_out(call, at);
      note(call);
    }
  } catch (const StoreUnavailable&) {
    return false;
  }
  const bool may_notify = std::holds_alternative<Commit>(call) || std::holds_alternative<CommitLocked>(call) ||
                          std::holds_alternative<LetGo>(call);
  if (may_notify && store->await_notification(0, NotifiedBy::any_process) && on_notification) on_notification();
  return true;
}

void World::note(const StoreCall& call) {
  if (std::holds_alternative<KeepSnapshot>(call)) ++reached["snapshots kept"];
  if (const auto* read = std::get_if<ReadHistories>(&call))
    for (const History& history : read->answer.histories) reached["snapshots read"] += history.snapshot ? 1 : 0;
  if (const auto* claim = std::get_if<ClaimJobs>(&call)) {
    checker.claimed(claim->answer.jobs);
    checker.turns(claim->request, claim->answer.jobs);
  }
  if (const auto* take = std::get_if<TakeStarts>(&call)) checker.taken(take->queue, take->answer);
}

void World::commit(Commit& call, const CallSite& at) {
  checker.before(*call.batch.entries);
  call.carry_out(at);
  note(*call.batch.entries, call.answer);
}

void World::commit_locked(CommitLocked& call, const CallSite& at) {
  std::vector<Entry> entries;
  CallSite watched = at;
  watched.decide_locked = [&](std::uint64_t batch, std::vector<LockedRun> locked) {
    ++reached["decided under a lock"];
    for (const LockedRun& run : locked) reached["events missed"] += std::ssize(run.missed);
    LockedDecision decision = at.decide_locked(batch, std::move(locked));
    entries.assign(decision.entries.begin(), decision.entries.end());
    checker.before(entries);
    return decision;
  };
  call.carry_out(watched);
  reached["slots filled by a commit"] += std::ssize(call.answer.claimed);
  checker.claimed(call.answer.claimed);
  note(entries, call.answer.verdicts);
}

void World::note(std::span<const Entry> entries, std::span<const Verdict> verdicts) {
  for (const auto& [run, event] : checker.after(entries, verdicts)) {
    ledger.record(run, event);
    if (std::holds_alternative<RunEnding>(event.body)) ++reached["cleanups"];
    if (std::holds_alternative<TimerFired>(event.body) && event.step == 0) ++reached["runs out of time"];
    const auto* done = std::get_if<StepSucceeded>(&event.body);
    const bool is_item = done != nullptr && done->attempt > 0 && done->node.starts_with("each");  // random_graph.cpp
    if (is_item) ++reached["items of maps"];
    moved_us = agenda.now();
    if (keeps_story) write("run " + to_string(run).substr(0, 8), line_of(event));
  }
}

}  // namespace cairn::simulation
