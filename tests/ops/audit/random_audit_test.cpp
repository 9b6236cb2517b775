// Random graphs executed by real workers, while a client answers, signals, pauses, resumes, cancels, retries, forks and
// moves at random: no audit finds a fault in the result, neither meanwhile nor afterwards, and all derived rows can be
// rebuilt. CAIRN_SEED=N repeats one.
#include <boost/asio.hpp>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "storage/postgres/store/postgres_store.hpp"
#include "tests/ops/audit/audited_database.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/runtime/worker.hpp"
#include "workers/simulation/random_graph.hpp"

namespace cairn::program {
namespace {

namespace asio = boost::asio;
using simulation::Chance;
using simulation::fate;

constexpr int graphs = 16;
constexpr int runs = 48;
constexpr std::size_t large_bytes = 40'000;  // stored out of line

std::vector<Fact> goals(const std::string& mark, std::uint64_t roll) {
  std::vector<Fact> facts;
  for (std::uint64_t n = 0; n < roll % 5; ++n) {
    SubGoalOpened goal;
    goal.sub_goal = mark + "." + std::to_string(n);
    goal.tool = (roll + n) % 4 == 0 ? "fail" : (roll + n) % 9 == 1 ? "unknown" : "echo";
    goal.inputs = {{"message", "no"}, {"times", 1}, {"v", n}};
    if (n > 0 && roll % 3 == 0) goal.after = {mark + "." + std::to_string(n - 1)};
    facts.push_back(goal);
  }
  return facts;
}

StepResult fated(const StepInput& input) {
  const std::uint64_t roll = fate(input.key + "/" + std::to_string(input.attempt), 7);
  if (roll % 6 == 0) return Failure{"error", "fate", true, {}};
  Outcome outcome{"ok", {{"trace", {input.node}}, {"sum", roll % 100}}, {}};
  if (roll % 7 == 1) outcome.patch["large"] = std::string(large_bytes, static_cast<char>('a' + roll % 26));
  if (input.node.starts_with("loop") && roll % 3 == 0) outcome.label = "again";
  if (input.node.starts_with("plan")) outcome.facts = goals(input.key, roll / 7);
  return outcome;
}

std::unique_ptr<Catalogue> fated_catalogue() {
  auto catalogue = std::make_unique<Catalogue>();
  const auto add = [&](const char* name, std::variant<PureHandler, EffectHandler> run) {
    catalogue->handlers.add({.name = name,
                             .labels = {"ok", "again"},
                             .labels_from_node = true,
                             .reads = {},
                             .reads_plan = false,
                             .version = 1,
                             .run = std::move(run)});
  };
  add("x.pure", PureHandler(fated));
  for (const char* name : {"x.y", "x.k"})
    add(name, EffectHandler([](StepInput input, Ports&) -> asio::awaitable<StepResult> {
          asio::steady_timer timer(co_await asio::this_coro::executor,
                                   std::chrono::microseconds(fate(input.key, 1) % 30'000));
          co_await timer.async_wait(asio::use_awaitable);
          co_return fated(input);
        }));
  catalogue->model = make_scripted_model({{"replies", Json::array()}});
  catalogue->tools = make_tools(builtin_tools(), 2);
  return catalogue;
}

// A worker on a thread of its own, for the life of this.
class Working {
 public:
  Working(const std::string& dsn, WorkerOptions options) : catalogue_(fated_catalogue()) {
    PostgresOptions store;
    store.dsn = dsn;
    store_ = *open_postgres_store(store);
    options.snapshot_events = 10;
    options.concurrency = 16;
    worker_ = std::make_unique<Worker>(*store_, *catalogue_, options);
    thread_ = std::thread([this] { worker_->run(); });
  }
  ~Working() {
    worker_->stop();
    thread_.join();
  }

 private:
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Worker> worker_;
  std::thread thread_;
};

// Does to runs what people do to them; a refusal is as good as anything.
class Meddler {
 public:
  Meddler(Store& store, std::uint64_t seed) : chance_(seed), catalogue_(fated_catalogue()) {
    client_ = std::make_unique<Client>(store, *catalogue_, "user:meddler");
    add(Json::parse(simulation::kid_graph));
    for (int n = 0; n < graphs; ++n) {
      const simulation::RandomGraph what{.name = "t" + std::to_string(n),
                                         .has_pure = true,
                                         .has_queues = true,
                                         .is_all_in_other = false,
                                         .has_times = true,
                                         .has_references = true,
                                         .is_fragile = n % 2 == 0};
      const Json graph = simulation::random_graph(chance_, what);
      versions_.push_back(other_version(graph));
      add(graph);
    }
    for (int n = 0; n < runs; ++n) {
      StartRun start;
      start.graph = "t" + std::to_string(n % graphs);
      start.input = {{"sum", n}};
      runs_.push_back(client_->start(std::move(start), "")->run);
    }
  }

  void act() {
    const RunId& run = runs_[chance_.below(runs_.size())];
    const Result<RunState> state = client_->state(run);
    ASSERT_TRUE(state) << state.error().message;
    if (state->status == RunStatus::failed) return send(run, Reopen{});
    if (state->status == RunStatus::paused) return send(run, Resume{});
    if (chance_.one_in(12)) return send(run, Pause{});
    if (chance_.one_in(60)) return send(run, Cancel{"enough"});
    if (chance_.one_in(20)) return fork(run, state->seq);
    if (chance_.one_in(10)) return move(run, state->graph->name);
    for (const auto& [id, step] : state->steps) {
      const auto* wait = state->node(step).as<WaitNode>();
      if (!step.question.empty()) return send(run, Answer{step.question, "north", "", {}});
      if (wait != nullptr && wait->signal) return send(run, SendSignal{*wait->signal, 1, ""});
    }
  }

 private:
  void add(const Json& graph) {
    const Result<GraphRef> added = client_->add_graph(graph);
    ASSERT_TRUE(added) << added.error().message;
  }
  // The same nodes in other queues and with other timeouts.
  std::string other_version(Json graph) {
    for (Json& node : graph["nodes"]) {
      if (!node.contains("do")) continue;
      node["queue"] = node.value("queue", "") == "other" ? "default" : "other";
      node["timeout_ms"] = 2'000;
    }
    const Result<GraphRef> tried = client_->try_graph(graph);
    EXPECT_TRUE(tried) << tried.error().message;
    client_->store_graph(*tried, false);
    return (*tried)->version;
  }
  void move(const RunId& run, const std::string& graph) {
    if (graph.starts_with("t")) send(run, MoveRun{versions_[std::stoul(graph.substr(1))]});
  }
  void fork(const RunId& run, std::int64_t head) {
    const Result<Started> forked =
        client_->fork(run, {.seq = 1 + static_cast<std::int64_t>(chance_.below(static_cast<std::uint64_t>(head)))});
    if (forked) runs_.push_back(forked->run);
  }

  void send(const RunId& run, const Command& command) {
    const Result<Done> done = client_->command(run, command);
    EXPECT_TRUE(done.ok() || done.error().code != Code::corrupt) << done.error().message;
  }

  Chance chance_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  std::vector<RunId> runs_;
  std::vector<std::string> versions_;  // to move to, by the graph's number
};

// The workers of this test sign nothing, which is no fault of the runs.
const Arguments verify_all = {"verify", "--all", "--accept"};

class RandomAudit : public AuditedDatabase {};

TEST_F(RandomAudit, nothing_is_found_in_what_random_runs_did_and_all_of_it_can_be_made_anew) {
  const char* given = std::getenv("CAIRN_SEED");
  const std::uint64_t seed = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  const std::unique_ptr<Store> of_meddler = store();
  Meddler meddler(*of_meddler, seed);
  bool had_snapshots = false;
  {
    WorkerOptions step_by_step;
    step_by_step.fuse_steps = 1;
    step_by_step.keep = false;
    const Working keeping(dsn(), {});
    const Working offering(dsn(), step_by_step);
    for (int look = 0; look < 4; ++look) {
      for (int n = 0; n < 100; ++n) meddler.act();
      ASSERT_EQ(found_by(verify_all), "") << "look " << look;
      had_snapshots = had_snapshots || sql_text("SELECT count(*) FROM cairn.snapshot") != "0";
    }
  }
  const Ran ran = cairn(on_it({"verify", "--all", "--accept", "--json"}));
  EXPECT_EQ(ran.json()["findings"], Json::array());
  EXPECT_GE(ran.json()["runs"], runs);
  EXPECT_TRUE(had_snapshots) << "of runs that were open then";
  EXPECT_NE(sql_text("SELECT count(*) FROM cairn.blob"), "0");
  sql("TRUNCATE cairn.run, cairn.job, cairn.question");
  EXPECT_EQ(cairn_ok(on_it({"rebuild", "--json"})).json()["rebuilt"], ran.json()["runs"]);
  EXPECT_EQ(found_by(verify_all), "");
  {
    const Working on(dsn(), {});
    for (int n = 0; n < 100; ++n) meddler.act();
  }
  EXPECT_EQ(cairn(on_it({"verify", "--all", "--accept", "--json"})).json()["findings"], Json::array());
}

}  // namespace
}  // namespace cairn::program
