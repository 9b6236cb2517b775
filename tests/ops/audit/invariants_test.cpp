// The invariants X.1 to X.12, for each of the planning systems, over the program and its database.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <thread>

#include "engine/evolve.hpp"
#include "engine/snapshot.hpp"
#include "ops/audit/replay.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/ops/planners/planner_runs.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/ids.hpp"
#include "workers/runs/entry_builder.hpp"
#include "workers/runs/history.hpp"

namespace cairn::program {
namespace {

constexpr std::int32_t all = 1'000'000;

// A model and tools that must not be called.
class Forbidden final : public Model, public Tools {
 public:
  boost::asio::awaitable<ModelAnswer> ask(ModelRequest) override { throw std::logic_error("a model was asked"); }
  boost::asio::awaitable<ToolAnswer> call(ToolCall) override { throw std::logic_error("a tool was called"); }
  const ToolTable& table() const override { return table_; }

 private:
  ToolTable table_;
};

class Invariants : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "tool_agent") model_.emplace();
    for (PlannerCase& a : planner_cases())
      if (a.graph == GetParam()) case_ = std::move(a);
    Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue(catalogue_options_from_environment());
    ASSERT_TRUE(catalogue.ok());
    catalogue_ = *std::move(catalogue);
    PostgresOptions options;
    options.dsn = dsn();
    Result<std::unique_ptr<Store>> store = open_postgres_store(options);
    ASSERT_TRUE(store.ok());
    store_ = *std::move(store);
    client_ = make_client();
  }

  std::unique_ptr<Client> make_client() {
    auto client = std::make_unique<Client>(*store_, *catalogue_, "test");
    client->load_graphs();
    return client;
  }

  std::string executed() {
    const std::string run = start_run(case_);
    EXPECT_EQ(execute(case_, run), 0);
    EXPECT_EQ(shown(run)["status"], "done");
    return run;
  }

  std::vector<EventRow> rows(const std::string& run) { return store_->events(*parse_run_id(run), 0, all); }

  std::vector<Event> decoded(const std::string& run) {
    std::vector<Event> events;
    for (const EventRow& row : rows(run)) events.push_back(*event_of(row));
    return events;
  }

  // The numbers of the events that end a commit.
  std::vector<std::int64_t> commit_ends(const std::string& run) {
    std::vector<std::int64_t> ends;
    const std::vector<EventRow> events = rows(run);
    for (std::size_t at = 0; at < events.size(); ++at)
      if (at + 1 == events.size() || events[at + 1].commit != events[at].commit) ends.push_back(events[at].seq);
    return ends;
  }

  std::size_t run_count() {
    RunFilter every;
    every.limit = all;
    return store_->runs(every).size();
  }

  RunState folded(const std::string& run, std::span<const EventRow> events) {
    RunState state;
    state.id = *parse_run_id(run);
    EXPECT_TRUE(fold_rows(state, events, client_->graphs()).ok());
    return state;
  }

  std::optional<ToolAgentModel> model_;
  PlannerCase case_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Client> client_;
};

const std::vector<std::string> planning_systems = {"seven_node",    "plan_decomposer", "page_agent", "venture_scope",
                                                   "round_planner", "tool_agent",      "plan_and_do"};

INSTANTIATE_TEST_SUITE_P(Planners, Invariants, ::testing::ValuesIn(planning_systems),
                         [](const auto& one) { return one.param; });

TEST_P(Invariants, X_1_the_state_is_a_fold_of_the_events_and_a_snapshot_changes_nothing) {
  const std::string run = executed();
  const std::vector<EventRow> events = rows(run);
  const std::span<const EventRow> span(events);
  const std::string whole = state_fingerprint(folded(run, span));
  for (std::size_t seq = 1; seq < events.size(); ++seq) {
    Result<RunState> from =
        restore_snapshot(parse_stored(canonical(snapshot_json(folded(run, span.first(seq))))), client_->graphs());
    ASSERT_TRUE(from.ok());
    ASSERT_TRUE(fold_rows(*from, span.subspan(seq), client_->graphs()).ok());
    EXPECT_EQ(state_fingerprint(*from), whole) << "from the snapshot at " << seq;
  }
  const Json before = shown(run);
  const auto middle = static_cast<std::int64_t>(events.size() / 2);
  const RunState then = folded(run, span.first(static_cast<std::size_t>(middle)));
  store_->snapshots().put(then.id, {middle, fold_version, events[static_cast<std::size_t>(middle - 1)].chain_hash,
                                    state_fingerprint(then)});
  EXPECT_EQ(shown(run), before);
  Administration(dsn(), "test").execute("delete from cairn.snapshot");
  EXPECT_EQ(shown(run), before);
}

TEST_P(Invariants, X_2_a_replay_calls_nothing_outside_and_comes_to_the_same) {
  const std::string run = executed();
  Forbidden forbidden;
  Ports ports(forbidden, forbidden);
  Replayer replayer(*store_, client_->graphs(), {nullptr, &catalogue_->handlers, &ports});
  Replayed replayed;
  replayer.replay({*parse_run_id(run)}, [&](Replayed one) { replayed = std::move(one); });
  EXPECT_EQ(replayed.unreadable, "");
  EXPECT_EQ(replayed.events, static_cast<std::int64_t>(rows(run).size()));
  if (replayed.divergence)
    ADD_FAILURE() << replayed.divergence->seq << " " << replayed.divergence->says << "\n"
                  << replayed.divergence->recorded << "\n"
                  << replayed.divergence->again;
}

TEST_P(Invariants, X_3_and_X_6_and_X_8_wherever_it_died_it_goes_on_to_the_same_end) {
  Json live;
  const int crashes = crash_everywhere(
      case_,
      [&](const std::string& run) {
        cairn_ok({"verify", run});  // rows, jobs and questions are what the events say
        live = shown(run);
        if (live["status"] == "done") return;
        cairn_ok({"pause", run});
        cairn_ok({"resume", run});
      },
      [&](const std::string& run) {
        const Json then =
            cairn_ok({"show", run, "--at", std::to_string(live["seq"].get<std::int64_t>()), "--json"}).json();
        EXPECT_EQ(then, live) << "time travel shows what was there then";
        const Json now = shown(run);
        for (const auto& [budget, use] : live["budgets"].items())
          EXPECT_LE(use["used"], now["budgets"][budget]["used"]) << "a budget was reset: " << budget;
      });
  EXPECT_GE(crashes, 4);
}

// A worker that lost its branch without knowing reports late.
TEST_P(Invariants, X_4_the_report_of_a_worker_that_lost_its_hold_is_refused) {
  const std::string text = start_run(case_);
  const RunId run = *parse_run_id(text);
  const Shard shard = shard_of(run, store_->shards());
  const auto claimed_by = [&](SessionId session) {
    ClaimRequest request;
    request.shard = shard;
    request.session = session;
    request.only_runs = {run};
    request.queues = {store_->jobs().of(run).at(0).job.queue};
    request.now_us = store_->database_time();
    return store_->claim(request).jobs.at(0);
  };
  const SessionId first = new_session_id();
  const HeldJob lost = claimed_by(first);
  const Fence fence{lost.job.branch, first, lost.epoch, lost.job.step};
  store_->jobs().release({{{run, fence}}}, 0);
  const HeldJob held = claimed_by(new_session_id());
  EXPECT_GT(held.epoch, lost.epoch);

  RunState state = *client_->state(run);
  JobRows rows;
  rows.assign(state);
  const RunRow row = *store_->run(run);
  EntryBuilder builder(run, row.head, row.chain_hash, state.last_branch);
  builder.fence({fence});
  Context context;
  context.now_us = store_->database_time();
  Result<Decision> decision =
      decide(state, FailStep{lost.job.step, lost.job.attempt, {"error", "late", true, {}}, first, 0}, context,
             client_->graphs());
  ASSERT_TRUE(decision.ok());
  builder.add(std::move(decision->events), decision->touched);
  KeepRules rules(false, 0);
  const Entry entry = builder.build(state, rows, 0, rules);
  EXPECT_EQ(store_->commit(shard, {&entry, 1}, {}).at(0).kind, Verdict::Kind::stale);
  EXPECT_EQ(store_->run(run)->chain_hash, row.chain_hash) << "the log has no fork";
}

// Just before each commit; just after each is X_3's, which verifies as well.
TEST_P(Invariants, X_5_a_result_its_events_and_the_queue_are_one_commit) {
  const std::string whole = executed();
  const Json expected = comparable(whole);
  const std::vector<std::int64_t> ends = commit_ends(whole);
  int crashes = 0;
  for (const std::int64_t end : ends) {
    if (end == 1) continue;  // the start wrote that
    const std::string run = start_run(case_);
    if (execute(case_, run, -end) != 137) continue;
    ++crashes;
    cairn_ok({"verify", run});  // rows, jobs and questions are what the events say
    EXPECT_EQ(execute(case_, run), 0);
    EXPECT_EQ(comparable(run), expected);
  }
  EXPECT_GE(crashes, 4);
}

TEST_P(Invariants, X_7_a_fork_after_any_commit_goes_on_and_leaves_its_origin_as_it_was) {
  const std::string run = executed();
  const Json expected = comparable(run);
  const std::vector<EventRow> before = rows(run);
  const std::vector<std::int64_t> ends = commit_ends(run);
  for (std::int64_t seq = 1; seq < ends.back(); ++seq) {
    SCOPED_TRACE(seq);
    const Ran ran = cairn({"fork", run, "--at", std::to_string(seq), "--json"});
    const auto next = std::lower_bound(ends.begin(), ends.end(), seq);
    if (*next != seq) {
      expect_refused(ran, 4, std::to_string(*next) + ".");
      continue;
    }
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const std::string fork = ran.json()["run"];
    EXPECT_EQ(execute(case_, fork), 0);
    EXPECT_EQ(comparable(fork), expected);
    cairn_ok({"verify", fork});
  }
  expect_refused(cairn({"fork", run, "--at", std::to_string(ends.back()), "--json"}), 4, "before the end");
  const std::vector<EventRow> after = rows(run);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t at = 0; at < after.size(); ++at) EXPECT_EQ(after[at].chain_hash, before[at].chain_hash);
  cairn_ok({"verify", run});
}

TEST_P(Invariants, X_7_a_run_and_its_fork_both_go_on) {
  const Json expected = comparable(executed());
  const std::string run = start_run(case_);
  ASSERT_EQ(execute(case_, run, 4), 137);
  const std::string at = std::to_string(rows(run).size());
  const std::string fork = cairn_ok({"fork", run, "--at", at, "--json"}).json()["run"];
  EXPECT_EQ(execute(case_, fork), 0);
  EXPECT_EQ(execute(case_, run), 0);
  EXPECT_EQ(comparable(fork), expected);
  EXPECT_EQ(comparable(run), expected);
}

// Whether a record says that a rule, not a proposal, decided; and the fields in which it says which.
const std::vector<std::string>* fields_of_forced(RecordKind kind) {
  static const std::map<RecordKind, std::vector<std::string>> forced = {
      {RecordKind::decision_rewritten, {"rule", "order", "from", "to"}},
      {RecordKind::decision_enforced, {"action"}},
      {RecordKind::guardrail_blocked, {"reason"}},
      {RecordKind::replan_decided, {"action", "reason"}},
      {RecordKind::loop_detected, {"says"}}};
  const auto found = forced.find(kind);
  return found == forced.end() ? nullptr : &found->second;
}

// A proposal or a failure, upon which rules decide once: one step may rewrite it, one step, the same or a later one,
// may act on what it became. The rules of one step may be several.
class Ground {
 public:
  void add() { is_new_ = true; }
  // False if the step decides upon nothing, or upon what another step has used up.
  bool use(StepId step, RecordKind kind) {
    const bool rewrites = kind == RecordKind::decision_rewritten;
    const bool is_there = is_new_ || used_by_ == step || (is_rewritten_ && !rewrites);
    is_new_ = false;
    is_rewritten_ = rewrites;
    used_by_ = step;
    return is_there;
  }

 private:
  bool is_new_ = false;
  bool is_rewritten_ = false;
  StepId used_by_ = 0;
};

// Each event has a step that an earlier event opened, or a person's name; so every edge leads back to run_started. A
// decision that a rule forced names the rule, was done by a step whose end in the same commit names node and worker,
// and follows a proposal that says where it came from, or a failure: each step that forces has a ground of its own.
TEST_P(Invariants, X_9_every_event_has_a_cause_and_every_rewrite_its_rule) {
  const PlannerCase overruled = overruled_case(GetParam());
  const std::string run = start_run(overruled);
  ASSERT_EQ(execute(overruled, run), 0);
  RunState state;
  state.id = *parse_run_id(run);
  std::vector<BranchId> touched;
  std::map<StepId, std::int64_t> opened_by;
  const std::vector<Event> events = decoded(run);
  const std::vector<EventRow> stored = rows(run);
  std::map<RecordKind, int> forced;
  Ground ground;
  for (std::size_t at = 0; at < events.size(); ++at) {
    const Event& event = events[at];
    EXPECT_TRUE(event.step == 0 ? !event.actor.empty() : opened_by.contains(event.step))
        << "event " << event.seq << " of step " << event.step << " has no cause";
    const StepId last = state.last_step;
    evolve(state, event, client_->graphs(), touched);
    for (StepId step = last + 1; step <= state.last_step; ++step) opened_by[step] = event.seq;
    if (std::holds_alternative<StepFailed>(event.body)) ground.add();
    const auto* record = std::get_if<Record>(&event.body);
    if (record == nullptr) continue;
    const Json fields = parse_stored(record->fields);
    if (record->kind == RecordKind::decision_proposed) {
      EXPECT_NE(fields.value("source", ""), "") << fields;
      ground.add();
    }
    const std::vector<std::string>* named = fields_of_forced(record->kind);
    if (named == nullptr) continue;
    ++forced[record->kind];
    for (const std::string& name : *named) EXPECT_FALSE(fields.value(name, Json("")) == "") << name << " of " << fields;
    EXPECT_TRUE(ground.use(event.step, record->kind)) << "nothing was proposed for event " << event.seq << fields;
    const auto end = std::find_if(
        events.begin() + static_cast<std::ptrdiff_t>(at), events.end(),
        [&](const Event& one) { return one.step == event.step && std::holds_alternative<StepSucceeded>(one.body); });
    ASSERT_NE(end, events.end()) << "no step says who decided " << fields;
    const StepSucceeded& actor = std::get<StepSucceeded>(end->body);
    EXPECT_EQ(stored[static_cast<std::size_t>(end - events.begin())].commit, stored[at].commit) << fields;
    EXPECT_FALSE(actor.node.empty()) << fields;
    EXPECT_NE(actor.worker, 0) << fields;
  }
  EXPECT_EQ(opened_by.at(1), 1);
  const std::set<std::string> rewriting = {"plan_decomposer", "page_agent", "venture_scope", "round_planner"};
  EXPECT_EQ(forced[RecordKind::decision_rewritten] > 0, rewriting.contains(GetParam()));
  EXPECT_EQ(forced[RecordKind::guardrail_blocked] > 0, GetParam() == "seven_node");
  EXPECT_EQ(forced.contains(RecordKind::decision_enforced),
            rewriting.contains(GetParam()) && GetParam() != "plan_decomposer");
}

// The graph with one node under another name.
Json renamed_node(Json graph, const std::string& node) {
  const std::string name = node + "_2";
  graph["nodes"][name] = graph["nodes"][node];
  graph["nodes"].erase(node);
  if (graph["start"] == node) graph["start"] = name;
  for (Json& one : graph["nodes"]) {
    if (!one.contains("on")) continue;
    for (Json& edge : one["on"]) {
      if (edge == node) edge = name;
      if (!edge.is_array()) continue;
      for (Json& target : edge)
        if (target == node) target = name;
    }
  }
  return graph;
}

TEST_P(Invariants, X_10_another_graph_is_refused_or_moved_to_never_silent) {
  const Json expected = comparable(executed());
  const std::string run = start_run(case_);
  ASSERT_EQ(execute(case_, run, 4), 137);
  const std::string at = std::to_string(rows(run).size());
  const RunState state = *client_->state(*parse_run_id(run));
  const std::string node = state.graph->node(state.steps.begin()->second.node).name;
  const std::string renamed =
      write_file(GetParam() + "_renamed.json", renamed_node(parse_stored(state.graph->text), node).dump()).string();
  const std::size_t graphs = store_->graphs().all().size();
  const std::size_t runs = run_count();
  expect_refused(cairn({"fork", run, "--at", at, "--graph", renamed}), 4, "lacks " + node);
  EXPECT_EQ(cairn({"move", run, "--graph", renamed}).exit, 4);
  EXPECT_EQ(store_->graphs().all().size(), graphs) << "nothing was written";
  EXPECT_EQ(run_count(), runs);

  const std::string original = write_file(GetParam() + "_original.json", state.graph->text).string();
  cairn_ok({"graph", "add", renamed});  // new runs would begin with it
  Json longer = Json::parse(state.graph->text);
  longer["limits"]["steps"] = longer["limits"]["steps"].get<int>() + 1;
  const std::string fitting = write_file(GetParam() + "_longer.json", longer.dump()).string();
  const std::string moved = cairn_ok({"fork", run, "--at", at, "--json"}).json()["run"];
  cairn_ok({"move", moved, "--graph", fitting, "--dry-run"});
  EXPECT_EQ(events_of(moved).back()["type"] == "run_moved", false);
  cairn_ok({"move", moved, "--graph", fitting});
  EXPECT_EQ(events_of(moved).back()["type"], "run_moved");
  EXPECT_EQ(execute(case_, run), 0);
  EXPECT_EQ(execute(case_, moved), 0);
  cairn_ok({"graph", "add", original});
  EXPECT_EQ(comparable(run), expected) << "it keeps its version";
  Json as_moved = comparable(moved);
  as_moved["version"] = expected["version"];
  EXPECT_EQ(as_moved, expected);
  EXPECT_EQ(store_->run(*parse_run_id(run))->version, state.graph->version);
  EXPECT_NE(store_->run(*parse_run_id(moved))->version, state.graph->version);
}

// --- X.11 -----------------------------------------------------------------------------------------------------------

// The outcomes of each node, by its visits, of each item of a map, and of each sub-goal in a recorded run.
class Outcomes {
 public:
  Outcomes(const std::vector<Event>& events, const Graphs& graphs, const RunId& run) {
    std::vector<Fact> facts;
    std::vector<BranchId> touched;
    RunState state;
    state.id = run;
    for (const Event& event : events) {
      const auto step = state.steps.find(event.step);
      const std::string place = step == state.steps.end() ? "" : place_of(state, step->second);
      if (const auto* done = std::get_if<StepSucceeded>(&event.body); done != nullptr && done->attempt > 0)
        add(place, {done->label, parse_stored(done->patch), std::exchange(facts, {}), {}});
      else if (const auto* closed = std::get_if<SubGoalClosed>(&event.body); closed != nullptr && closed->attempt > 0)
        add(closed->sub_goal, {"", of_its_own(*closed), std::exchange(facts, {}), {}});
      else if (const auto* answered = std::get_if<QuestionAnswered>(&event.body))
        answers_[answered->question] = answered->value;
      else
        note(event.body, facts);
      evolve(state, event, graphs, touched);
    }
  }

  // A sub-goal's id, or the name of the step's node, with the place of its item.
  static std::string place_of(const RunState& state, const Step& step) {
    if (step.goal >= 0) return goal_of(state, step).id;
    const std::string& node = state.node(step).name;
    return step.item < 0 ? node : node + " " + std::to_string(step.item);
  }

  Outcome take(const std::string& of) {
    if (left_[of].empty()) {
      ADD_FAILURE() << "nothing more is on record of " << of;
      return {};
    }
    Outcome outcome = std::move(left_[of].front());
    left_[of].pop_front();
    return outcome;
  }
  const Json& answer(const std::string& question) const { return answers_.at(question); }
  const ToolTable& tools() const { return tools_; }

 private:
  // The recorded outputs with the sub-goal that left them: equal outputs of two sub-goals stay different.
  static Json of_its_own(const SubGoalClosed& closed) {
    Json outputs = parse_stored(closed.outputs);
    outputs["left_by"] = closed.sub_goal;
    return outputs;
  }

  void add(const std::string& of, Outcome outcome) { left_[of].push_back(std::move(outcome)); }

  void note(const EventBody& body, std::vector<Fact>& facts) {
    std::visit(
        [&](const auto& one) {
          if constexpr (std::is_constructible_v<Fact, decltype(one)>) facts.emplace_back(one);
        },
        body);
    if (const auto* goal = std::get_if<SubGoalOpened>(&body)) tools_[goal->tool].queue = goal->queue;
  }

  std::map<std::string, std::deque<Outcome>> left_;
  std::map<std::string, Json> answers_;
  ToolTable tools_;
};

// The end of each sub-goal, in the order of the plan. Each has left its own outputs.
Json goals_of(const RunState& state) {
  Json goals = Json::array();
  for (const SubGoal& goal : state.branches.at(root_branch).plan.goals) {
    goals.push_back({{"id", goal.id}, {"status", to_string(goal.status)}, {"outputs", goal.outputs}});
    if (goal.tool.empty() || goal.status != GoalStatus::succeeded) continue;
    EXPECT_EQ(goal.outputs.value("left_by", ""), goal.id);
  }
  return goals;
}

TEST_P(Invariants, X_11_parallel_results_in_any_order_come_to_the_same) {
  const PlannerCase parallel = parallel_case(GetParam());
  const std::string run = start_run(parallel);
  ASSERT_EQ(execute(parallel, run), 0);
  ASSERT_EQ(shown(run)["status"], "done");
  const std::vector<Event> events = decoded(run);
  const RunState recorded = folded(run, rows(run));
  std::mt19937 random{11};
  std::size_t most_open = 0;
  std::set<std::vector<StepId>> orders;
  std::optional<Json> first_goals;
  for (int round = 0; round < 60; ++round) {
    Outcomes outcomes(events, client_->graphs(), *parse_run_id(run));
    RunState state;
    StartRun start;
    start.run = *parse_run_id(run);
    start.graph = GetParam();
    start.version = recorded.graph->version;
    start.input = parse_stored(recorded.input);
    Context context;
    context.now_us = recorded.started_at;
    context.actor = "test";
    context.id_base = new_run_id();
    context.tools = &outcomes.tools();
    ASSERT_TRUE(decide(state, start, context, client_->graphs()).ok());
    std::vector<StepId> order;
    while (!is_ended(state.status)) {
      ASSERT_FALSE(state.steps.empty());
      std::vector<const Step*> open;  // that a worker or a person has to act on
      for (const auto& [id, step] : state.steps)
        if (step.map.open_goals == 0 && step.map.open_items == 0) open.push_back(&step);
      most_open = std::max(most_open, open.size());
      const Step& step = *open[random() % open.size()];
      order.push_back(step.id);
      std::optional<Command> command;
      if (!step.question.empty())
        command = Answer{step.question, outcomes.answer(step.question), "test", {}};
      else
        command =
            CompleteStep{step.id, step.attempt, outcomes.take(Outcomes::place_of(state, step)), 7, context.now_us, 0};
      const Result<Decision> decision = decide(state, *command, context, client_->graphs());
      ASSERT_TRUE(decision.ok()) << decision.error().message;
    }
    EXPECT_EQ(state.status, recorded.status);
    EXPECT_EQ(state.output, recorded.output);
    EXPECT_EQ(read_channels(state, root_branch), read_channels(recorded, root_branch));
    const Json goals = goals_of(state);
    if (!first_goals) first_goals = goals;
    EXPECT_EQ(goals, *first_goals);
    orders.insert(order);
  }
  // The others do one thing after another: there is nothing to permute, and that is held too.
  const std::set<std::string> side_by_side = {"seven_node", "round_planner", "tool_agent", "plan_and_do"};
  EXPECT_EQ(most_open > 1, side_by_side.contains(GetParam())) << most_open;
  EXPECT_EQ(orders.size() > 1, side_by_side.contains(GetParam())) << orders.size();
  if (GetParam() == "round_planner") {
    EXPECT_EQ(most_open, 3U);
    EXPECT_EQ(orders.size(), 6U) << "all there are";
  }
}

// --- X.12 -----------------------------------------------------------------------------------------------------------

int winners(int racers, const std::function<bool(int)>& race) {
  std::atomic<int> won = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < racers; ++i) threads.emplace_back([&, i] { won += race(i) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  return won;
}

std::set<std::string> nodes_that_ask(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes)
    if (node.verb() == Verb::ask) names.insert(node.name);
  return names;
}

// The planning systems, and every other built-in graph that asks.
std::vector<std::string> raced_graphs() {
  std::vector<std::string> names = planning_systems;
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  for (const GraphRef& graph : catalogue->graphs) {
    const bool is_planner = std::find(names.begin(), names.end(), graph->name) != names.end();
    if (!is_planner && !nodes_that_ask(*graph).empty()) names.push_back(graph->name);
  }
  return names;
}

class RacedQuestions : public Invariants {
 protected:
  // The node of the one question that is open.
  std::string asking_node(const std::string& run) {
    const RunState state = folded(run, rows(run));
    EXPECT_EQ(state.questions.size(), 1U);
    if (state.questions.empty()) return "";
    return state.node(state.steps.at(state.questions.begin()->second.step)).name;
  }
};

INSTANTIATE_TEST_SUITE_P(Planners, RacedQuestions, ::testing::ValuesIn(raced_graphs()),
                         [](const auto& one) { return one.param; });

TEST_P(RacedQuestions, X_12_of_many_who_resume_or_answer_at_once_one_wins_at_every_node_that_asks) {
  constexpr int racers = 50;
  const PlannerCase asking = asking_case(GetParam());
  const std::string text = start_run(asking);
  const RunId run = *parse_run_id(text);
  ASSERT_TRUE(client_->command(run, Pause{}).ok());
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < racers; ++i) clients.push_back(make_client());
  const auto race = [&](const Command& command) {
    return winners(racers, [&](int i) { return clients[static_cast<std::size_t>(i)]->command(run, command).ok(); });
  };
  EXPECT_EQ(race(Resume{}), 1);
  std::set<std::string> raced;
  for (const std::string& answer : asking.answers) {
    ASSERT_EQ(work_until(asking, text, 0), 0);
    raced.insert(asking_node(text));
    EXPECT_EQ(race(Answer{"", Json::parse(answer), "racer", {}}), 1) << answer;
  }
  EXPECT_EQ(execute(asking, text), 0);
  EXPECT_EQ(shown(text)["status"], "done");
  std::map<std::string, int> counts;
  for (const Json& event : events_of(text)) ++counts[event["type"]];
  EXPECT_EQ(counts["run_resumed"], 1);
  EXPECT_EQ(counts["question_answered"], static_cast<int>(asking.answers.size()));
  EXPECT_EQ(raced, nodes_that_ask(*client_->graphs().current(GetParam())));
}

}  // namespace
}  // namespace cairn::program
