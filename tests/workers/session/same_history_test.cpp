// The same history in every mode: random graphs executed by real workers, kept or not, fused or not, notified or not,
// cached or not, by 1 or 5 workers, on 1 or 4 shards, give the same history but for times, workers and the interleaving
// of parallel branches. CAIRN_SEED=N repeats one.
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "engine/evolve.hpp"
#include "engine/run_json.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/test_database.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using namespace test;

// --- random graphs --------------------------------------------------------------------------------------------------

// Blocks, each of which leads on to the next one; parallel branches share neither a budget nor a signal.
class GraphMaker {
 public:
  GraphMaker(std::uint64_t seed, bool cached) : random_(seed), cached_(cached) {}

  Json made(const std::string& name) {
    nodes_["z"] = {{"end", "done"}};
    std::string next = "z";
    for (std::uint64_t n = 2 + pick(3); n > 0; --n) next = block(next, 0);
    return {{"name", name},
            {"start", next},
            {"limits", {{"steps", 100'000}}},
            {"budgets", {{"coins", {{"cap", pick(3)}}}}},
            {"channels", {{"trace", {{"reducer", "append"}}}, {"sum", {{"reducer", "sum"}}}}},
            {"nodes", nodes_}};
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  std::string fresh(const std::string& kind) { return kind + "_" + std::to_string(++count_); }

  std::string node(const std::string& kind, const std::string& next, std::vector<std::string> labels = {"ok"}) {
    const std::string name = fresh(kind);
    nodes_[name] = {{"do", pick(2) == 0 ? "r.pure" : "r.effect"},
                    {"labels", labels},
                    {"retry", {{"attempts", 1 + pick(3)}}},
                    {"on", {{"ok", next}, {"error", next}}}};
    if (pick(4) == 0) nodes_[name]["queue"] = "other";
    return name;
  }

  std::string block(const std::string& next, int depth) {
    switch (pick(depth < 2 ? 9 : 6)) {
      case 0:
        return ask(next);
      case 1:
        return wait(next);
      case 2:
        return loop(next);
      case 3:
        return call(next);
      case 4:
        return map(next);
      case 5:
        return depth == 0 ? budgeted(next) : node("do", next);
      default:
        return depth < 2 ? fan(next, depth) : node("do", next);
    }
  }

  std::string budgeted(const std::string& next) {
    const std::string name = node("paid", next);
    nodes_[name]["spends"] = "coins";
    nodes_[name]["on"]["exhausted"] = next;
    return name;
  }
  // Back to a step that always sees the same: the one whose outcome is worth keeping.
  std::string loop(const std::string& next) {
    const std::string same = fresh("same");
    const std::string turn = node("turn", next, {"ok", "again"});
    nodes_[turn]["on"]["again"] = same;
    nodes_[same] = {{"do", "r.same"}, {"labels", {"ok"}}, {"with", {{"n", pick(9)}}}, {"on", {{"ok", turn}}}};
    if (cached_) nodes_[same]["cache"] = true;
    return same;
  }
  std::string ask(const std::string& next) {
    const std::string name = fresh("ask");
    nodes_[name] = {{"ask", {{"prompt", "?"}, {"default", "$sum"}}}, {"into", name}, {"on", {{"answered", next}}}};
    return name;
  }
  std::string wait(const std::string& next) {
    const std::string name = fresh("wait");
    nodes_[name] = {{"wait", {{"ms", pick(4)}}}, {"on", {{"fired", next}}}};
    return name;
  }
  std::string call(const std::string& next) {
    const std::string name = fresh("call");
    nodes_[name] = {
        {"call", "kid"}, {"with", {{"n", "$sum"}}}, {"into", name}, {"on", {{"done", next}, {"failed", next}}}};
    return name;
  }
  std::string map(const std::string& next) {
    const std::string work = fresh("map");
    nodes_[work] = {{"map", "sub_goals"}, {"retry", {{"attempts", 2}}}, {"on", {{"joined", next}, {"partial", next}}}};
    const std::string plan = node("plan", work);
    nodes_[plan]["do"] = "r.plan";
    return plan;
  }
  std::string fan(const std::string& next, int depth) {
    const std::string join = node("join", next);
    nodes_[join]["join"] = true;
    Json parts = Json::array();
    for (std::uint64_t n = 2 + pick(2); n > 0; --n) {
      std::string part = join;
      for (std::uint64_t m = 1 + pick(2); m > 0; --m) part = block(part, depth + 1);
      parts.push_back(part);
    }
    const std::string fork = node("fork", next);
    nodes_[fork]["retry"]["attempts"] = 1'000;
    nodes_[fork]["on"] = {{"ok", parts}};
    return fork;
  }

  std::mt19937_64 random_;
  const bool cached_;
  Json nodes_ = Json::object();
  int count_ = 0;
};

// --- handlers whose outcome depends on what they see alone ----------------------------------------------------------

std::uint64_t fate(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15ull >> 17;
}

std::string sees(const StepInput& input) {
  return input.node + input.data.dump() + input.given.dump() + Json(input.budgets).dump() + input.fault;
}

StepResult fated(const StepInput& input) {
  const std::string text = sees(input);
  if (fate(text + "fails" + std::to_string(input.attempt)) % 5 == 0)
    return Failure{"error", "fate " + std::to_string(input.attempt), true, {}};
  const bool again = input.node.starts_with("turn") && fate(text + "again") % 3 != 0;
  return Outcome{again ? "again" : "ok", {{"trace", {input.node}}, {"sum", fate(text) % 100}}, {}};
}

StepResult planned(const StepInput& input) {
  Outcome outcome{"ok", {{"trace", {input.node}}}, {}};
  const std::string text = sees(input);
  const std::string mark = input.node + "/" + std::to_string(fate(text) % 1'000'000) + ".";
  for (std::uint64_t n = 0; n < fate(text) % 6; ++n) {
    const std::uint64_t roll = fate(text + std::to_string(n));
    SubGoalOpened goal;
    goal.sub_goal = mark + std::to_string(n);
    goal.tool = roll % 5 == 0 ? "fail" : roll % 11 == 1 ? "unknown" : "echo";
    goal.inputs = {{"message", "no"}, {"times", 1 + roll % 2}, {"v", roll % 50}};
    if (n > 0 && roll % 3 == 0) goal.after = {mark + std::to_string(roll % n)};
    if (n > 0 && roll % 3 == 1)
      goal.inputs["v"] = {{"from_sub_goal", mark + std::to_string(roll % n)}, {"slot", roll % 2 == 0 ? "w" : "v"}};
    outcome.facts.push_back(goal);
  }
  return outcome;
}

std::unique_ptr<Catalogue> fated_catalogue() {
  auto catalogue = std::make_unique<Catalogue>();
  const auto add = [&](const char* name, std::vector<std::string> reads, std::variant<PureHandler, EffectHandler> run) {
    catalogue->handlers.add({.name = name,
                             .labels = {"ok", "again"},
                             .labels_from_node = true,
                             .reads = std::move(reads),
                             .reads_plan = false,
                             .version = 1,
                             .run = std::move(run)});
  };
  add("r.pure", {"*"}, PureHandler(fated));
  add("r.plan", {"*"}, PureHandler(planned));
  add("r.same", {"nothing"}, PureHandler([](const StepInput& input) {
        return StepResult(Outcome{"ok", {{"trace", {input.with["n"]}}}, {}});
      }));
  add("r.effect", {"*"}, EffectHandler([](StepInput input, Ports&) -> asio::awaitable<StepResult> {
        asio::steady_timer timer(co_await asio::this_coro::executor,
                                 std::chrono::microseconds(fate(input.key) % 3'000));
        co_await timer.async_wait(asio::use_awaitable);
        co_return fated(input);
      }));
  catalogue->model = make_scripted_model({{"replies", Json::array()}});
  catalogue->tools = make_tools(builtin_tools(), 2);
  return catalogue;
}

// --- histories without what may differ ------------------------------------------------------------------------------

// Names steps by where they stand, not by when they opened: the branch's path and which of its steps it is.
class Telling {
 public:
  Telling(const Graphs& graphs, const RunId& run, bool with_cache) : graphs_(graphs), with_cache_(with_cache) {
    state_.id = run;
  }

  void tell(const Event& event) {
    std::string where = event.step == 0 ? "run" : steps_.at(event.step);
    // Sub-goals are skipped in the order in which those before them fail, and that depends on the workers.
    if (const auto* closed = std::get_if<SubGoalClosed>(&event.body);
        closed != nullptr && closed->status == GoalStatus::skipped)
      where += "/skipped " + closed->sub_goal;
    std::vector<BranchId> touched;
    evolve(state_, event, graphs_, touched);
    name_new();
    told_[where] += line(event) + "\n";
  }
  std::string told() const {
    std::string text;
    for (const auto& [where, lines] : told_) text += where + "\n" + lines;
    return text;
  }

 private:
  void name_new() {
    for (const auto& [id, branch] : state_.branches) {
      if (branches_.contains(id)) continue;
      const bool is_goal = branch.step != 0 && state_.steps.at(branch.step).goal >= 0;
      const std::string place =
          is_goal ? goal_of(state_, state_.steps.at(branch.step)).id : std::to_string(branch.place);
      branches_[id] = id == root_branch
                          ? ""
                          : branches_.at(branch.parent) + "#" + std::to_string(count_[branch.parent]) + "/" + place;
    }
    for (const auto& [id, step] : state_.steps)
      if (!steps_.contains(id)) steps_[id] = branches_.at(step.branch) + "#" + std::to_string(++count_[step.branch]);
  }

  std::string line(const Event& event) const {
    Json line = event_json(state_.id, event);
    for (const char* varying : {"at", "run", "seq", "step", "worker", "started_at", "child", "actor", "retry_at",
                                "version", "cache_key", "expires_at", "latency_ms"})
      line.erase(varying);
    if (!with_cache_) line.erase("cached_from");
    if (line.contains("cached_from")) line["cached_from"] = steps_.at(line["cached_from"].get<StepId>());
    if (line.contains("question")) line["question"] = "q";
    if (line.contains("took")) line["took"] = "q";
    if (line.contains("call")) line.erase("call");
    return line.dump();
  }

  const Graphs& graphs_;
  const bool with_cache_;
  RunState state_;
  std::map<BranchId, std::string> branches_;
  std::map<BranchId, int> count_;
  std::map<StepId, std::string> steps_;
  std::map<std::string, std::string> told_;
};

// --- ways to execute ------------------------------------------------------------------------------------------------

struct Way {
  std::string name;
  bool memory = true;
  std::int32_t shards = 1;
  int workers = 1;
  bool keep = true;
  int fuse_steps = 32;
  bool notify = true;
  bool cached = true;
};

class Execution {
 public:
  Execution(const Way& way, std::uint64_t seed, int graphs) : way_(way), catalogue_(fated_catalogue()) {
    open_store();
    client_ = std::make_unique<Client>(*store_, *catalogue_, "user:test");
    add(Json::parse(
        R"({"name":"kid","start":"k","limits":{"steps":9},"channels":{"trace":{"reducer":"append"}},"nodes":{
        "k":{"do":"r.pure","labels":["ok"],"retry":{"attempts":2},"on":{"ok":"z","error":"z"}},"z":{"end":"done"}}})"));
    for (int n = 0; n < graphs; ++n)
      add(GraphMaker(seed + static_cast<std::uint64_t>(n), way.cached).made("g" + std::to_string(n)));
  }

  // The histories of a run of each graph.
  std::vector<std::string> histories(int graphs, bool with_cache) {
    for (int n = 0; n < graphs; ++n) {
      StartRun start;
      start.graph = "g" + std::to_string(n);
      start.options.autonomous = true;
      start.input = {{"sum", n}};
      runs_.push_back(client_->start(std::move(start), "")->run);
    }
    work();
    std::vector<std::string> told;
    for (const RunId& run : runs_) {
      Telling telling(client_->graphs(), run, with_cache);
      const Result<std::vector<Event>> events = client_->events(run, 0, 100'000);
      for (const Event& event : *events) telling.tell(event);
      told.push_back(telling.told());
    }
    return told;
  }

 private:
  void open_store() {
    if (way_.memory) {
      store_ = make_memory_store(way_.shards);
      return;
    }
    PostgresOptions options;
    options.dsn = new_database(way_.shards);
    options.notify = way_.notify;
    store_ = std::move(*open_postgres_store(options));
  }
  void add(const Json& graph) {
    const Result<GraphRef> added = client_->add_graph(graph);
    ASSERT_TRUE(added) << added.error().message << "\n" << graph;
  }
  void work() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::atomic<bool> over{false};
    WorkerOptions options;
    options.keep = way_.keep;
    options.fuse_steps = way_.fuse_steps;
    options.concurrency = way_.workers > 1 ? 7 : 64;
    options.poll_ms = 50;
    options.dead_after_ms = 60'000;
    options.until = [&] { return over.load(); };
    std::vector<std::thread> threads;
    for (int n = 0; n < way_.workers; ++n) threads.emplace_back([&] { Worker(*store_, *catalogue_, options).run(); });
    const auto all_ended = [this] {
      return std::all_of(runs_.begin(), runs_.end(),
                         [this](const RunId& run) { return is_ended(store_->run(run)->status); });
    };
    while (!all_ended() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(all_ended());
    over = true;
    for (std::thread& thread : threads) thread.join();
  }

  Way way_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Client> client_;
  std::vector<RunId> runs_;
};

void compare(std::uint64_t seed, int graphs, const Way& plain, const std::vector<Way>& ways) {
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  const std::vector<std::string> expected = Execution(plain, seed, graphs).histories(graphs, true);
  const std::vector<std::string> without_cache = Execution(plain, seed, graphs).histories(graphs, false);
  for (const Way& way : ways) {
    const auto& same = way.cached ? expected : without_cache;
    const std::vector<std::string> found = Execution(way, seed, graphs).histories(graphs, way.cached);
    for (int n = 0; n < graphs; ++n) {
      const auto at = static_cast<std::size_t>(n);
      ASSERT_EQ(found[at], same[at]) << way.name << ", graph " << n << " of seed " << seed;
    }
  }
}

std::uint64_t seed() {
  const char* text = std::getenv("CAIRN_SEED");
  const std::uint64_t made = text == nullptr ? std::random_device{}() : std::strtoull(text, nullptr, 10);
  std::cout << "CAIRN_SEED=" << made << "\n";
  return made;
}

TEST(SameHistory, whoever_executes_it_and_however_in_memory) {
  const Way plain{.name = "plain", .keep = false, .fuse_steps = 1};
  compare(seed(), 40, plain,
          {{.name = "kept", .fuse_steps = 1},
           {.name = "fused", .keep = false},
           {.name = "kept and fused"},
           {.name = "not cached", .cached = false},
           {.name = "5 workers", .workers = 5},
           {.name = "5 workers that keep nothing", .workers = 5, .keep = false},
           {.name = "4 shards", .shards = 4, .fuse_steps = 1},
           {.name = "4 shards, 5 workers, not cached", .shards = 4, .workers = 5, .cached = false}});
}

TEST(SameHistory, whoever_executes_it_and_however_in_postgres) {
  const Way plain{.name = "plain", .keep = false, .fuse_steps = 1};
  compare(seed(), 12, plain,
          {{.name = "kept and fused", .memory = false},
           {.name = "not notified, nothing kept", .memory = false, .keep = false, .fuse_steps = 1, .notify = false},
           {.name = "5 workers on 4 shards", .memory = false, .shards = 4, .workers = 5},
           {.name = "5 workers on 4 shards, not notified, not cached",
            .memory = false,
            .shards = 4,
            .workers = 5,
            .notify = false,
            .cached = false}});
}

// The comparison would be worth little if the graphs had nothing of what may differ.
TEST(SameHistory, the_graphs_have_branches_retries_maps_calls_and_outcomes_used_again) {
  std::string all;
  for (const std::string& told : Execution({.name = "plain"}, 1, 40).histories(40, true)) all += told;
  for (const char* word :
       {"cached_from", "step_failed", "sub_goal_closed", "sub_goal_rejected", "skipped", "missing_slot",
        "child_finished", "budget_exhausted", "timer_fired", "question_answered", "\"partial\""})
    EXPECT_NE(all.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace cairn
