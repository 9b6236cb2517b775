// A map over the items of a list: what each item reads and leaves, how many are open, what fails, what a fold keeps.
#include "engine/graph_check.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const char* const scores = R"({"name":"t","start":"m","limits":{"steps":99},"nodes":{
  "m":{"map":{"over":"$list","do":"x.score","labels":["high","low"],"concurrency":2,
              "with":{"name":"{{item/name}}","at":"$index","unit":"$unit"},"into":"scores","failures":"failed"},
       "timeout_ms":1234,"retry":{"attempts":2,"backoff_ms":100},"on":{"joined":"z","partial":"y","error":"x"}},
  "x":{"end":{"status":"failed","reason":"{{error/message}}"}},
  "y":{"end":{"status":"failed","output":{"scores":"$scores","failed":"$failed"}}},
  "z":{"end":{"status":"done","output":"$scores"}}}})";
const char* const three = R"({"unit":"m","list":[{"name":"a"},{"name":"b"},{"name":"c"}]})";

TEST(MapItems, each_item_is_a_step_that_reads_the_item_and_its_place) {
  Trial trial(scores);
  trial.start(three);
  EXPECT_EQ(trial.queue.size(), 2U) << "two at once";
  EXPECT_EQ(trial.with_of(2), (Json{{"name", "a"}, {"at", 0}, {"unit", "m"}}));
  EXPECT_EQ(trial.with_of(3), (Json{{"name", "b"}, {"at", 1}, {"unit", "m"}}));
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(2).branch).timeout_ms, 1234);
  EXPECT_FALSE(is_waiting(trial.state));
}

TEST(MapItems, results_stand_in_the_order_of_the_items) {
  Trial trial(scores);
  trial.start(three);
  EXPECT_EQ(trial.complete(3, "low", R"({"n":2})"), (Lines{"3 step_succeeded m low {\"n\":2}"}));
  EXPECT_EQ(trial.with_of(4)["name"], "c") << "the next one opens in its place";
  trial.complete(4, "low", R"({"n":3})");
  EXPECT_EQ(trial.complete(2, "high", R"({"n":1})").back(), "run_finished done [{\"n\":1},{\"n\":2},{\"n\":3}]");
}

TEST(MapItems, an_item_that_fails_is_named_and_the_others_go_on) {
  Trial trial(scores);
  trial.start(three);
  trial.fail(2, "broken");
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(2).branch).run_at_us, trial.now_us + 100'000) << "the map's retry";
  trial.fail(2, "broken");
  trial.complete(3, "low", R"({"n":2})");
  trial.complete(4, "low", R"({"n":3})");
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  const Json failed = {{{"index", 0}, {"error", "broken"}, {"message", "it broke"}}};
  EXPECT_EQ(trial.state.output, (Json{{"scores", {nullptr, {{"n", 2}}, {{"n", 3}}}}, {"failed", failed}}));
  EXPECT_EQ(trial.state.cause->message, "1 of 3 items failed; the first was item 0: broken: it broke");
}

TEST(MapItems, an_empty_list_joins_at_once) {
  Trial trial(scores);
  EXPECT_EQ(trial.start(R"({"list":[]})").back(), "run_finished done []");
}

TEST(MapItems, what_is_no_list_leaves_by_error) {
  for (const char* input : {R"({"list":{"a":1}})", R"({"list":"abc"})", R"({"list":null})"}) {
    Trial trial(scores);
    trial.start(input);
    EXPECT_EQ(trial.state.reason.find("Expected a list to map over, but found "), 0U) << trial.state.reason;
  }
  Trial missing(scores);
  missing.start("{}");
  EXPECT_EQ(missing.state.status, RunStatus::failed);
}

TEST(MapItems, an_items_handler_plans_nothing_and_an_item_closed_is_closed) {
  Trial trial(scores);
  trial.start(three);
  trial.complete(2, "high", "{}", {sub_goal("a")});
  EXPECT_EQ(trial.state.steps.at(2).error, "invalid");
  trial.complete(3, "low");
  EXPECT_EQ(trial.refused(CompleteStep{3, 1, {"low", Json::object(), {}}, 1, 0}).code, Code::closed);
  EXPECT_EQ(trial.refused(CompleteStep{1, 1, {"joined", Json::object(), {}}, 1, 0}).code, Code::invalid)
      << "the map's own step is nobody's to report";
}

TEST(MapItems, a_budget_is_spent_by_each_item) {
  Trial trial(R"({"name":"t","start":"m","limits":{"steps":99},"budgets":{"coins":{"cap":2}},"nodes":{
    "m":{"map":{"over":"$list","do":"x.a","labels":["ok"],"into":"r"},"spends":"coins",
         "on":{"joined":"z","partial":"y"}},
    "y":{"end":{"status":"failed","output":"$r"}},"z":{"end":"done"}}})");
  trial.start(R"({"list":[1,2,3]})");
  EXPECT_EQ(trial.queue.size(), 2U);
  trial.complete(2, "ok");
  trial.complete(3, "ok");
  EXPECT_EQ(trial.state.output, (Json{Json::object(), Json::object(), nullptr}));
  EXPECT_EQ(trial.state.cause->message.find("1 of 3 items failed; the first was item 2: exhausted"), 0U);
}

TEST(MapItems, a_call_for_each_item_is_a_child_run_of_its_own) {
  Trial trial(R"({"name":"t","start":"m","limits":{"steps":99},"nodes":{
    "m":{"map":{"over":"$list","call":"one","with":{"n":"$item"},"concurrency":2,"into":"r","failures":"f"},
         "on":{"joined":"z","partial":"z"}},
    "z":{"end":{"status":"done","output":{"r":"$r","f":"$f"}}}}})");
  trial.add_graph(R"({"name":"one","start":"w","limits":{"steps":9},"nodes":{
    "w":{"do":"x.w","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start(R"({"list":[10,20,30]})");
  ASSERT_EQ(trial.children.size(), 2U);
  EXPECT_EQ(parse_stored(trial.children[1].state.input), (Json{{"n", 20}}));
  EXPECT_TRUE(is_waiting(trial.state));
  trial.then(FinishChild{3, trial.state.steps.at(3).child, RunStatus::failed, "no", {}});
  ASSERT_EQ(trial.children.size(), 3U);
  trial.then(FinishChild{2, trial.state.steps.at(2).child, RunStatus::done, "", Json{{"v", 1}}});
  EXPECT_EQ(trial.then(FinishChild{4, trial.state.steps.at(4).child, RunStatus::done, "", Json{{"v", 3}}}).back(),
            R"(run_finished done {"f":[{"error":"failed","index":1,"message":"no"}],"r":[{"v":1},null,{"v":3}]})");
}

TEST(MapItems, pages_add_to_a_channel_that_appends) {
  Trial trial(R"({"name":"t","start":"m","channels":{"r":{"reducer":"append"}},"limits":{"steps":99},"nodes":{
    "m":{"map":{"over":"$page","do":"x.a","labels":["ok"],"into":"r"},"on":{"joined":"n"}},
    "n":{"do":"x.next","labels":["more","end"],"on":{"more":"m","end":"z"}},
    "z":{"end":{"status":"done","output":"$r"}}}})");
  trial.start(R"({"page":[1]})");
  trial.complete(2, "ok", R"({"v":1})");
  trial.complete(3, "more", R"({"page":[2,3]})");
  trial.complete(6, "ok", R"({"v":3})");
  trial.complete(5, "ok", R"({"v":2})");
  EXPECT_EQ(trial.complete(7, "end").back(), "run_finished done [{\"v\":1},{\"v\":2},{\"v\":3}]");
}

TEST(MapItems, a_pause_a_failed_run_and_a_reopening_leave_items_as_they_were) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["m","o"]}},
    "m":{"map":{"over":"$list","do":"x.a","labels":["ok"],"into":"r"},"on":{"joined":"j"}},
    "o":{"do":"x.o","labels":["ok"],"on":{"ok":"j"}},
    "j":{"do":"x.j","labels":["ok"],"join":true,"on":{"ok":"z"}},
    "z":{"end":{"status":"done","output":"$r"}}}})");
  trial.start(R"({"list":[1,2]})");
  trial.complete(1, "ok");
  trial.then(Pause{});
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(3).branch).run_at_us, never_us);
  trial.then(Resume{});
  trial.complete(3, "ok", R"({"v":1})");
  const StepId other = 5;
  trial.fail(other);
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  trial.then(Reopen{});
  trial.complete(4, "ok", R"({"v":2})");
  trial.complete(other, "ok");
  EXPECT_EQ(trial.complete(6, "ok").back(), "run_finished done [{\"v\":1},{\"v\":2}]");
}

TEST(MapItems, a_list_may_be_long) {
  Trial trial(scores);
  trial.replay_every = 5'000;
  Json list = Json::array();
  for (int i = 0; i < 90; ++i) list.push_back({{"name", std::to_string(i)}});
  trial.start(Json{{"unit", ""}, {"list", list}}.dump());
  for (StepId step = 2; step < 92; ++step) {
    ASSERT_EQ(trial.queue.size(), step < 91 ? 2U : 1U);
    trial.complete(step, "low", Json{{"n", step}}.dump());
  }
  EXPECT_EQ(trial.state.output.size(), 90U);
  EXPECT_EQ(trial.state.output[89], (Json{{"n", 91}}));
}

TEST(MapItems, tens_of_thousands_of_items_are_done_in_order_and_failures_named) {
  constexpr StepId count = 12'000, at_once = 50;
  Trial trial(R"({"name":"t","start":"m","limits":{"steps":20000},"nodes":{
    "m":{"map":{"over":"$list","do":"x.a","labels":["ok"],"concurrency":50,"into":"r","failures":"f"},
         "on":{"joined":"z","partial":"z"}},
    "z":{"end":{"status":"done","output":{"r":"$r","f":"$f"}}}}})");
  trial.replay_every = 1'000'000;  // at the end
  Json list = Json::array();
  for (StepId i = 0; i < count; ++i) list.push_back(i);
  trial.start(Json{{"list", list}}.dump());
  for (StepId step = 2; step < count + 2; ++step) {
    ASSERT_EQ(trial.queue.size(), static_cast<std::size_t>(std::min<StepId>(at_once, count + 2 - step)));
    if (step % 5'000 == 0)
      trial.fail(step, "broken", false);
    else
      trial.complete(step, "ok", Json{{"n", step}}.dump());
  }
  ASSERT_EQ(trial.state.status, RunStatus::done);
  const Json& results = trial.state.output["r"];
  ASSERT_EQ(results.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(results[0], (Json{{"n", 2}}));
  EXPECT_EQ(results[4'998], nullptr);
  EXPECT_EQ(results[11'999], (Json{{"n", 12'001}}));
  EXPECT_EQ(trial.state.output["f"].size(), 2U);
  EXPECT_EQ(trial.state.output["f"][1]["index"], 9'998);
}

TEST(MapItems, faults_of_the_settings_are_found) {
  const auto faults = [](const std::string& map) {
    const std::string graph = R"({"name":"t","start":"m","channels":{"n":{"reducer":"sum"}},"limits":{"steps":9},
      "nodes":{"m":{"map":)" + map +
                              R"(,"on":{"joined":"z"}},"z":{"end":"done"}}})";
    const std::vector<std::string> found = graph_faults(parse_stored(graph), {});
    return found.empty() ? "" : found.front();
  };
  EXPECT_EQ(faults(R"({"over":"$l","call":"g","into":"r"})"), "");
  EXPECT_EQ(faults(R"({"over":[1,2],"do":"x.a","labels":["ok"]})"), "");
  EXPECT_EQ(faults(R"({"over":"$l"})"), "Expected the map of node \"m\" to have one of do and call, but it has none.");
  EXPECT_EQ(faults(R"({"over":"l","call":"g"})"),
            "Expected the map of node \"m\" to go \"over\" a list or a $channel that gives one, but it is \"l\".");
  EXPECT_EQ(faults(R"({"over":"$l","call":"g","concurrency":0})"),
            "Expected \"concurrency\" in the map of node \"m\" to be an integer from 1 to 1000, but it is 0.");
  EXPECT_EQ(faults(R"({"over":"$l","call":"g","into":"n"})"),
            "Expected the channel of \"into\" of the map of node \"m\" to take lists (last or append), but it is "
            "\"sum\".");
  EXPECT_EQ(faults(R"({"over":"$l","call":"g","queue":"q"})"),
            "Expected the map of node \"m\" to have \"queue\" only with \"do\", but it has \"call\".");
  EXPECT_EQ(faults(R"({"over":"$l","do":"x.a"})"),
            "Expected the map of node \"m\" to have a known handler or to declare its labels, but there is no handler "
            "x.a.");
}

}  // namespace
}  // namespace cairn
