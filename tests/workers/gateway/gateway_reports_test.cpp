// Reports of workers over HTTP: each counts once, in whichever process of the API it arrives, and as often as it comes.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/workers/gateway/gateway_rig.hpp"
#include "workers/gateway/report_rules.hpp"

namespace cairn {
namespace {

using namespace test;

TEST_F(GatewayTest, a_report_and_the_next_claim_are_one_request) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 5));
  ASSERT_EQ(first.claims.size(), 1u);
  EXPECT_EQ(first.claims[0].input.with, (Json{{"n", 1}}));
  EXPECT_EQ(first.claims[0].handler, "py.a");
  Ask more = ask_of(first.session, 5);
  more.finished.push_back(done(first.claims[0].id));
  const AskAnswer second = answered(here_, std::move(more));
  EXPECT_EQ(second.session, first.session);
  ASSERT_EQ(second.results.size(), 1u);
  EXPECT_EQ(second.results[0].status, ReportStatus::committed) << second.results[0].says;
  ASSERT_EQ(second.claims.size(), 1u);
  EXPECT_EQ(second.claims[0].input.node, "b");
  EXPECT_EQ(reported(here_, first.session, done(second.claims[0].id, 4)).results[0].status, ReportStatus::committed);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(client_->state(run)->output, (Json{{"count", 5}}));
}

TEST_F(GatewayTest, the_same_report_again_is_already_there_for_ever_and_another_is_a_conflict) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  EXPECT_EQ(reported(here_, first.session, done(claim)).results[0].status, ReportStatus::committed);
  for (Process* process : {&here_, &there_}) {
    EXPECT_EQ(reported(*process, first.session, done(claim)).results[0].status, ReportStatus::already);
    EXPECT_EQ(reported(*process, first.session, done(claim, 2)).results[0].status, ReportStatus::conflict);
    EXPECT_EQ(reported(*process, first.session, {claim, Failure{"broken", "It broke.", true, {}}}).results[0].status,
              ReportStatus::conflict);
  }
  const AskAnswer second = answered(there_, ask_of(first.session, 1));
  EXPECT_EQ(reported(there_, first.session, done(second.claims.at(0).id)).results[0].status, ReportStatus::committed);
  ASSERT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(reported(here_, first.session, done(claim)).results[0].status, ReportStatus::already);
  EXPECT_EQ(store_->run(run)->head, 4);
}

TEST(ReportRules, a_report_without_a_label_is_the_same_as_ok_and_as_the_only_label_of_a_handler) {
  const RemoteWorker worker({"w", "", {"py"}, {{.name = "a", .labels = {"counted"}}, {"b", 1, {"other", "none"}}}, {}});
  const auto status_of = [](const char* recorded, const HandlerTable* declared) {
    StepSucceeded ended;
    ended.label = recorded;
    ended.worker = 7;
    return judge_report(CompleteStep{1, 1, Outcome{}, 7, 0, 0}, {ended, true}, 7, declared).status;
  };
  EXPECT_EQ(status_of("ok", &worker.handlers()), ReportStatus::already);
  EXPECT_EQ(status_of("counted", &worker.handlers()), ReportStatus::already);
  EXPECT_EQ(status_of("other", &worker.handlers()), ReportStatus::conflict);
  EXPECT_EQ(status_of("other", nullptr), ReportStatus::already)
      << "no one knows the handlers of a session that is gone";
}

// One by one, reports come without the worker's declaration.
TEST_F(GatewayTest, a_report_by_itself_counts_as_its_session_declared_and_after_another_label_it_is_a_conflict) {
  EXPECT_TRUE(client_->add_graph(parse_stored(R"({"name": "counts", "start": "a", "limits": {"steps": 20}, "channels":
        {"count": {"reducer": "sum"}}, "nodes": {
        "a": {"do": "py.a", "queue": "py", "labels": ["counted"], "on": {"counted": "b"}},
        "b": {"do": "py.b", "queue": "py", "labels": ["one", "other"], "on": {"one": "z", "other": "z"}},
        "z": {"end": "done"}}})")));
  StartRun command;
  command.graph = "counts";
  command.input = Json::object();
  const RunId run = client_->start(std::move(command), "")->run;
  const auto claimed = [this](SessionId session) {
    Ask ask = ask_of(session, 1);
    ask.worker = std::make_shared<RemoteWorker>(
        RemoteWorkerSays{"w", "token:ann", {"py"}, {{"py.a", 3, {"counted"}}, {"py.b", 1, {"one", "other"}}}, {}});
    return answered(here_, std::move(ask));
  };
  const auto alone = [this](Process& process, SessionId session, Ask::Report report) {
    Ask ask = reports_of(session, {std::move(report)});
    ask.worker = nullptr;
    return answered(process, std::move(ask)).results.at(0).status;
  };
  const AskAnswer first = claimed(0);
  ASSERT_EQ(first.claims.size(), 1u);
  EXPECT_EQ(alone(there_, first.session, done(first.claims[0].id)), ReportStatus::committed);
  const Result<Event> event = event_of(store_->events(run, 1, 1).at(0));
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<StepSucceeded>(event->body).handler_version, 3);
  const AskAnswer second = claimed(first.session);
  ASSERT_EQ(second.claims.size(), 1u);
  const ClaimId claim = second.claims[0].id;
  EXPECT_EQ(alone(here_, first.session, {claim, Outcome{"other", {{"count", 1}}, {}}}), ReportStatus::committed);
  ASSERT_EQ(status(run), RunStatus::done);
  for (Process* process : {&here_, &there_}) {
    EXPECT_EQ(alone(*process, first.session, {claim, Outcome{"other", {{"count", 1}}, {}}}), ReportStatus::already);
    EXPECT_EQ(alone(*process, first.session, done(claim)), ReportStatus::conflict);
    EXPECT_EQ(alone(*process, first.session, done(first.claims[0].id)), ReportStatus::already);
  }
}

TEST_F(GatewayTest, outputs_of_a_handlers_claim_are_invalid_and_leave_the_step_held) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  Ask::Report outputs = done(first.claims.at(0).id);
  outputs.has_outputs = true;
  const ReportReply reply = reported(here_, first.session, outputs).results.at(0);
  EXPECT_EQ(reply.status, ReportStatus::invalid);
  EXPECT_NE(reply.says.find("but found outputs"), std::string::npos) << reply.says;
  EXPECT_EQ(store_->run(run)->head, 1) << "nothing was written";
  EXPECT_EQ(reported(here_, first.session, done(first.claims.at(0).id)).results.at(0).status, ReportStatus::committed);
}

TEST_F(GatewayTest, a_claim_with_another_time_or_head_than_it_was_given_with_is_stale) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  ClaimId later = claim, further = claim;
  later.claimed_at += 1;
  further.head += 1;
  for (const ClaimId& other : {later, further}) {
    const ReportReply reply = reported(here_, first.session, done(other)).results.at(0);
    EXPECT_EQ(reply.status, ReportStatus::stale);
    EXPECT_NE(reply.says.find("as it was given"), std::string::npos) << reply.says;
    Ask::Report release = done(other);
    release.is_release = true;
    EXPECT_EQ(reported(here_, first.session, release).results.at(0).status, ReportStatus::stale);
  }
  EXPECT_EQ(store_->run(run)->head, 1) << "nothing was written";
  EXPECT_EQ(reported(here_, first.session, done(claim)).results.at(0).status, ReportStatus::committed);
}

TEST_F(GatewayTest, the_same_failure_with_a_long_message_is_already_there) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const Ask::Report long_one{first.claims.at(0).id, Failure{"broken", std::string(70'000, 'x'), false, {}}};
  EXPECT_EQ(reported(here_, first.session, long_one).results[0].status, ReportStatus::committed);
  ASSERT_EQ(status(run), RunStatus::failed);
  EXPECT_EQ(reported(here_, first.session, long_one).results[0].status, ReportStatus::already);
}

// None of the values is large, but all of them together are: without its run's graph a report moves them out as one.
TEST_F(GatewayTest, the_same_list_is_already_there_after_it_has_ended_its_run) {
  EXPECT_TRUE(client_->add_graph(parse_stored(R"({"name": "lists", "start": "a", "limits": {"steps": 20}, "channels":
        {"texts": {"reducer": "append"}}, "nodes": {
        "a": {"do": "py.a", "queue": "py", "labels": ["ok"], "on": {"ok": "z"}}, "z": {"end": "done"}}})")));
  StartRun command;
  command.graph = "lists";
  command.input = Json::object();
  const RunId run = client_->start(std::move(command), "")->run;
  pass(30);
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const auto list = [&first](char last) {
    Json texts = Json::array();
    for (const char letter : {'a', 'b', last}) texts.push_back(std::string(20'000, letter));
    return Ask::Report{first.claims.at(0).id, Outcome{"", {{"texts", std::move(texts)}}, {}}};
  };
  EXPECT_EQ(reported(here_, first.session, list('c')).results[0].status, ReportStatus::committed);
  ASSERT_EQ(status(run), RunStatus::done);
  for (Process* process : {&here_, &there_}) {
    EXPECT_EQ(reported(*process, first.session, list('c')).results[0].status, ReportStatus::already);
    EXPECT_EQ(reported(*process, first.session, list('d')).results[0].status, ReportStatus::conflict);
  }
}

TEST(ReportRules, outputs_that_their_sub_goal_did_not_take_are_already_there_and_others_are_a_conflict) {
  const auto outputs = [](const char* page) {
    StepResult result = Outcome{"", {{"page", page}}, {}};
    add_digest(result);
    return *result;
  };
  SubGoalClosed closed;
  closed.status = GoalStatus::failed;
  closed.error = "invalid";
  closed.worker = 7;
  closed.refused = outputs("x").digest;
  ASSERT_FALSE(closed.refused.empty());
  const auto status_of = [&closed](Outcome outcome) {
    return judge_report(CompleteStep{1, 1, std::move(outcome), 7, 0, 0}, {closed, false}, 7, nullptr).status;
  };
  EXPECT_EQ(status_of(outputs("x")), ReportStatus::already);
  EXPECT_EQ(status_of(outputs("y")), ReportStatus::conflict);
  const Command failure = FailStep{1, 1, Failure{"invalid", "", true, {}}, 7, 0};
  EXPECT_EQ(judge_report(failure, {closed, false}, 7, nullptr).status, ReportStatus::conflict);
  closed.refused.clear();
  EXPECT_EQ(status_of(outputs("x")), ReportStatus::conflict) << "the worker had said so itself";
}

TEST_F(GatewayTest, after_an_outcome_that_its_node_did_not_take_another_is_a_conflict) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  const Ask::Report wrong{claim, Outcome{"nowhere", {{"count", 1}}, {}}};
  EXPECT_EQ(reported(here_, first.session, wrong).results[0].status, ReportStatus::committed);
  ASSERT_EQ(status(run), RunStatus::failed) << "it is recorded as a failed attempt";
  for (Process* process : {&here_, &there_}) {
    EXPECT_EQ(reported(*process, first.session, wrong).results[0].status, ReportStatus::already);
    EXPECT_EQ(reported(*process, first.session, done(claim)).results[0].status, ReportStatus::conflict);
    EXPECT_EQ(reported(*process, first.session, {claim, Outcome{"nowhere", {{"count", 2}}, {}}}).results[0].status,
              ReportStatus::conflict);
  }
}

TEST_F(GatewayTest, a_failure_that_was_to_be_tried_again_is_not_the_same_as_a_final_one) {
  start();
  AskAnswer first = answered(here_, ask_of(0, 1));
  ASSERT_EQ(reported(here_, first.session, done(first.claims.at(0).id)).results[0].status, ReportStatus::committed);
  const AskAnswer second = answered(here_, ask_of(first.session, 1));
  const auto failure = [&second](bool again) {
    return Ask::Report{second.claims.at(0).id, Failure{"broken", "It broke.", again, {}}};
  };
  EXPECT_EQ(reported(here_, first.session, failure(true)).results[0].status, ReportStatus::committed);
  EXPECT_EQ(reported(there_, first.session, failure(true)).results[0].status, ReportStatus::already);
  EXPECT_EQ(reported(there_, first.session, failure(false)).results[0].status, ReportStatus::conflict);
}

TEST_F(GatewayTest, a_report_that_comes_twice_at_once_counts_once) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  Ask doubled = ask_of(first.session, 0);
  for (int n = 0; n < 3; ++n) doubled.finished.push_back(done(first.claims.at(0).id));
  doubled.finished.push_back(done(first.claims[0].id, 7));
  Ask again = doubled;
  const AskId one = here_.ask(std::move(doubled)), other = there_.ask(std::move(again));
  std::map<ReportStatus, int> counts;
  for (int n = 0; n < 60; ++n) {
    pass();
    for (auto answer : {here_.answer_of(one), there_.answer_of(other)})
      if (answer)
        for (const ReportReply& reply : answer->results) ++counts[reply.status];
  }
  EXPECT_EQ(counts, (std::map<ReportStatus, int>{
                        {ReportStatus::committed, 1}, {ReportStatus::already, 5}, {ReportStatus::conflict, 2}}));
  EXPECT_EQ(store_->run(run)->head, 2);
}

// An entry has one fence for a branch: that of the second report would not have been compared with any row.
TEST_F(GatewayTest, a_report_of_a_step_that_is_not_held_is_stale_beside_one_of_the_same_branch_that_is) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  ClaimId forged = first.claims.at(0).id;
  ++forged.fence.step;
  const AskAnswer answer = answered(here_, reports_of(first.session, {done(first.claims[0].id), done(forged, 7)}));
  ASSERT_EQ(answer.results.size(), 2u);
  EXPECT_EQ(answer.results[0].status, ReportStatus::committed);
  EXPECT_EQ(answer.results[1].status, ReportStatus::stale);
  EXPECT_EQ(store_->run(run)->head, 2);
  EXPECT_EQ(answered(here_, ask_of(first.session, 1)).claims.size(), 1u) << "the next step waits for who claims it";
}

TEST_F(GatewayTest, a_claim_that_never_was_is_stale_and_no_history_is_read_for_it) {
  start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  ClaimId no_step = first.claims.at(0).id, no_attempt = no_step;
  no_step.fence.step = 99;
  no_attempt.attempt = 9;
  std::size_t reads = 0;
  const auto counts = [&reads](const GatewayCall& call) {
    reads += std::holds_alternative<FindEnd>(call) ? 1 : 0;
    return false;
  };
  const AskId id = here_.ask(reports_of(first.session, {done(no_step), done(no_attempt)}));
  pass(20, counts);
  const auto answer = here_.answer_of(id);
  ASSERT_TRUE(answer);
  for (const ReportReply& reply : answer->results) EXPECT_EQ(reply.status, ReportStatus::stale);
  EXPECT_EQ(reads, 0u);
}

// Each may walk through a long history, and the calls of all workers go by a few threads.
TEST_F(GatewayTest, the_ends_of_reports_that_come_late_are_looked_for_one_at_a_time) {
  start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  ASSERT_EQ(reported(here_, first.session, done(first.claims.at(0).id)).results[0].status, ReportStatus::committed);
  const AskId id = here_.ask(reports_of(first.session, std::vector<Ask::Report>(5, done(first.claims[0].id))));
  std::size_t most = 0;
  for (int n = 0; n < 40; ++n) {
    std::size_t reads = 0;
    pass(1, [&reads](const GatewayCall& call) {
      reads += std::holds_alternative<FindEnd>(call) ? 1 : 0;
      return false;
    });
    most = std::max(most, reads);
  }
  const auto answer = here_.answer_of(id);
  ASSERT_TRUE(answer);
  for (const ReportReply& reply : answer->results) EXPECT_EQ(reply.status, ReportStatus::already);
  EXPECT_EQ(most, 1u);
}

// Else a server that dies in between has promised what nothing does, and a late outcome would count.
TEST_F(GatewayTest, a_release_is_answered_once_it_is_written) {
  start();
  const AskAnswer first = answered(here_, ask_of(0, 1, 1'000'000));
  ASSERT_EQ(first.claims.size(), 1u);
  Ask ask = ask_of(first.session, 0);
  ask.finished.push_back({first.claims[0].id, Outcome{}, true});
  const AskId id = here_.ask(std::move(ask));
  const auto no_release = [](const GatewayCall& call) { return std::holds_alternative<LetGo>(call); };
  pass(20, no_release);
  EXPECT_FALSE(here_.answer_of(id)) << "nothing is written yet";
  pass(20);
  const auto answer = here_.answer_of(id);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->results.at(0).status, ReportStatus::committed);
  EXPECT_EQ(reported(here_, first.session, done(first.claims[0].id)).results.at(0).status, ReportStatus::stale);
}

TEST_F(GatewayTest, a_release_of_what_is_not_held_is_stale) {
  start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const Ask::Report release{first.claims.at(0).id, Outcome{}, true};
  Ask::Report forged = release;
  ++forged.claim.fence.epoch;
  EXPECT_EQ(reported(here_, first.session, forged).results.at(0).status, ReportStatus::stale);
  ASSERT_EQ(reported(here_, first.session, done(release.claim)).results.at(0).status, ReportStatus::committed);
  for (Process* process : {&here_, &there_})
    EXPECT_EQ(reported(*process, first.session, release).results.at(0).status, ReportStatus::stale) << "completed";
  const AskAnswer second = answered(here_, ask_of(first.session, 1));
  const Ask::Report next{second.claims.at(0).id, Outcome{}, true};
  EXPECT_EQ(reported(here_, first.session, next).results.at(0).status, ReportStatus::committed);
  ASSERT_EQ(answered(there_, ask_of(0, 1)).claims.size(), 1u) << "another session takes it";
  EXPECT_EQ(reported(here_, first.session, next).results.at(0).status, ReportStatus::stale);
}

TEST_F(GatewayTest, a_release_and_an_outcome_of_one_claim_in_one_request_have_one_winner) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  const AskAnswer answer =
      answered(here_, reports_of(first.session, {{claim, Outcome{}, true}, done(claim), {claim, Outcome{}, true}}));
  ASSERT_EQ(answer.results.size(), 3u);
  EXPECT_EQ(std::count_if(answer.results.begin(), answer.results.end(),
                          [](const ReportReply& one) { return one.status == ReportStatus::committed; }),
            1);
  const bool is_completed = answer.results[1].status == ReportStatus::committed;
  EXPECT_EQ(store_->run(run)->head, is_completed ? 2 : 1);
}

TEST_F(GatewayTest, a_hold_that_was_lost_is_stale_and_nothing_is_written) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  store_->jobs().release(std::vector{std::pair(run, claim.fence)}, 0);
  const AskAnswer other = answered(there_, ask_of(0, 1));
  EXPECT_NE(other.session, first.session);
  ASSERT_EQ(other.claims.size(), 1u);
  EXPECT_EQ(reported(here_, first.session, done(claim)).results[0].status, ReportStatus::stale);
  EXPECT_EQ(store_->run(run)->head, 1);
  EXPECT_EQ(reported(there_, other.session, done(other.claims[0].id)).results[0].status, ReportStatus::committed);
  EXPECT_EQ(reported(here_, first.session, done(claim)).results[0].status, ReportStatus::stale);
}

TEST_F(GatewayTest, a_report_of_a_step_that_its_run_closed_is_closed) {
  Json tidies = twice;
  tidies["name"] = "tidies";
  tidies["finally"] = "b";
  ASSERT_TRUE(client_->add_graph(tidies));
  for (const char* graph : {"twice", "tidies"}) {
    StartRun command;
    command.graph = graph;
    command.input = Json::object();
    const RunId run = client_->start(std::move(command), "")->run;
    const AskAnswer first = answered(here_, ask_of(0, 1));
    ASSERT_EQ(first.claims.size(), 1u);
    ASSERT_TRUE(client_->command(run, Cancel{"enough", false}));
    const std::int64_t head = store_->run(run)->head;
    for (Process* process : {&here_, &there_})
      EXPECT_EQ(reported(*process, first.session, done(first.claims[0].id)).results.at(0).status, ReportStatus::closed)
          << graph;
    EXPECT_EQ(store_->run(run)->head, head);
  }
}

}  // namespace
}  // namespace cairn
