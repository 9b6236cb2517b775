// The sessions and claims of workers over HTTP, in several processes of the API.
#include <gtest/gtest.h>
#include <random>

#include "tests/workers/gateway/gateway_rig.hpp"
#include "tests/workers/runs/taken_over.hpp"

namespace cairn {
namespace {

using namespace test;

TEST_F(GatewayTest, another_process_goes_on_with_the_session_and_its_claims) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  Ask more = ask_of(first.session, 1);
  more.finished.push_back(done(first.claims.at(0).id));
  const AskAnswer second = answered(there_, std::move(more));
  EXPECT_EQ(second.session, first.session);
  EXPECT_EQ(second.results.at(0).status, ReportStatus::committed);
  ASSERT_EQ(second.claims.size(), 1u);
  EXPECT_EQ(store_->sessions().all().size(), 1u);
  EXPECT_EQ(reported(here_, first.session, done(second.claims[0].id)).results[0].status, ReportStatus::committed);
  EXPECT_EQ(status(run), RunStatus::done);
}

TEST_F(GatewayTest, a_session_of_another_caller_is_used_by_nobody_else) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  for (Process* process : {&here_, &there_}) {
    Ask theirs = ask_of(first.session, 1);
    theirs.caller = "token:eve";
    theirs.worker = worker_with("py.a", "token:eve");
    theirs.finished.push_back(done(first.claims.at(0).id));
    const AskAnswer answer = answered(*process, std::move(theirs));
    EXPECT_TRUE(answer.is_unknown);
    EXPECT_TRUE(answer.claims.empty());
  }
  EXPECT_EQ(store_->run(run)->head, 1);
  // With a session of her own she may name the claim, and writes nothing.
  Ask own = ask_of(0, 0);
  own.caller = "token:eve";
  own.worker = worker_with("py.b", "token:eve");
  own.finished.push_back(done(first.claims.at(0).id));
  EXPECT_EQ(answered(here_, std::move(own)).results.at(0).status, ReportStatus::stale);
  EXPECT_EQ(store_->run(run)->head, 1);
}

TEST_F(GatewayTest, steps_that_it_has_no_handler_for_are_left_to_others) {
  const RunId run = start();
  Ask other = ask_of(0, 1, 300'000);
  other.worker = worker_with("py.other");
  EXPECT_TRUE(answered(here_, std::move(other)).claims.empty());
  EXPECT_EQ(store_->jobs().of(run).at(0).session, 0);
  pass(30);
  EXPECT_EQ(answered(there_, ask_of(0, 1)).claims.size(), 1u);
}

// It was offered a second later, when no one heard of it, and the worker that waited took it again and again.
TEST_F(GatewayTest, a_step_that_a_waiting_worker_has_nothing_for_is_offered_to_others_at_once) {
  const SessionId able = answered(there_, ask_of(0, 0)).session;
  const RunId run = start();
  const auto job = [&] { return store_->jobs().of(run).at(0); };
  const std::int64_t epoch = job().epoch;
  Ask other = ask_of(0, 1, 20'000'000);
  other.worker = worker_with("py.other");
  const AskId waits = here_.ask(std::move(other));
  for (int rounds = 0; rounds < 40 && (job().epoch == epoch || job().session != 0); ++rounds) pass();
  EXPECT_GT(job().epoch, epoch) << "it was claimed, and given back";
  EXPECT_LE(job().job.run_at_us, noon + steady_);
  here_.gateway().notified();
  pass(2);
  EXPECT_EQ(job().session, 0) << "the worker passes it by for a while";
  EXPECT_EQ(answered(there_, ask_of(able, 1)).claims.size(), 1u);
  EXPECT_FALSE(here_.answer_of(waits)) << "it waits for what it can do";
}

TEST_F(GatewayTest, a_step_that_was_lost_twice_is_given_alone_and_the_session_s_row_says_so) {
  start();
  const AskAnswer busy = answered(here_, ask_of(0, 1));
  ASSERT_EQ(busy.claims.size(), 1u);
  const RunId lost = start();
  for (std::int32_t attempt = 1; attempt <= 2; ++attempt)
    ASSERT_TRUE(client_->command(lost, FailStep{1, attempt, {lost_error, "Its worker died.", true, {}}, 7, 0}));
  pass(100);
  EXPECT_TRUE(answered(here_, ask_of(busy.session, 5)).claims.empty()) << "it has another one";
  pass(40);
  const AskAnswer alone = answered(here_, ask_of(0, 5));
  ASSERT_EQ(alone.claims.size(), 1u);
  EXPECT_EQ(alone.claims[0].id.run, lost);
  const auto says_alone = [&] {
    for (const SessionRow& row : store_->sessions().all())
      if (row.id == alone.session) return *row.alone;
    return std::string("no row");
  };
  EXPECT_NE(says_alone().find(to_string(lost)), std::string::npos);
  start();
  EXPECT_TRUE(answered(here_, ask_of(alone.session, 5, 300'000)).claims.empty());
  EXPECT_EQ(reported(here_, alone.session, done(alone.claims[0].id)).results[0].status, ReportStatus::committed);
  pass(3);
  EXPECT_EQ(says_alone(), "");
  EXPECT_FALSE(answered(here_, ask_of(alone.session, 5)).claims.empty());
}

// As behind a balancer of connections, where a worker's asks come to one process, and its reports to another.
TEST_F(GatewayTest, a_session_whose_step_alone_was_reported_to_another_process_gets_more_steps) {
  const RunId lost = start_lost_twice();
  const AskAnswer alone = answered(here_, ask_of(0, 5));
  ASSERT_EQ(alone.claims.size(), 1u);
  ASSERT_EQ(alone.claims[0].id.run, lost);
  EXPECT_EQ(answered(there_, ask_of(alone.session, 0)).session, alone.session);
  pass(60);
  EXPECT_EQ(reported(there_, alone.session, done(alone.claims[0].id)).results[0].status, ReportStatus::committed);
  there_.gateway().hears(alone.session, "token:ann", {});
  pass(100);
  EXPECT_EQ(*store_->sessions().all().at(0).alone, "");
  start();
  EXPECT_FALSE(answered(here_, ask_of(alone.session, 5, 300'000)).claims.empty());
}

TEST_F(GatewayTest, claims_that_were_reported_to_another_process_are_forgotten) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  ASSERT_EQ(first.claims.size(), 1u);
  const Ask::Report broken{first.claims[0].id, Failure{"broken", "It broke.", false, {}}};
  EXPECT_EQ(reported(there_, first.session, broken).results[0].status, ReportStatus::committed);
  ASSERT_EQ(status(run), RunStatus::failed);
  pass(300);
  const RunId lost = start_lost_twice();
  const AskAnswer alone = answered(here_, ask_of(first.session, 5, 1'500'000));
  ASSERT_EQ(alone.claims.size(), 1u) << "a claim that has ended stands beside no step";
  EXPECT_EQ(alone.claims[0].id.run, lost);
}

TEST_F(GatewayTest, room_is_made_for_a_step_that_was_lost_twice_however_much_there_is_to_do) {
  const RunId lost = start_lost_twice();
  for (int n = 0; n < 60; ++n) start();
  AskAnswer answer = answered(here_, ask_of(0, 2));
  std::vector<ClaimId> has;
  bool is_found = false;
  // It has always one at least, until it is given nothing more.
  for (int rounds = 0; rounds < 60; ++rounds) {
    for (const RemoteClaim& claim : answer.claims) {
      has.push_back(claim.id);
      is_found = is_found || claim.id.run == lost;
    }
    if (is_found) break;
    Ask ask = ask_of(answer.session, 1, 300'000);
    if (has.size() == 2 || (answer.claims.empty() && !has.empty())) {
      ask.finished.push_back(done(has.front()));
      has.erase(has.begin());
    }
    answer = answered(here_, std::move(ask));
  }
  ASSERT_EQ(has.size(), 1u) << "it is given, and nothing with it";
  EXPECT_EQ(has[0].run, lost);
}

TEST_F(GatewayTest, a_step_alone_that_cannot_begin_leaves_its_session_free) {
  EXPECT_TRUE(client_->add_graph(parse_stored(R"({"name": "blind", "start": "a", "limits": {"steps": 20}, "channels":
        {"count": {}}, "nodes": {
        "a": {"do": "py.a", "queue": "py", "labels": ["ok"], "with": {"n": {"$": "count"}}, "on": {"ok": "z", "error": "z"}},
        "z": {"end": {"status": "done"}}}})")));
  StartRun command;
  command.graph = "blind";
  command.input = Json::object();
  const RunId lost = client_->start(std::move(command), "")->run;
  for (std::int32_t attempt = 1; attempt <= 2; ++attempt)
    ASSERT_TRUE(client_->command(lost, FailStep{1, attempt, {lost_error, "Its worker died.", true, {}}, 7, 0}));
  pass(100);
  const AskAnswer none = answered(here_, ask_of(0, 5));
  EXPECT_TRUE(none.claims.empty());
  EXPECT_EQ(store_->run(lost)->status, RunStatus::done) << "its input was not there: the attempt has failed";
  start();
  EXPECT_EQ(answered(here_, ask_of(none.session, 5)).claims.size(), 1u);
}

TEST_F(GatewayTest, waits_for_a_step_as_long_as_it_was_asked_to) {
  const AskId id = here_.ask(ask_of(0, 3, 1'000'000));
  pass(10);
  EXPECT_FALSE(here_.answer_of(id));
  pass(20);
  const auto empty = here_.answer_of(id);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->claims.empty());
  const AskId waiting = here_.ask(ask_of(empty->session, 3, 30'000'000));
  pass(4);
  start();
  here_.gateway().notified();
  pass(6);
  const auto found = here_.answer_of(waiting);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->claims.size(), 1u);
  const AskId hurried = here_.ask(ask_of(empty->session, 3, 30'000'000));
  pass(4);
  here_.gateway().hurry(hurried);
  pass(2);
  EXPECT_TRUE(here_.answer_of(hurried));
}

TEST_F(GatewayTest, a_client_that_is_gone_leaves_its_steps_to_others_and_its_reports_count) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  Ask more = ask_of(first.session, 1);
  more.finished.push_back(done(first.claims.at(0).id));
  const AskId id = here_.ask(std::move(more));
  here_.gateway().gone(id);
  pass(10);
  EXPECT_EQ(store_->run(run)->head, 2);
  EXPECT_EQ(store_->jobs().of(run).at(0).session, 0);
  // An answer that did not arrive.
  const AskAnswer second = answered(here_, ask_of(first.session, 1));
  here_.gateway().take_back({second.claims.at(0).id});
  pass(3);
  EXPECT_EQ(store_->jobs().of(run).at(0).session, 0);
}

TEST_F(GatewayTest, of_clients_that_are_gone_before_the_database_answers_nothing_is_kept) {
  std::vector<AskId> asked;
  for (int n = 0; n < 100; ++n) asked.push_back(here_.ask(ask_of(0, 1, 1'000'000)));
  pass(20, [](const GatewayCall& call) { return std::holds_alternative<OpenRemote>(call); });
  EXPECT_FALSE(here_.gateway().is_idle());
  for (const AskId id : asked) here_.gateway().gone(id);
  EXPECT_TRUE(here_.gateway().is_idle());
  pass(40);
  EXPECT_TRUE(store_->sessions().all().empty()) << "none is opened for them";
}

TEST_F(GatewayTest, reports_of_clients_that_are_gone_are_bounded_while_no_session_can_be_read) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const auto fails = [](const GatewayCall& call) { return std::holds_alternative<OpenRemote>(call); };
  EXPECT_EQ(given_up_of(first, fails), 36u) << "64 MiB are kept";
  pass(200);
  EXPECT_TRUE(there_.gateway().is_idle());
  EXPECT_EQ(store_->run(run)->head, 2) << "the others count, once";
}

TEST_F(GatewayTest, reports_of_clients_that_are_gone_are_bounded_while_no_history_can_be_read) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const auto fails = [](const GatewayCall& call) { return std::holds_alternative<ReadHistories>(call); };
  EXPECT_EQ(given_up_of(first, fails), 36u) << "64 MiB are kept";
  pass(200);
  EXPECT_TRUE(there_.gateway().is_idle());
  EXPECT_EQ(store_->run(run)->head, 2) << "the others count, once";
}

// It asks so often that it is always in contact.
TEST_F(GatewayTest, a_session_that_was_reaped_is_used_no_more_however_often_its_worker_asks) {
  AskAnswer answer = answered(here_, ask_of(0, 1));
  const SessionId reaped = answer.session;
  store_->sessions().close(reaped);
  for (int n = 0; n < 40 && answer.session == reaped; ++n) answer = answered(here_, ask_of(reaped, 1));
  EXPECT_TRUE(answer.is_unknown);
  EXPECT_TRUE(store_->sessions().all().empty());
  EXPECT_NE(answered(here_, ask_of(0, 1)).session, reaped);
  EXPECT_EQ(store_->sessions().all().size(), 1u);
}

// Else each of them would get a session of its own, and only one would be kept alive.
TEST_F(GatewayTest, requests_that_name_a_session_that_is_gone_open_none_and_the_next_without_one_is_served) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  ASSERT_EQ(reported(here_, first.session, done(claim)).results.at(0).status, ReportStatus::committed);
  store_->sessions().close(first.session);
  pass(60);
  std::vector<AskId> asked;
  for (int n = 0; n < 3; ++n) asked.push_back(here_.ask(ask_of(first.session, 1)));
  asked.push_back(there_.ask(reports_of(first.session, {done(claim)})));
  pass(20);
  for (std::size_t n = 0; n < asked.size(); ++n) {
    const auto answer = (n < 3 ? here_ : there_).answer_of(asked[n]);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->is_unknown);
    EXPECT_TRUE(answer->claims.empty() && answer->results.empty());
  }
  EXPECT_TRUE(store_->sessions().all().empty());
  Ask only_reports = reports_of(first.session, {done(claim)});
  only_reports.worker = nullptr;
  EXPECT_EQ(answered(here_, std::move(only_reports)).results.at(0).status, ReportStatus::already)
      << "a report by itself is judged by its claim";
  Ask next = ask_of(0, 1);
  next.finished.push_back(done(claim));
  const AskAnswer second = answered(here_, std::move(next));
  EXPECT_EQ(second.results.at(0).status, ReportStatus::already);
  EXPECT_EQ(second.claims.size(), 1u);
  EXPECT_EQ(store_->sessions().all().size(), 1u);
  EXPECT_EQ(store_->run(run)->head, 2);
}

TEST_F(GatewayTest, an_ask_that_waits_for_a_session_that_was_reaped_is_answered) {
  const SessionId reaped = answered(here_, ask_of(0, 1)).session;
  const AskId waiting = here_.ask(ask_of(reaped, 1, 60'000'000));
  pass(5);
  store_->sessions().close(reaped);
  pass(100);
  EXPECT_TRUE(here_.answer_of(waiting));
  start();
  pass(20);
  EXPECT_EQ(store_->sessions().held_counts().size(), 0u) << "nothing is claimed for it";
}

TEST_F(GatewayTest, steps_on_their_way_to_a_session_that_closes_are_offered_again) {
  const SessionId session = answered(here_, ask_of(0, 1)).session;
  const RunId run = start();
  const AskId waiting = here_.ask(ask_of(session, 1, 60'000'000));
  const auto reads = [](const GatewayCall& call) { return std::holds_alternative<ReadHistories>(call); };
  for (int n = 0; n < 40 && store_->jobs().of(run).at(0).session == 0; ++n) pass(1, reads);
  ASSERT_NE(store_->jobs().of(run).at(0).session, 0) << "it is claimed, and its run is being read";
  Ask last = ask_of(session, 0);
  last.closes = true;
  here_.ask(std::move(last));
  pass(40);
  const auto answer = here_.answer_of(waiting);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->claims.empty());
  EXPECT_EQ(store_->jobs().of(run).at(0).session, 0);
}

TEST_F(GatewayTest, what_no_heartbeat_names_is_offered_again) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  for (int n = 0; n < 6; ++n) {
    pass(50);
    EXPECT_EQ(here_.gateway().hears(first.session, "token:ann", {claim}), std::vector<std::string>{"a"});
  }
  EXPECT_EQ(store_->jobs().standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::held);
  EXPECT_FALSE(here_.gateway().hears(first.session, "token:eve", {}));
  EXPECT_FALSE(there_.gateway().hears(first.session, "token:ann", {}));
  here_.gateway().hears(first.session, "token:ann", {});
  pass(3);
  EXPECT_EQ(store_->jobs().standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::lost);
}

TEST_F(GatewayTest, a_claim_that_died_with_its_process_before_it_arrived_is_offered_again) {
  const RunId run = start(), arrived = start();
  const AskAnswer first = answered(there_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  const AskAnswer lost = answered(there_, ask_of(first.session, 1));  // its process dies before it answers
  ASSERT_EQ(lost.claims.size(), 1u);
  Ask more = ask_of(first.session, 0);
  EXPECT_EQ(answered(here_, std::move(more)).session, first.session);
  for (int n = 0; n < 10; ++n) {
    pass(30);
    ASSERT_TRUE(here_.gateway().hears(first.session, "token:ann", {claim}));
  }
  pass(3);
  const auto standing = [&](const ClaimId& of) {
    return store_->jobs().standing(std::vector{std::pair(of.run, of.fence)}).at(0);
  };
  EXPECT_EQ(standing(claim), HoldStanding::held);
  EXPECT_EQ(standing(lost.claims[0].id), HoldStanding::lost);
  EXPECT_NE(claim.run == run, claim.run == arrived);
}

TEST_F(GatewayTest, a_claim_that_another_process_has_just_given_is_not_offered_again) {
  start();
  const AskAnswer first = answered(there_, ask_of(0, 1));
  EXPECT_EQ(answered(here_, ask_of(first.session, 0)).session, first.session);
  pass(60);
  const RunId run = start();
  const AskAnswer second = answered(there_, ask_of(first.session, 1));
  ASSERT_EQ(second.claims.size(), 1u);
  const ClaimId claim = second.claims[0].id;
  // The worker wrote these heartbeats before the answer came.
  here_.gateway().hears(first.session, "token:ann", {first.claims.at(0).id});
  pass(3);
  EXPECT_EQ(store_->jobs().standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::held);
  for (int n = 0; n < 12; ++n) {
    pass(30);
    here_.gateway().hears(first.session, "token:ann", {first.claims.at(0).id, claim});
  }
  pass(3);
  EXPECT_EQ(store_->jobs().standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::held);
}

TEST_F(GatewayTest, the_session_of_a_worker_that_asks_no_more_gets_no_heartbeats) {
  const AskAnswer first = answered(here_, ask_of(0, 1));
  pass(200);
  const std::int64_t beats = store_->sessions().all().at(0).counter;
  EXPECT_GT(beats, 2);
  pass(800);
  const std::int64_t last = store_->sessions().all().at(0).counter;
  pass(400);
  EXPECT_EQ(store_->sessions().all().at(0).counter, last);
}

TEST_F(GatewayTest, nothing_is_due_while_the_first_refresh_is_under_way) {
  here_.ask(ask_of(0, 1, 1'000'000));
  EXPECT_LE(here_.gateway().due_us(), steady_);
  here_.gateway().drain_actions();
  EXPECT_GT(here_.gateway().due_us(), steady_) << "its driver would spin";
}

// Nothing says whether its worker had begun: what may have begun is not repeated (guide/workers.md).
TEST_F(GatewayTest, a_claim_of_a_step_that_may_not_be_lost_counts_as_begun) {
  Json once = twice;
  once["name"] = "once";
  once["nodes"]["a"]["retry"] = {{"lost", 0}};
  EXPECT_TRUE(client_->add_graph(once));
  StartRun command;
  command.graph = "once";
  command.input = Json::object();
  const RunId run = client_->start(std::move(command), "")->run;
  pass(30);
  const AskAnswer lost = answered(here_, ask_of(0, 1));
  ASSERT_EQ(lost.claims.size(), 1u);
  EXPECT_EQ(lost.claims[0].id.run, run);
  SessionId other = 0;
  for (int n = 0; n < 100 && status(run) == RunStatus::running; ++n) {
    other = answered(there_, ask_of(other, 1)).session;
    steady_ += 1'000'000;
  }
  EXPECT_EQ(status(run), RunStatus::failed);
  EXPECT_NE(store_->run(run)->reason.find("lost"), std::string::npos) << store_->run(run)->reason;
}

// No other kind of worker sweeps here.
TEST_F(GatewayTest, a_step_of_a_dead_worker_is_offered_to_another_one_by_itself) {
  const RunId run = start();
  const AskAnswer lost = answered(here_, ask_of(0, 1));
  ASSERT_EQ(lost.claims.size(), 1u);
  AskAnswer found;
  for (int n = 0; n < 100 && found.claims.empty(); ++n) {
    found = answered(there_, ask_of(found.session, 1));
    steady_ += 1'000'000;
  }
  ASSERT_EQ(found.claims.size(), 1u);
  EXPECT_EQ(found.claims[0].input.attempt, 2);
  EXPECT_EQ(found.claims[0].input.fault_error, lost_error);
  EXPECT_EQ(reported(there_, lost.session, done(lost.claims[0].id)).results[0].status, ReportStatus::stale);
  EXPECT_EQ(reported(there_, found.session, done(found.claims[0].id)).results[0].status, ReportStatus::committed);
  EXPECT_EQ(status(run), RunStatus::running);
}

// Another server takes over, which lacks the report of the first step and offers it again.
TEST_F(GatewayTest, a_database_that_has_gone_back_is_logged) {
  const auto standby = make_memory_store(1, [this] { return noon + steady_; });
  const auto their_client = client_with_graphs(*standby, *catalogue_);
  ASSERT_TRUE(their_client->add_graph(twice));
  for (Client* one : {client_.get(), their_client.get()}) {
    StartRun command;
    command.graph = "twice";
    ASSERT_TRUE(one->start(std::move(command), "the same"));
  }
  test::TakenOver store(*store_, *standby);
  Process process(store, *catalogue_, steady_);
  const auto claim = [&](Ask ask) {
    const AskId id = process.ask(std::move(ask));
    std::optional<AskAnswer> answer;
    for (int n = 0; n < 40 && !answer; ++n, steady_ += round_us) {
      process.round();
      answer = process.answer_of(id);
    }
    return answer.value_or(AskAnswer());
  };
  const AskAnswer first = claim(ask_of(0, 1));
  ASSERT_EQ(first.claims.size(), 1u);
  Ask report = ask_of(first.session, 0);
  report.finished.push_back(done(first.claims[0].id));
  EXPECT_EQ(claim(std::move(report)).results.at(0).status, ReportStatus::committed);
  EXPECT_TRUE(process.notes().empty());
  store.take_over();
  for (int n = 0; n < 100 && process.notes().empty(); ++n, steady_ += 1'000'000) claim(ask_of(first.session, 1));
  ASSERT_EQ(process.notes().size(), 1u);
  EXPECT_NE(process.notes()[0].text.find("The database has gone back"), std::string::npos) << process.notes()[0].text;
}

TEST_F(GatewayTest, a_session_that_ends_waits_no_more) {
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const AskId waiting = here_.ask(ask_of(first.session, 3, 30'000'000));
  pass(3);
  Ask end = ask_of(first.session, 0);
  end.closes = true;
  answered(here_, std::move(end));
  pass(3);
  EXPECT_TRUE(here_.answer_of(waiting));
  EXPECT_TRUE(store_->sessions().all().empty());
}

TEST_F(GatewayTest, an_outcome_that_its_node_does_not_take_is_a_failed_attempt) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const Ask::Report unfit{first.claims.at(0).id, Outcome{"elsewhere", Json::object(), {}}};
  EXPECT_EQ(reported(here_, first.session, unfit).results.at(0).status, ReportStatus::committed);
  EXPECT_EQ(reported(here_, first.session, unfit).results.at(0).status, ReportStatus::already);
  EXPECT_EQ(status(run), RunStatus::failed);
}

TEST_F(GatewayTest, failures_go_by_the_graph) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId a = first.claims.at(0).id;
  EXPECT_EQ(reported(here_, first.session, done(a)).results[0].status, ReportStatus::committed);
  const AskAnswer second = answered(here_, ask_of(first.session, 1));
  const ClaimId b = second.claims.at(0).id;
  EXPECT_EQ(reported(here_, first.session, {b, Failure{"busy", "It is busy.", true, {}, 0}}).results[0].status,
            ReportStatus::committed);
  pass(60);
  const AskAnswer third = answered(here_, ask_of(first.session, 1));
  EXPECT_EQ(third.claims.at(0).id.attempt, 2);
  EXPECT_EQ(third.claims[0].input.fault, "It is busy.");
  EXPECT_EQ(reported(here_, first.session, {b, Failure{"busy", "It is busy.", true, {}}}).results[0].status,
            ReportStatus::already);
  EXPECT_EQ(
      reported(here_, first.session, {third.claims[0].id, Failure{"broken", "No.", false, {}, 0}}).results[0].status,
      ReportStatus::committed);
  EXPECT_EQ(status(run), RunStatus::failed);
}

// The log had nothing of it: who watches workers over HTTP saw a request that was answered with 200.
TEST_F(GatewayTest, an_attempt_that_fails_or_is_slow_is_a_line_of_the_log_that_leads_to_its_step) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const std::size_t before = here_.notes().size();
  reported(here_, first.session, done(first.claims.at(0).id));
  EXPECT_EQ(here_.notes().size(), before) << "one that goes well is in the history";
  const AskAnswer second = answered(here_, ask_of(first.session, 1));
  const Ask::Report busy{second.claims.at(0).id, Failure{"busy", "It is busy.", true, {}, 0}};
  reported(here_, first.session, busy);
  reported(here_, first.session, busy);
  ASSERT_EQ(here_.notes().size(), before + 1) << "said again it is as before";
  const Note failed = here_.notes().back();
  EXPECT_EQ(failed.level, Note::Level::info);
  EXPECT_EQ(failed.text, "An attempt failed: It is busy.");
  EXPECT_GE(failed.fields["took_ms"], 0);
  for (const auto& [field, value] : {std::pair<const char*, Json>{"run", to_string(run)},
                                     {"step", second.claims[0].id.fence.step},
                                     {"attempt", 1},
                                     {"worker", first.session},
                                     {"graph", "twice"},
                                     {"node", "b"},
                                     {"error", "busy"},
                                     {"retryable", true}})
    EXPECT_EQ(failed.fields[field], value) << failed.fields;
  EXPECT_EQ(failed.fields["trace"].get<std::string>().size(), 32u) << failed.fields;
  pass(60);
  const AskAnswer third = answered(here_, ask_of(first.session, 1));
  steady_ += 11'000'000;
  reported(here_, first.session, done(third.claims.at(0).id));
  ASSERT_EQ(here_.notes().size(), before + 2);
  EXPECT_EQ(here_.notes().back().text, "A step was slow.");
}

TEST_F(GatewayTest, its_tools_are_known_to_plans_and_their_sub_goals_go_to_its_queue) {
  ASSERT_TRUE(client_->add_graph(parse_stored(R"({"name": "pages", "start": "plan", "limits": {"steps": 20}, "nodes": {
        "plan": {"do": "py.a", "queue": "py", "labels": ["ok"], "on": {"ok": "work"}},
        "work": {"map": "sub_goals", "on": {"joined": "z"}}, "z": {"end": "done"}}})")));
  StartRun command;
  command.graph = "pages";
  command.input = Json::object();
  const RunId run = client_->start(std::move(command), "")->run;
  const auto worker = std::make_shared<RemoteWorker>(
      RemoteWorkerSays{"w",
                       "token:ann",
                       {"py", "pages"},
                       {{.name = "py.a"}},
                       {{.name = "crawl", .queue = "pages", .about = "fetches a page"}}});
  const auto ask = [&worker](SessionId session, std::int32_t max) {
    Ask one = ask_of(session, max);
    one.worker = worker;
    return one;
  };
  const AskAnswer first = answered(here_, ask(0, 1));
  ASSERT_EQ(first.claims.size(), 1u);
  pass(60);
  const SessionRow row = store_->sessions().all().at(0);
  EXPECT_EQ(*row.caller, "token:ann");
  EXPECT_EQ(row.tools, std::vector<std::string>{"crawl"});
  EXPECT_EQ(row.handlers, std::vector<std::string>{"py.a"});
  EXPECT_NE(row.declares->find("fetches a page"), std::string::npos);
  SubGoalOpened goal;
  goal.sub_goal = "a";
  goal.tool = "crawl";
  Ask planned = ask(first.session, 0);
  planned.finished.push_back({first.claims[0].id, Outcome{"ok", Json::object(), {goal}}});
  ASSERT_EQ(answered(here_, std::move(planned)).results.at(0).status, ReportStatus::committed);
  ASSERT_EQ(store_->jobs().of(run).size(), 1u);
  EXPECT_EQ(store_->jobs().of(run)[0].job.queue, "pages");
  const AskAnswer second = answered(here_, ask(first.session, 1));
  ASSERT_EQ(second.claims.size(), 1u);
  EXPECT_EQ(second.claims[0].input.tool, "crawl");
  EXPECT_EQ(second.claims[0].handler, "");
  EXPECT_EQ(reported(here_, first.session, done(second.claims[0].id)).results.at(0).status, ReportStatus::committed);
  EXPECT_EQ(status(run), RunStatus::done);
}

// Two processes, eight workers; calls of the store fail, answers get lost, clients give up and report again elsewhere.
TEST_F(GatewayTest, whatever_fails_each_step_counts_once) {
  constexpr int workers = 8;
  constexpr int wanted = 60;
  std::mt19937 random(22);
  const auto chance = [&random](int percent) { return static_cast<int>(random() % 100) < percent; };
  std::vector<RunId> runs;
  for (int n = 0; n < wanted; ++n) runs.push_back(start());
  struct Worker {
    SessionId session = 0;
    std::vector<ClaimId> has;
    std::optional<AskId> asked;
    Process* at = nullptr;
  };
  std::vector<Worker> all(workers);
  const auto are_done = [&] {
    return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return status(run) == RunStatus::done; });
  };
  for (int n = 0; n < 4'000 && !are_done(); ++n) {
    pass(1, [&](const GatewayCall&) { return chance(10); });
    for (Worker& one : all) {
      if (one.asked) {
        auto answer = one.at->answer_of(*one.asked);
        const bool is_lost = chance(5);
        if (!answer && !is_lost) continue;
        if (is_lost) {  // it reports again
          one.at->gateway().gone(*one.asked);
          if (answer) {
            std::vector<ClaimId> given;
            for (const RemoteClaim& claim : answer->claims) given.push_back(claim.id);
            one.at->gateway().take_back(given);
          }
        } else {
          one.session = answer->session;
          one.has.clear();
          for (const RemoteClaim& claim : answer->claims) one.has.push_back(claim.id);
        }
        one.asked.reset();
      }
      one.at = chance(50) ? &here_ : &there_;
      Ask ask = ask_of(one.session, 4, 200'000);
      for (const ClaimId& claim : one.has) ask.finished.push_back(done(claim));
      one.asked = one.at->ask(std::move(ask));
    }
  }
  ASSERT_TRUE(are_done());
  for (const RunId& run : runs) {
    EXPECT_EQ(store_->run(run)->head, 4);
    EXPECT_EQ(client_->state(run)->output, (Json{{"count", 2}}));
  }
}

}  // namespace
}  // namespace cairn
