// Asks, signals, timers and where time waits: several questions, signals before, during and after their wait.
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

// Three branches that wait for one signal name; each stores what it heard.
const char* const three_waits = R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b","c"]}},
  "a":{"wait":{"signal":"go"},"into":"a","on":{"fired":"j"}},
  "b":{"wait":{"signal":"go","timeout_ms":1000},"into":"b","on":{"fired":"j","timeout":"j"}},
  "c":{"do":"x.c","labels":["ok"],"on":{"ok":"c2"}},
  "c2":{"wait":{"signal":"go"},"into":"c","on":{"fired":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

TEST(Waiting, a_signal_goes_to_the_lowest_open_step_that_waits_for_its_name) {
  Trial trial(three_waits);
  trial.start();
  trial.complete(1, "ok");
  EXPECT_EQ(trial.then(SendSignal{"go", 1, "s1"}).back(), R"(2 step_succeeded a fired -> j {"a":1} took s1)");
  EXPECT_EQ(trial.then(SendSignal{"other", 9, "s9"}), (Lines{"signal_received other s9"}));
  EXPECT_EQ(trial.then(SendSignal{"go", 2, "s2"}).back(), R"(3 step_succeeded b fired -> j {"b":2} took s2)");
  EXPECT_EQ(trial.then(SendSignal{"go", 3, "s3"}), (Lines{"signal_received go s3"})) << "nobody waits for it yet";
  EXPECT_EQ(trial.complete(4, "ok").back(), R"(5 step_succeeded c2 fired -> j {"c":3} took s3)");
}

TEST(Waiting, a_signal_after_its_wait_timed_out_waits_for_the_next) {
  Trial trial(three_waits);
  trial.start();
  trial.complete(1, "ok");
  trial.then(SendSignal{"go", 1, ""});
  trial.now_us += 2 * Trial::second_us;
  EXPECT_EQ(trial.then(Due{3}), (Lines{"3 timer_fired", "3 step_succeeded b timeout -> j"}));
  EXPECT_EQ(trial.then(SendSignal{"go", 2, ""}).size(), 1u);
  EXPECT_EQ(trial.complete(4, "ok").back(), R"(5 step_succeeded c2 fired -> j {"c":2} took event 7)");
}

TEST(Waiting, the_schema_of_a_question_may_hold_the_runs_data) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"ask":{"kind":"question","prompt":"?","schema":{"const":"$tenant","title":"$$x"}},
         "on":{"answered":"z","expired":"z"}},"z":{"end":"done"}}})");
  trial.start(R"({"tenant":"clinic"})");
  EXPECT_EQ(trial.state.questions.begin()->second.schema, (Json{{"const", "clinic"}, {"title", "$x"}}));
}

TEST(Waiting, several_signals_at_once_go_to_several_waits_in_their_order) {
  Trial trial(R"({"name":"t","start":"x","limits":{"steps":99},"nodes":{
    "x":{"do":"x.x","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"wait":{"signal":"go"},"into":"a","on":{"fired":"j"}},
    "b":{"wait":{"signal":"go"},"into":"b","on":{"fired":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  for (const int n : {1, 2, 3}) trial.then(SendSignal{"go", n, ""});
  trial.complete(1, "ok");
  EXPECT_EQ(read_channels(trial.state, root_branch), parse_stored(R"({"a":1,"b":2})"));
  EXPECT_EQ(trial.state.signals.at("go").size(), 1u);
}

// A19: a run remembers the ids of all its signals, in each snapshot.
TEST(Waiting, A19_signals_with_an_id_have_a_bound_and_a_double_is_refused_at_it) {
  Trial trial(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
    "w":{"wait":{"signal":"go"},"on":{"fired":"z"}},"z":{"end":"done"}}})");
  trial.start();
  Context context;
  context.now_us = trial.now_us;
  context.signal_ids_max = 2;
  const auto code_of = [&](const std::string& id) {
    RunState state = trial.state;
    const Result<Decision> decision = decide(state, SendSignal{"other", 1, id}, context, trial.graphs);
    return decision ? std::string("ok") : std::string(to_string(decision.error().code));
  };
  trial.then(SendSignal{"other", 1, "s1"});
  EXPECT_EQ(code_of("s2"), "ok");
  trial.then(SendSignal{"other", 1, "s2"});
  EXPECT_EQ(code_of("s1"), "conflict");
  EXPECT_EQ(code_of("s3"), "limit");
  EXPECT_EQ(code_of(""), "ok") << "one without an id is not remembered";
}

TEST(Waiting, a_signal_without_a_name_is_refused) {
  Trial trial(three_waits);
  trial.start();
  EXPECT_EQ(trial.refused(SendSignal{"", 1, "s1"}).code, Code::invalid);
}

TEST(Waiting, one_sender_id_is_taken_once_whatever_its_name_and_also_after_it_was_used) {
  Trial trial(three_waits);
  trial.start();
  trial.complete(1, "ok");
  trial.then(SendSignal{"go", 1, "s1"});
  EXPECT_EQ(trial.refused(SendSignal{"go", 2, "s1"}).code, Code::conflict);
  EXPECT_EQ(trial.refused(SendSignal{"other", 2, "s1"}).code, Code::conflict);
  trial.then(SendSignal{"go", 2, ""});
  trial.then(SendSignal{"go", 2, ""});
}

TEST(Waiting, a_wait_until_a_time_is_due_then_and_not_before) {
  Trial trial(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
    "w":{"wait":{"until":"$when"},"on":{"fired":"v"}},
    "v":{"wait":{"until":"2023-11-14T22:14:00Z"},"on":{"fired":"z"}},"z":{"end":"done"}}})");
  trial.now_us = *parse_time("2023-11-14T22:13:20Z");
  trial.start(R"({"when":"2023-11-14T22:13:50Z"})");
  EXPECT_EQ(trial.queue.at(root_branch).queue, timer_queue);
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, *parse_time("2023-11-14T22:13:50Z"));
  trial.now_us += 30 * Trial::second_us - 1;
  EXPECT_EQ(trial.refused(Due{1}).code, Code::invalid);
  ++trial.now_us;
  trial.then(Due{1});
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, *parse_time("2023-11-14T22:14:00Z"));
}

TEST(Waiting, a_time_in_the_past_is_due_at_once) {
  Trial trial(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
    "w":{"wait":{"until":"2001-01-01T00:00:00Z"},"on":{"fired":"v"}},"v":{"wait":{"ms":0},"on":{"fired":"z"}},
    "z":{"end":"done"}}})");
  trial.start();
  trial.then(Due{1});
  EXPECT_EQ(trial.then(Due{2}).back(), "run_finished done {}");
}

TEST(Waiting, a_time_beyond_the_range_fails_the_step) {
  for (const char* ms : {"-1", "9223372036854775807", "1.5", "\"soon\"", "18446744073709551615"}) {
    Trial trial(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
      "w":{"wait":{"ms":"$ms"},"on":{"fired":"z"}},"z":{"end":"done"}}})");
    EXPECT_EQ(trial.start(std::string(R"({"ms":)") + ms + "}").at(1), "1 step_failed w attempt 1 invalid for good")
        << ms;
  }
}

TEST(Waiting, a_forked_branch_an_open_map_a_call_and_an_untimed_wait_or_ask_have_no_job) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["p","q","w","c"]}},
    "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},"m":{"map":"sub_goals","on":{"joined":"j"}},
    "q":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":"j","expired":"j"}},
    "w":{"wait":{"signal":"go"},"on":{"fired":"j"}},
    "c":{"call":"kid","on":{"done":"j","failed":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.add_graph(R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
    "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  EXPECT_EQ(trial.queue.size(), 1u);
  trial.complete(2, "ok", "{}", {sub_goal("g")});
  ASSERT_EQ(trial.queue.size(), 1u) << "the sub-goal's";
  EXPECT_TRUE(goal_of(trial.state, trial.state.steps.at(trial.queue.begin()->second.step)).id == "g");
  EXPECT_FALSE(is_waiting(trial.state)) << "a sub-goal is work";
  trial.complete(trial.queue.begin()->second.step, "");
  EXPECT_TRUE(trial.queue.empty());
  EXPECT_TRUE(is_waiting(trial.state));
}

// --- asks -----------------------------------------------------------------------------------------------------------

const char* const two_asks = R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b"]}},
  "a":{"ask":{"kind":"approval","prompt":{"text":"$what","all":"$$"},"schema":{"type":"string"},"default":"$what"},
       "expires_ms":"$soon","into":"a","on":{"answered":"j"}},
  "b":{"ask":{"prompt":"Why?"},"into":"b","on":{"answered":"j","expired":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

TEST(Waiting, an_ask_gives_kind_prompt_schema_and_default) {
  Trial trial(two_asks);
  trial.start(R"({"what":"lunch","soon":5000})");
  trial.complete(1, "ok");
  const Question& asked = trial.state.questions.at("q2");
  EXPECT_EQ(asked.kind, "approval");
  EXPECT_EQ(asked.prompt, parse_stored(R"({"text":"lunch","all":"$"})"));
  EXPECT_EQ(asked.schema, parse_stored(R"({"type":"string"})"));
  EXPECT_EQ(asked.fallback, Json("lunch"));
  EXPECT_EQ(asked.expires_at, trial.now_us + 5 * Trial::second_us);
  const Question& plain = trial.state.questions.at("q3");
  EXPECT_EQ(plain.kind, "question");
  EXPECT_EQ(plain.schema, nullptr);
  EXPECT_FALSE(plain.fallback);
  EXPECT_FALSE(plain.expires_at);
}

TEST(Waiting, an_id_that_no_step_can_have_is_no_question) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"ask":{"prompt":"?"},"on":{"answered":"b","expired":"z"}},
    "b":{"ask":{"prompt":"!"},"on":{"answered":"z","expired":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.then(Answer{"q1", "yes", "ann", {}});
  EXPECT_EQ(trial.refused(Answer{"q1", "yes", "ann", {}}).code, Code::closed);
  for (const char* id : {"q3", "q0", "q-1", "q1x", "qq", "q2147483648", "q99999999999999999999999999"})
    EXPECT_EQ(trial.refused(Answer{id, "yes", "ann", {}}).code, Code::not_found) << id;
}

TEST(Waiting, with_several_questions_open_an_answer_names_its_own) {
  Trial trial(two_asks);
  trial.start(R"({"what":"lunch","soon":5000})");
  trial.complete(1, "ok");
  EXPECT_EQ(trial.refused(Answer{"", "x", "ann", {}}).code, Code::invalid);
  EXPECT_EQ(trial.then(Answer{"q3", "x", "ann", {}}).back(), R"(3 step_succeeded b answered -> j {"b":"x"} took q3)");
  EXPECT_EQ(trial.refused(Answer{"q3", "y", "bob", {}}).code, Code::closed) << "exactly one answer wins";
  EXPECT_EQ(trial.then(Answer{"", "y", "bob", {}}).front(), R"(2 question_answered q2 "y" by bob)");
}

TEST(Waiting, an_answer_and_an_expiry_exclude_each_other) {
  for (const bool answered : {true, false}) {
    Trial trial(two_asks);
    trial.start(R"({"what":"lunch","soon":5000})");
    trial.complete(1, "ok");
    trial.now_us += 6 * Trial::second_us;
    if (answered) {
      trial.then(Answer{"q2", "x", "ann", {}});
      EXPECT_EQ(trial.refused(Due{2}).code, Code::closed);
    } else {
      EXPECT_EQ(trial.then(Due{2}).front(), R"(2 question_answered q2 "lunch" by default)");
      EXPECT_EQ(trial.refused(Answer{"q2", "x", "ann", {}}).code, Code::closed);
    }
  }
}

TEST(Waiting, full_autonomy_takes_the_default_where_there_is_one) {
  Options options;
  options.autonomous = true;
  Trial trial(two_asks);
  trial.start(R"({"what":"lunch","soon":5000})", options);
  EXPECT_EQ(trial.complete(1, "ok"),
            (Lines{"1 step_succeeded f ok -> a b", R"(2 question_asked q2 {"all":"$","text":"lunch"})",
                   R"(2 question_answered q2 "lunch" by default)",
                   R"(2 step_succeeded a answered -> j {"a":"lunch"} took q2)", R"(3 question_asked q3 "Why?")",
                   "3 question_expired q3", "3 step_succeeded b expired -> j took q3"}));
}

TEST(Waiting, answers_and_signals_are_recorded_while_the_run_is_paused_and_timers_wait) {
  Trial trial(two_asks);
  trial.start(R"({"what":"lunch","soon":5000})");
  trial.complete(1, "ok");
  trial.then(Pause{});
  trial.now_us += 9 * Trial::second_us;
  EXPECT_EQ(trial.refused(Due{2}).code, Code::conflict);
  EXPECT_EQ(trial.queue.begin()->second.run_at_us, never_us);
  EXPECT_EQ(trial.then(Answer{"q3", "x", "ann", {}}).size(), 2u);
  EXPECT_EQ(trial.then(SendSignal{"go", 1, ""}).size(), 1u);
  EXPECT_EQ(trial.state.status, RunStatus::paused);
  trial.then(Resume{});
  EXPECT_EQ(trial.queue.begin()->second.run_at_us, *trial.state.steps.at(2).due) << "as it was";
  EXPECT_EQ(trial.then(Due{2}).back(), R"(2 step_succeeded a answered -> j {"a":"lunch"} took q2)");
}

}  // namespace
}  // namespace cairn
