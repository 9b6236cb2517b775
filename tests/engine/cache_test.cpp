// Nodes that say `cache`: what is remembered, where it is seen, and what may be used again.
#include "engine/codec.hpp"
#include "engine/graph_check.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const char* const looping =
    R"({"name":"t","start":"a","limits":{"steps":99},"channels":{"n":{"reducer":"sum"}},"nodes":{
  "a":{"do":"x.a","labels":["ok","out"],"cache":true,"retry":{"attempts":2},"on":{"ok":"b","out":"z"}},
  "b":{"do":"x.b","labels":["again"],"on":{"again":"a"}},"z":{"end":"done"}}})";

CompleteStep keyed(StepId step, std::string key, const std::string& patch = "{}", std::vector<Fact> facts = {}) {
  CompleteStep complete{step, 1, {"ok", parse_stored(patch), std::move(facts)}, 7, 0, 0};
  complete.outcome.cache_key = std::move(key);
  return complete;
}

CompleteStep reused(StepId step, StepId from, std::string key, const std::string& patch = "{}") {
  CompleteStep complete = keyed(step, std::move(key), patch);
  complete.cached_from = from;
  return complete;
}

TEST(Caching, a_recorded_outcome_is_used_again_and_the_event_says_from_which_step) {
  Trial trial(looping);
  trial.start();
  trial.then(keyed(1, "k1", R"({"n":2})"));
  EXPECT_EQ(std::get<StepSucceeded>(trial.history.back().body).cache_key, "k1");
  ASSERT_NE(find_cached(trial.state, root_branch, "k1"), nullptr);
  EXPECT_EQ(find_cached(trial.state, root_branch, "k2"), nullptr);
  trial.complete(2, "again");
  EXPECT_EQ(trial.then(reused(3, 1, "k1", R"({"n":2})")), (Lines{R"(3 step_succeeded a ok -> b {"n":2})"}));
  const auto& event = std::get<StepSucceeded>(trial.history.back().body);
  EXPECT_EQ(event.cached_from, 1);
  EXPECT_EQ(event.cache_key, "") << "it is recorded once";
  EXPECT_EQ(read_channel(trial.state, root_branch, "n"), 4) << "the patch counts each time";
}

TEST(Caching, the_version_of_the_handler_that_made_an_outcome_is_on_record) {
  Trial trial(looping);
  trial.start();
  CompleteStep second = keyed(1, "k1");
  second.outcome.handler_version = 2;
  trial.then(second);
  const EventBody& body = trial.history.back().body;
  EXPECT_EQ(std::get<StepSucceeded>(body).handler_version, 2);
  EXPECT_NE(encode_payload(body).find("\"handler_version\":2"), std::string::npos);
  trial.complete(2, "again");
  EXPECT_EQ(encode_payload(trial.history.back().body).find("handler_version"), std::string::npos);
}

TEST(Caching, what_no_step_recorded_is_refused) {
  Trial trial(looping);
  trial.start();
  trial.then(keyed(1, "k1", R"({"n":2})"));
  trial.complete(2, "again");
  EXPECT_EQ(trial.refused(reused(3, 1, "k2", R"({"n":2})")).code, Code::conflict) << "another key";
  EXPECT_EQ(trial.refused(reused(3, 2, "k1", R"({"n":2})")).code, Code::conflict) << "another step";
  EXPECT_EQ(trial.refused(reused(3, 1, "k1", R"({"n":3})")).code, Code::conflict) << "another patch";
  CompleteStep other = reused(3, 1, "k1", R"({"n":2})");
  other.outcome.label = "out";
  EXPECT_EQ(trial.refused(other).code, Code::conflict) << "another label";
  other = reused(3, 1, "k1", R"({"n":2})");
  other.outcome.facts = {Record{RecordKind::decision_proposed, "{}"}};
  EXPECT_EQ(trial.refused(other).code, Code::conflict) << "facts are not repeated";
  trial.then(reused(3, 1, "k1", R"({"n":2})"));
}

TEST(Caching, a_node_that_does_not_say_so_remembers_nothing) {
  Trial trial(looping);
  trial.start();
  trial.then(keyed(1, "k1"));
  CompleteStep plain{2, 1, {"again", Json::object(), {}}, 7, 0, 0};
  plain.outcome.cache_key = "kb";
  trial.then(plain);
  EXPECT_EQ(std::get<StepSucceeded>(trial.history.back().body).cache_key, "");
  EXPECT_EQ(find_cached(trial.state, root_branch, "kb"), nullptr);
}

TEST(Caching, an_outcome_that_plans_is_not_remembered_and_one_with_records_is) {
  Trial trial(looping);
  trial.start();
  trial.then(keyed(1, "planned", "{}", {sub_goal("g")}));
  trial.complete(2, "again");
  EXPECT_EQ(find_cached(trial.state, root_branch, "planned"), nullptr) << "used again, its plan would be missing";
  trial.then(keyed(3, "noted", "{}", {Record{RecordKind::decision_proposed, "{}"}}));
  EXPECT_NE(find_cached(trial.state, root_branch, "noted"), nullptr);
}

TEST(Caching, a_failed_attempt_is_not_remembered) {
  Trial trial(looping);
  trial.start();
  CompleteStep unfit = keyed(1, "k1", R"({"n":"x"})");
  trial.then(unfit);
  EXPECT_EQ(find_cached(trial.state, root_branch, "k1"), nullptr);
}

const char* const cached_fork = R"({"name":"t","start":"s","limits":{"steps":99},"nodes":{
  "s":{"do":"x.s","labels":["ok"],"cache":true,"on":{"ok":["a","b"]}},
  "a":{"do":"x.a","labels":["ok"],"cache":true,"on":{"ok":"a2"}},
  "a2":{"do":"x.a","labels":["ok"],"cache":true,"on":{"ok":"j"}},
  "b":{"do":"x.b","labels":["ok"],"cache":true,"on":{"ok":"b2"}},
  "b2":{"do":"x.b","labels":["ok"],"cache":true,"on":{"ok":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok","more"],"cache":true,"on":{"ok":"z","more":"s"}},"z":{"end":"done"}}})";

TEST(Caching, a_branch_sees_what_it_and_its_ancestors_recorded_and_after_the_join_all_of_it) {
  for (const bool reversed : {false, true}) {
    Trial trial(cached_fork);
    trial.start();
    trial.then(keyed(1, "k_s"));
    const BranchId a = trial.state.steps.at(2).branch, b = trial.state.steps.at(3).branch;
    EXPECT_NE(find_cached(trial.state, a, "k_s"), nullptr);
    for (const StepId step : reversed ? std::vector<StepId>{3, 2} : std::vector<StepId>{2, 3}) {
      trial.then(keyed(step, "same", R"({"v":)" + std::to_string(step) + "}"));
      trial.then(keyed(trial.state.last_step, "own" + std::to_string(step)));
    }
    EXPECT_EQ(trial.state.branches.count(a) + trial.state.branches.count(b), 0u);
    EXPECT_EQ(find_cached(trial.state, root_branch, "same")->step, 2) << "the first in edge order stays";
    EXPECT_NE(find_cached(trial.state, root_branch, "own2"), nullptr);
    EXPECT_NE(find_cached(trial.state, root_branch, "own3"), nullptr);
  }
}

TEST(Caching, a_sibling_does_not_see_what_is_recorded_beside_it) {
  Trial trial(cached_fork);
  trial.start();
  trial.then(keyed(1, "k_s"));
  trial.then(keyed(2, "k_a"));
  EXPECT_EQ(find_cached(trial.state, trial.state.steps.at(3).branch, "k_a"), nullptr);
  EXPECT_EQ(trial.refused(reused(3, 2, "k_a")).code, Code::conflict);
  EXPECT_EQ(trial.then(reused(4, 2, "k_a")).size(), 1u);
}

TEST(Caching, only_a_pure_handler_may_be_cached) {
  const Handlers handlers{{"x.pure", {{"ok"}, false, true}}, {"x.effect", {{"ok"}, false, false}}};
  const auto faults = [&](const std::string& handler, bool cache) {
    return graph_faults(
        Json{{"name", "t"},
             {"start", "a"},
             {"limits", {{"steps", 9}}},
             {"nodes", {{"a", {{"do", handler}, {"cache", cache}, {"on", {{"ok", "z"}}}}}, {"z", {{"end", "done"}}}}}},
        handlers);
  };
  EXPECT_EQ(faults("x.pure", true), Lines{});
  EXPECT_EQ(faults("x.effect", false), Lines{});
  EXPECT_EQ(faults("x.effect", true),
            (Lines{R"(Expected node "a" to cache what a pure handler leaves, but x.effect is an effect.)"}));
}

}  // namespace
}  // namespace cairn
