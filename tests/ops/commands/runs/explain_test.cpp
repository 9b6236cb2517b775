// Why a run is not moving, case by case: a state driven by hand, the jobs its queue would hold, and sessions made up.
#include "ops/answers/explain.hpp"

#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

constexpr SessionId ann = 7;
constexpr TimeUs second_us = Trial::second_us;

const char* const work_graph = R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"queue":"model","timeout_ms":60000,
       "retry":{"attempts":3,"backoff_ms":5000},"on":{"ok":"z"}},
  "z":{"end":"done"}}})";

SessionRow worker(SessionId id, TimeUs now_us) {
  SessionRow row;
  row.id = id;
  row.host = "stone";
  row.pid = 12;
  row.queues = {"default", "model", "cairn.timer"};
  row.beat_at = now_us - second_us;
  row.handlers = {"x.a", "x.b", "x.c"};
  row.tools = {"echo"};
  return row;
}

// The trial's moment as a database would show it: no worker holds its jobs, and one worker can do everything.
Situation now(const Trial& trial) {
  Situation situation;
  situation.now_us = trial.now_us;
  for (const auto& [branch, job] : trial.queue) {
    HeldJob held;
    held.run = trial.state.id;
    held.job = job;
    situation.jobs.push_back(held);
  }
  situation.sessions = {worker(ann, trial.now_us)};
  return situation;
}

// "step node kind", one for each reason.
std::vector<std::string> kinds(const std::vector<Reason>& reasons) {
  std::vector<std::string> lines;
  for (const Reason& reason : reasons)
    lines.push_back(std::to_string(reason.step) + " " + reason.node + " " + std::string(to_string(reason.kind)));
  return lines;
}

Reason only(const Trial& trial, const Situation& situation) {
  const std::vector<Reason> reasons = explain(trial.state, situation);
  EXPECT_EQ(reasons.size(), 1u);
  return reasons.empty() ? Reason{} : reasons.front();
}

void expect_reason(const Reason& reason, Reason::Kind kind, const std::string& says) {
  EXPECT_EQ(to_string(reason.kind), to_string(kind)) << reason.says;
  EXPECT_NE(reason.says.find(says), std::string::npos) << reason.says;
}

Trial started(const char* graph, const std::string& input = "{}") {
  Trial trial(graph);
  trial.start(input);
  return trial;
}

// --- queues and workers ----------------------------------------------------------------------------------------------

TEST(Explain, a_queued_step_is_ready_behind_those_before_it) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.before[root_branch] = 3;
  const Reason reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::ready, "in queue model since " + time_text(trial.now_us) + ", behind 3 others");
  EXPECT_EQ(reason.step, 1);
  EXPECT_EQ(reason.node, "a");
  EXPECT_EQ(reason.details["before"], 3);
  EXPECT_EQ(waiting_jobs(situation).size(), 1u);
}

TEST(Explain, A19_a_job_taken_out_of_the_queue_stands_still_until_it_is_rebuilt) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.jobs.at(0).job.run_at_us = never_us;
  expect_reason(only(trial, situation), Reason::Kind::stopped, "cairn rebuild");
}

TEST(Explain, a_queue_that_no_live_worker_serves_has_no_worker) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.sessions[0].queues = {"default"};
  expect_reason(only(trial, situation), Reason::Kind::no_worker, "serves queue model");
  situation = now(trial);
  situation.sessions[0].beat_at -= 60 * second_us;
  expect_reason(only(trial, situation), Reason::Kind::no_worker, "alive");
  situation.sessions.clear();
  expect_reason(only(trial, situation), Reason::Kind::no_worker, "serves queue model");
}

TEST(Explain, a_handler_that_no_serving_worker_has_is_no_worker) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.sessions[0].handlers = {"x.b"};
  const Reason reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::no_worker, "has the handler x.a");
  EXPECT_EQ(reason.details["handler"], "x.a");
  situation.sessions[0].handlers.reset();
  expect_reason(only(trial, situation), Reason::Kind::ready, "");
}

// The queues of a graph that was just added are not in its row yet.
TEST(Explain, a_worker_of_all_queues_serves_one_that_it_has_not_heard_of) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.sessions[0].queues = {"default", "cairn.timer"};
  expect_reason(only(trial, situation), Reason::Kind::no_worker, "serves queue model");
  situation.sessions[0].allows = {{"page /", "queue *"}};
  expect_reason(only(trial, situation), Reason::Kind::ready, "");
}

TEST(Explain, what_a_worker_needs_for_http_call_is_said) {
  const Trial trial = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"do":"http.call","with":{"url":"https://a.b/"},"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  const Situation situation = now(trial);
  expect_reason(only(trial, situation), Reason::Kind::no_worker,
                "has the handler http.call; a worker has it whose tools file has \"urls\" in \"builtin\".");
}

// `start --wait` said for ever that no worker served the queue, while its own worker lacked the handler.
TEST(Explain, the_worker_of_a_process_that_waits_for_the_run_is_one_for_it) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.sessions[0].only_own = true;
  situation.own = {ann};
  expect_reason(only(trial, situation), Reason::Kind::ready, "");
  situation.sessions[0].handlers = {"x.b"};
  expect_reason(only(trial, situation), Reason::Kind::no_worker, "has the handler x.a");
}

TEST(Explain, a_worker_for_runs_of_its_own_is_none_for_others) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.sessions[0].only_own = true;
  expect_reason(only(trial, situation), Reason::Kind::no_worker, "");
}

TEST(Explain, a_worker_for_runs_of_its_own_is_one_for_the_run_it_works_on) {
  Trial trial = started(R"({"name":"t","start":"f","limits":{"steps":10},"nodes":{
    "f":{"do":"x.a","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"j"}},
    "j":{"do":"x.a","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.complete(1, "ok");
  Situation situation = now(trial);
  situation.sessions[0].only_own = true;
  EXPECT_EQ(kinds(explain(trial.state, situation)), (std::vector<std::string>{"2 a no_worker", "3 b no_worker"}));
  situation.jobs[0].session = ann;
  EXPECT_EQ(kinds(explain(trial.state, situation)), (std::vector<std::string>{"2 a held", "3 b ready"}));
}

TEST(Explain, a_step_that_was_let_go_for_later_is_ready_since_now_at_most) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.jobs[0].job.run_at_us = trial.now_us + 10 * second_us;
  EXPECT_EQ(only(trial, situation).details["since"], time_text(trial.now_us));
  EXPECT_TRUE(waiting_jobs(situation).empty());
}

TEST(Explain, a_paused_queue_and_a_full_one_say_so) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.queues = {{.name = "other", .concurrency = 1, .paused = true}};
  situation.uses = {{"other", {.held = 1}}};
  expect_reason(only(trial, situation), Reason::Kind::ready, "");
  situation.queues = {{.name = "model", .paused = true}};
  expect_reason(only(trial, situation), Reason::Kind::queue_paused, "Queue model is paused");
  situation.queues = {{.name = "model", .concurrency = 2}};
  situation.uses = {{"model", {.held = 2}}, {"default", {.held = 9}}};
  const Reason reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::queue_limit, "may hold 2 at once, and holds 2");
  EXPECT_EQ(reason.details["concurrency"], 2);
  situation.uses = {{"model", {.held = 1}}};
  expect_reason(only(trial, situation), Reason::Kind::ready, "");
  situation.queues = {{.name = "model", .concurrency = 0}};
  situation.uses = {};
  expect_reason(only(trial, situation), Reason::Kind::queue_limit, "");
}

TEST(Explain, a_queue_whose_rate_is_used_up_says_when_the_next_step_may_begin) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  const StartRate rate{2, 60'000'000, 3};
  situation.queues = {{.name = "model", .rate = rate}};
  expect_reason(only(trial, situation), Reason::Kind::ready, "");
  situation.uses = {{"model", {.full_at = full_at_after(rate, 0, situation.now_us, 2)}}};
  expect_reason(only(trial, situation), Reason::Kind::ready, "");
  situation.uses = {{"model", {.full_at = full_at_after(rate, 0, situation.now_us, 3)}}};
  const TimeUs next = situation.now_us + 30'000'000;
  Reason reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::queue_rate,
                "Queue model may begin 2 per 1m, burst 3, and that is used up until " + time_text(next) + ".");
  EXPECT_EQ(reason.details["next"], time_text(next));
  situation.before = {{situation.jobs[0].job.branch, 4}};
  reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::queue_rate,
                "4 jobs are before it, so it may begin at " + time_text(next + 120'000'000));
}

TEST(Explain, a_step_that_waits_for_what_others_reserve_is_told_no_window_and_one_that_waits_for_the_window_its_end) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  const UnitBudget of_day{BudgetUnit::tokens, BudgetWindow::day, 100};
  const UnitBudget of_month{BudgetUnit::tokens, BudgetWindow::month, 200};
  situation.queues = {{.name = "model", .budgets = {of_day, of_month}, .reserves = {{BudgetUnit::tokens, 40}}}};
  const auto used = [&](std::int64_t today, std::int64_t this_month) {
    const auto use = [&](const UnitBudget& of, std::int64_t amount) {
      return UnitUse{of.unit, of.per, window_start(of.per, situation.now_us), amount};
    };
    return std::vector<UnitUse>{use(of_day, today), use(of_month, this_month)};
  };
  situation.uses = {{"model", {.held = 2, .budgets = used(0, 0)}}};
  Reason reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::queue_budget,
                "; 0 are used, 80 reserved by steps that are held, and a step reserves 40. It begins when one of these "
                "ends.");
  EXPECT_FALSE(reason.details.contains("next")) << reason.details;
  situation.uses = {{"model", {.held = 2, .budgets = used(61, 61)}}};
  reason = only(trial, situation);
  const std::string tomorrow = time_text(window_end(BudgetWindow::day, situation.now_us));
  expect_reason(reason, Reason::Kind::queue_budget, ". The next window begins at " + tomorrow + ".");
  EXPECT_EQ(reason.details["next"], tomorrow);
  situation.uses = {{"model", {.held = 3, .budgets = used(0, 161)}}};
  reason = only(trial, situation);
  EXPECT_EQ(reason.details["per"], "month") << "what ends with a held step is not what it waits for";
  EXPECT_EQ(reason.details["next"], time_text(window_end(BudgetWindow::month, situation.now_us)));
}

TEST(Explain, a_queue_of_keys_or_with_an_ageing_foretells_no_place_and_names_limit_and_key) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  const StartRate rate{1, 60'000'000, 1};
  const BranchId branch = situation.jobs[0].job.branch;
  situation.before = {{branch, 5}};
  situation.keys = {{branch, "acme"}};
  situation.queues = {{.name = "model", .rate = rate, .key = "tag.customer"}};
  Reason reason = only(trial, situation);
  expect_reason(
      reason, Reason::Kind::ready,
      ". The queue has limit none, rate 1 per 1m, burst 1, in turns by tag.customer. Its keys take turns, and "
      "the step's key is \"acme\".");
  EXPECT_EQ(reason.details["key"], "acme");
  EXPECT_FALSE(reason.details.contains("before"));
  situation.uses = {{"model", {.full_at = full_at_after(rate, 0, situation.now_us, 1)}}};
  reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::queue_rate, ". Its keys take turns, and the step's key is \"acme\".");
  EXPECT_EQ(reason.says.find("before it"), std::string::npos) << reason.says;
  EXPECT_EQ(reason.details["key"], "acme");
  EXPECT_FALSE(reason.details.contains("before"));
  situation.queues = {{.name = "model", .rate = rate, .ageing_us = 1'000'000}};
  reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::queue_rate, "that is used up until");
  EXPECT_EQ(reason.says.find("before it"), std::string::npos) << reason.says;
}

TEST(Explain, a_held_step_is_held_by_whom_since_when) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.sessions.insert(situation.sessions.begin(), worker(3, trial.now_us));
  situation.sessions[0].host = "another";
  situation.jobs[0].session = ann;
  situation.jobs[0].deadline_us = trial.now_us + 30 * second_us;
  const Reason reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::held, "session 7 (process 12 on stone)");
  EXPECT_EQ(reason.details["since"], time_text(trial.now_us - 35 * second_us));
  EXPECT_EQ(reason.details["deadline"], time_text(trial.now_us + 30 * second_us));
  EXPECT_EQ(reason.details["host"], "stone");
  EXPECT_EQ(reason.details["pid"], 12);
  EXPECT_TRUE(waiting_jobs(situation).empty());
  situation.jobs[0].deadline_us = trial.now_us - 1 * second_us;
  expect_reason(only(trial, situation), Reason::Kind::held, "its deadline has passed at ");
}

TEST(Explain, since_when_a_step_is_held_follows_from_its_deadline_if_it_has_one) {
  const Trial trial = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  Situation situation = now(trial);
  situation.jobs[0].session = ann;
  situation.jobs[0].deadline_us = trial.now_us + 605 * second_us;
  EXPECT_EQ(only(trial, situation).details["since"], time_text(trial.now_us)) << "ten minutes and the grace";
  situation.jobs[0].deadline_us = never_us;
  EXPECT_FALSE(only(trial, situation).details.contains("since"));
}

TEST(Explain, a_step_held_by_a_session_that_is_gone_has_a_dead_worker) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.jobs[0].session = 99;
  expect_reason(only(trial, situation), Reason::Kind::dead_worker, "session 99, which is gone");
  situation.jobs[0].session = ann;
  situation.sessions[0].beat_at -= 60 * second_us;
  const Reason silent = only(trial, situation);
  expect_reason(silent, Reason::Kind::dead_worker, "has not been heard of since");
  EXPECT_EQ(silent.details["last_beat"], time_text(situation.sessions[0].beat_at));
  situation.sessions[0].beat_at = 0;  // of an older release: unknown
  expect_reason(only(trial, situation), Reason::Kind::held, "");
}

TEST(Explain, a_failed_attempt_waits_for_its_next_one) {
  Trial trial = started(work_graph);
  trial.fail(1, "timeout");
  const Reason reason = only(trial, now(trial));
  expect_reason(reason, Reason::Kind::retry, "Attempt 2 begins at " + time_text(trial.now_us + 5 * second_us));
  EXPECT_EQ(reason.details["error"], "timeout");
  trial.now_us += 6 * second_us;
  expect_reason(only(trial, now(trial)), Reason::Kind::ready, "");
}

// "The one before failed with :", where there was none before.
TEST(Explain, D15_a_first_attempt_that_begins_later_has_none_before_it_that_failed) {
  Trial trial = started(work_graph);
  trial.now_us -= 5 * second_us;  // the database's clock was ahead when it was queued
  const Reason reason = only(trial, now(trial));
  expect_reason(reason, Reason::Kind::retry,
                "Attempt 1 begins at " + time_text(trial.now_us + 5 * second_us) + ", for which it was queued.");
  EXPECT_EQ(reason.says.find("failed"), std::string::npos) << reason.says;
  EXPECT_FALSE(reason.details.contains("error"));
}

TEST(Explain, a_step_without_its_job_says_so) {
  const Trial trial = started(work_graph);
  Situation situation = now(trial);
  situation.jobs.clear();
  expect_reason(only(trial, situation), Reason::Kind::no_job, "rebuilt");
}

// --- waiting for people and things -----------------------------------------------------------------------------------

TEST(Explain, a_question_waits_for_its_answer_until_it_is_overdue) {
  Trial trial = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"ask":{"kind":"question","prompt":"Which region?"},"expires_ms":60000,"on":{"answered":"z","expired":"z"}},
    "z":{"end":"done"}}})");
  const Reason reason = only(trial, now(trial));
  expect_reason(reason, Reason::Kind::question, "Question q1 waits for an answer until");
  EXPECT_NE(reason.says.find(time_text(trial.now_us + 60 * second_us) + ": \"Which region?\""), std::string::npos)
      << reason.says;
  EXPECT_EQ(reason.details["expires_at"], time_text(trial.now_us + 60 * second_us));
  EXPECT_EQ(reason.details["question"], "q1");
  EXPECT_EQ(reason.details["prompt"], "Which region?");
  trial.now_us += 61 * second_us;
  expect_reason(only(trial, now(trial)), Reason::Kind::ready, "cairn.timer");
  Situation nobody = now(trial);
  nobody.sessions.clear();
  expect_reason(only(trial, nobody), Reason::Kind::no_worker, "cairn.timer");
}

TEST(Explain, a_wait_is_due_or_has_a_signal) {
  Trial timed = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"wait":{"ms":60000},"on":{"fired":"z"}},"z":{"end":"done"}}})");
  expect_reason(only(timed, now(timed)), Reason::Kind::timer, time_text(timed.now_us + 60 * second_us));
  timed.now_us += 60 * second_us;
  expect_reason(only(timed, now(timed)), Reason::Kind::ready, "cairn.timer");
  const Trial signalled = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"wait":{"signal":"go"},"on":{"fired":"z"}},"z":{"end":"done"}}})");
  const Reason reason = only(signalled, now(signalled));
  expect_reason(reason, Reason::Kind::signal, "the signal go.");
  EXPECT_EQ(reason.details["signal"], "go");
}

TEST(Explain, a_signal_is_waited_for_until_it_is_overdue) {
  Trial trial = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"wait":{"signal":"go","timeout_ms":60000},"on":{"fired":"z","timeout":"z"}},"z":{"end":"done"}}})");
  const std::string due = time_text(trial.now_us + 60 * second_us);
  const Reason reason = only(trial, now(trial));
  expect_reason(reason, Reason::Kind::signal, "the signal go until " + due);
  EXPECT_EQ(reason.details["due"], due);
  trial.now_us += 60 * second_us;
  expect_reason(only(trial, now(trial)), Reason::Kind::ready, "cairn.timer");
}

TEST(Explain, a_call_waits_for_its_run) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"call":"inner","on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  trial.add_graph(R"({"name":"inner","start":"a","limits":{"steps":10},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  Situation situation = now(trial);
  const RunId child = trial.children.at(0).state.id;
  situation.called[child] = "running";
  const Reason reason = only(trial, situation);
  expect_reason(reason, Reason::Kind::child, to_string(child) + ", which is running");
  EXPECT_EQ(reason.details["child"], to_string(child));
  EXPECT_EQ(reason.details["status"], "running");
  situation.called[child] = "done";
  expect_reason(only(trial, situation), Reason::Kind::child, "ended without it");  // A3
  situation.called.clear();
  expect_reason(only(trial, situation), Reason::Kind::child, "which is unknown");
}

TEST(Explain, a_map_counts_its_open_sub_goals_and_each_has_its_own_reason) {
  Trial trial = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"m"}},"m":{"map":"sub_goals","on":{"joined":"z"}},
    "z":{"end":"done"}}})");
  trial.complete(1, "ok", "{}", {sub_goal("g1"), sub_goal("g2", "slow"), sub_goal("g3", "echo", {"g1"})});
  const std::vector<Reason> reasons = explain(trial.state, now(trial));
  EXPECT_EQ(kinds(reasons), (std::vector<std::string>{"2 m map", "3 m ready", "4 m no_worker"}));
  EXPECT_EQ(reasons[0].details, (Json{{"open", 3}, {"of", 3}}));
  EXPECT_EQ(reasons[1].details["sub_goal"], "g1");
  EXPECT_EQ(reasons[2].details["queue"], "slow");
}

TEST(Explain, a_tool_that_no_serving_worker_has_is_no_worker) {
  Trial trial = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"m"}},"m":{"map":"sub_goals","on":{"joined":"z"}},
    "z":{"end":"done"}}})");
  trial.complete(1, "ok", "{}", {sub_goal("g1")});
  Situation situation = now(trial);
  situation.sessions[0].tools = {"fail"};
  const std::vector<Reason> reasons = explain(trial.state, situation);
  ASSERT_EQ(reasons.size(), 2u);
  expect_reason(reasons[1], Reason::Kind::no_worker, "has the tool echo");
}

TEST(Explain, a_join_names_the_branches_it_still_waits_for) {
  Trial trial = started(R"({"name":"t","start":"f","limits":{"steps":10},"nodes":{
    "f":{"do":"x.a","labels":["ok"],"on":{"ok":["a","b","c"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"j"}},
    "c":{"do":"x.c","labels":["ok"],"on":{"ok":"j"}},
    "j":{"do":"x.a","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.complete(1, "ok");
  EXPECT_EQ(kinds(explain(trial.state, now(trial))), (std::vector<std::string>{"2 a ready", "3 b ready", "4 c ready"}));
  trial.complete(3, "ok");
  const std::vector<Reason> reasons = explain(trial.state, now(trial));
  EXPECT_EQ(kinds(reasons), (std::vector<std::string>{"2 a ready", "4 c ready", "0 j join"}));
  expect_reason(reasons[2], Reason::Kind::join, "1 of 3 branches have arrived");
  expect_reason(reasons[2], Reason::Kind::join, "(step 2), branch ");
  EXPECT_EQ(reasons[2].details["branches"].size(), 2u);
}

// --- the run ---------------------------------------------------------------------------------------------------------

TEST(Explain, a_paused_run_says_so_for_itself_and_for_what_may_not_begin) {
  Trial trial = started(R"({"name":"t","start":"f","limits":{"steps":10},"nodes":{
    "f":{"do":"x.a","labels":["ok"],"on":{"ok":["a","b","c","d"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"j"}},
    "c":{"wait":{"ms":1000},"on":{"fired":"j"}},
    "d":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":"j","expired":"j"}},
    "j":{"do":"x.a","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.complete(1, "ok");
  trial.then(Pause{});
  Situation situation = now(trial);
  situation.jobs[0].session = ann;
  EXPECT_EQ(kinds(explain(trial.state, situation)),
            (std::vector<std::string>{"0  paused", "2 a held", "3 b paused", "4 c paused", "5 d question"}));
  trial.then(Resume{});
  EXPECT_EQ(kinds(explain(trial.state, now(trial))),
            (std::vector<std::string>{"2 a ready", "3 b ready", "4 c timer", "5 d question"}));
}

TEST(Explain, an_ended_run_has_one_reason) {
  Trial trial = started(work_graph);
  trial.then(Cancel{"not needed"});
  const Reason reason = only(trial, now(trial));
  expect_reason(reason, Reason::Kind::ended, "ended as aborted: not needed");
  const Json shown = reason_json(reason);
  EXPECT_EQ(shown["step"], nullptr);
  EXPECT_EQ(shown["node"], nullptr);
  EXPECT_EQ(shown["kind"], "ended");
  EXPECT_EQ(shown["status"], "aborted");
}

// The message of a map's failures stood twice in a row where the end's reason was {{error/message}}.
TEST(Explain, an_end_whose_reason_has_the_message_of_its_cause_says_it_once) {
  const auto failed = [](const std::string& end) {
    Trial trial(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
      "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z","error":"y"}},"z":{"end":"done"},"y":{"end":)" +
                end + "}}}");
    trial.start("{}");
    trial.fail(1, "down");
    return only(trial, now(trial));
  };
  const Reason once = failed(R"({"status":"failed","reason":"{{error/message}}."})");
  EXPECT_EQ(once.says, "The run has ended as failed: it broke. Cause: step 1 (a), attempt 1: down.");
  EXPECT_EQ(once.details["cause"]["message"], "it broke");
  EXPECT_EQ(failed(R"({"status":"failed","reason":"bad"})").says,
            "The run has ended as failed: bad. Cause: step 1 (a), attempt 1: down: it broke");
}

TEST(Explain, a_run_that_ends_with_its_failed_step_says_it_once) {
  Trial trial = started(R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.fail(1, "down");
  EXPECT_EQ(only(trial, now(trial)).says, "The run has ended as failed: Step 1 (a) failed: down: it broke");
}

}  // namespace
}  // namespace cairn
