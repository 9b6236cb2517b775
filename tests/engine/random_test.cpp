// Random graphs, driven in random orders of completion with lost, failed, late and double results: the same state in
// every order, replay equal, the queue kept at each commit equal to the one computed whole (Trial compares those).
// CAIRN_SEED=N repeats one; CAIRN_SEEDS=N runs N of them.
#include <cstdlib>
#include <random>

#include "tests/engine/trial.hpp"
#include "tests/environment.hpp"
#include "workers/simulation/random_graph.hpp"

namespace cairn {
namespace {

using simulation::Chance;
using simulation::fate;

// Drives one run to its end in an order of its own.
class Driver {
 public:
  Driver(const std::string& graph, std::uint64_t salt, std::uint64_t order)
      : trial_(graph), salt_(salt), random_(order) {
    trial_.add_graph(std::string(simulation::kid_graph));
    trial_.replay_every = 7;
  }

  // The result that must be the same in every order.
  Json outcome() {
    trial_.start(R"({"trace":[],"sum":1})");
    for (int turn = 0; !is_ended(trial_.state.status); ++turn) {
      EXPECT_LT(turn, 20'000) << "the run never ends";
      if (turn == 20'000 || ::testing::Test::HasFailure()) break;
      act();
    }
    const RunState& state = trial_.state;
    expect_each_step_closed_once();
    Json goals = Json::array();
    for (const SubGoal* goal : plan_of(state, root_branch))
      goals.push_back({goal->id, to_string(goal->status), goal->outputs, goal->error});
    for (const RejectedGoal* goal : rejected_of(state, root_branch)) goals.push_back({goal->id, goal->reason});
    return {{"status", to_string(state.status)},
            {"reason", state.reason},
            {"output", state.output},
            {"channels", read_channels(state, root_branch)},
            {"steps", state.last_step},
            {"coins", state.budgets.at("coins").used},
            {"plan", goals}};
  }

 private:
  void act() {
    trouble();
    std::vector<StepId> open;
    for (const auto& [id, step] : trial_.state.steps)
      if (step.map.open_goals == 0 && step.map.open_items == 0) open.push_back(id);
    ASSERT_FALSE(open.empty()) << "nothing is open";
    const Step& step = trial_.state.steps.at(open[random_.below(open.size())]);
    trial_.now_us += static_cast<TimeUs>(random_.below(30'000));
    if (step.goal >= 0) return run_goal(step);
    if (work_of(trial_.state, step) != nullptr) return run_handler(step);
    if (call_of(trial_.state, step) != nullptr)
      return must(FinishChild{step.id, step.child, RunStatus::done, "", kid(step)});
    switch (node(step).verb()) {
      case Verb::ask:
        must(Answer{step.question, "answer to " + node(step).name, "ann", {}});
        return;
      case Verb::wait:
        return end_wait(step);
      case Verb::do_:
      case Verb::call:
      case Verb::map:
      case Verb::end:
        FAIL() << "a map without open sub-goals or items, or an end, is never open";
    }
  }

  Json kid(const Step& step) const { return {{"kid", identity(step)}}; }

  void expect_each_step_closed_once() const {
    std::map<StepId, int> closings;
    for (const Event& event : trial_.history) {
      const auto* failed = std::get_if<StepFailed>(&event.body);
      const auto* goal = std::get_if<SubGoalClosed>(&event.body);
      const bool closes = std::holds_alternative<StepSucceeded>(event.body) ||
                          (failed != nullptr && !failed->retry_at) ||
                          (goal != nullptr && goal->status != GoalStatus::skipped);
      if (!closes) continue;
      EXPECT_EQ(++closings[event.step], 1) << "step " << event.step;
    }
    EXPECT_EQ(closings.size(), static_cast<std::size_t>(trial_.state.last_step));
  }

  // Disturbances that must change nothing but attempts: a double of the last report, a late one, a loss, a pause.
  void trouble() {
    if (last_) trial_.refused(*last_);
    switch (random_.below(12)) {
      case 0:
        for (const auto& [id, step] : trial_.state.steps)
          if (step.goal >= 0 || work_of(trial_.state, step) != nullptr) {
            const CompleteStep late{id, step.attempt, {"ok", Json::object(), {}}, 1, 0, 0};
            must(FailStep{id, step.attempt, {"lost", "its worker died", true, {}}, 1, 0, true});
            trial_.refused(late);
            break;
          }
        return;
      case 1:
        must(Pause{});
        must(Resume{});
        return;
      default:
        return;
    }
  }

  void run_handler(const Step& step) {
    const std::string sees = identity(step);
    if (fate(sees + "fail" + std::to_string(step.errors), salt_) % 5 == 0) {
      report(FailStep{step.id, step.attempt, {"error", "fate", true, {}}, 1, 0});
      return;
    }
    CompleteStep complete{step.id, step.attempt, {"ok", patch(step, sees), {}}, 1, 0, 0};
    const auto& labels = work_of(trial_.state, step)->labels;
    if (labels.size() > 1 && fate(sees + "label", salt_) % 3 == 0) complete.outcome.label = labels[1];
    if (node(step).name.starts_with("plan")) complete.outcome.facts = goals(sees, node(step).name);
    report(complete);
  }

  Json patch(const Step& step, const std::string& sees) const {
    const std::uint64_t number = fate(sees, salt_) % 100;
    return {{"trace", {node(step).name}},
            {"sum", number},
            {"top", number},
            {"map", {{node(step).name, number}}},
            {"last_" + std::to_string(number % 3), number}};
  }

  std::vector<Fact> goals(const std::string& sees, const std::string& name) const {
    std::vector<Fact> facts;
    const std::uint64_t count = fate(sees + "goals", salt_) % 6;
    for (std::uint64_t n = 0; n < count; ++n) {
      const std::uint64_t roll = fate(sees + std::to_string(n), salt_);
      SubGoalOpened goal = sub_goal(name + "/" + std::to_string(fate(sees, salt_) % 100'000) + "." + std::to_string(n));
      const std::string before = goal.sub_goal.substr(0, goal.sub_goal.find('.') + 1) + std::to_string(roll % (n + 2));
      if (roll % 7 == 0) goal.tool = "unknown";
      if (roll % 3 == 0) goal.after = {before};
      if (roll % 3 == 1) goal.inputs = {{"in", {{"from_sub_goal", before}, {"slot", roll % 5 == 0 ? "w" : "v"}}}};
      facts.push_back(goal);
    }
    return facts;
  }

  void run_goal(const Step& step) {
    const SubGoal& goal = goal_of(trial_.state, step);
    const std::string sees = goal.id + canonical(*resolved_inputs(trial_.state, step));
    if (fate(sees + std::to_string(step.errors), salt_) % 4 == 0)
      report(FailStep{step.id, step.attempt, {"error", "fate", true, {}}, 1, 0});
    else
      report(CompleteStep{step.id, step.attempt, {"", Json{{"v", fate(sees, salt_) % 50}}, {}}, 1, 0, 0});
  }

  void end_wait(const Step& step) {
    if (!step.due) {
      must(SendSignal{node(step).name, "heard by " + node(step).name, ""});
      return;
    }
    trial_.now_us = std::max(trial_.now_us, *step.due);
    must(Due{step.id});
  }

  // The step's view: its branch's place and trace.
  std::string identity(const Step& step) const {
    std::string text = node(step).name + read_channel(trial_.state, step.branch, "trace").dump();
    for (BranchId id = step.branch; id != 0; id = trial_.state.branches.at(id).parent)
      text += "." + std::to_string(trial_.state.branches.at(id).place);
    return text;
  }

  const Node& node(const Step& step) const { return trial_.state.node(step); }

  void report(Command command) {
    last_ = command;
    must(std::move(command));
  }
  void must(Command command) {
    const Result<Decision> decision = trial_.when(std::move(command));
    EXPECT_TRUE(decision.ok()) << decision.error().message;
  }

  Trial trial_;
  std::uint64_t salt_;
  Chance random_;
  std::optional<Command> last_;
};

void check_seed(std::uint64_t seed) {
  Chance random(seed);
  const std::string graph = simulation::random_graph(random, {.has_references = random.one_in(2)}).dump();
  const std::uint64_t salt = random.next();
  Json first;
  for (int order = 0; order < 4; ++order) {
    const Json outcome = Driver(graph, salt, random.next()).outcome();
    if (order == 0) first = outcome;
    ASSERT_EQ(outcome, first) << "CAIRN_SEED=" << seed << " order " << order << "\n" << graph;
    ASSERT_EQ(outcome["status"], "done") << "CAIRN_SEED=" << seed << "\n" << outcome << "\n" << graph;
  }
}

TEST(Random, every_order_of_completion_comes_to_the_same_state) {
  if (std::getenv("CAIRN_SEED") != nullptr) return check_seed(test::number_of_environment("CAIRN_SEED", 0));
  const std::uint64_t first = std::random_device{}();
  const std::uint64_t seeds = test::number_of_environment("CAIRN_SEEDS", 150);
  std::cout << "seeds " << first << " to " << first + seeds - 1 << "\n";
  for (std::uint64_t seed = first; seed < first + seeds && !HasFatalFailure() && !HasFailure(); ++seed)
    check_seed(seed);
}

}  // namespace
}  // namespace cairn
