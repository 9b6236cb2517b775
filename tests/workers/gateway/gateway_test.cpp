// A gateway driven by hand over a store in memory: no threads, no clock, each call carried out or failed as the test
// wants. The promise to workers over HTTP: a report counts once, in whichever process it arrives.
#include "workers/gateway/gateway.hpp"

#include <gtest/gtest.h>
#include <random>

#include "storage/commit_rules.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/workers/runs/taken_over.hpp"
#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/gateway/report_rules.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

using namespace test;

constexpr TimeUs round_us = 50'000;
using Fails = std::function<bool(const GatewayCall&)>;

RemoteWorkerRef worker_with(const std::string& handler, const std::string& caller = "token:ann") {
  return std::make_shared<RemoteWorker>(
      RemoteWorkerSays{"w", caller, {"py"}, {{.name = handler}}, {{.name = "crawl", .about = "fetches a page"}}});
}

// One process of the API.
class Process {
 public:
  Process(Store& store, const Catalogue& catalogue, TimeUs& steady)
      : store_(store), steady_(steady), gateway_(options(), catalogue.tools->table()) {}

  AskId ask(Ask ask) {
    gateway_.tick(steady_);
    gateway_.ask(++last_, std::move(ask));
    return last_;
  }
  void round(const Fails& fails = {}) {
    gateway_.tick(steady_);
    GatewayActions actions = gateway_.drain_actions();
    for (auto& [id, answer] : actions.answers) answers_.emplace(id, std::move(answer));
    for (Note& note : actions.notes) notes_.push_back(std::move(note));
    const std::function<TimeUs()> steady = [this] { return steady_; };
    for (GatewayCall& call : actions.calls) {
      if (fails && fails(call)) {
        gateway_.failed(call);
        continue;
      }
      carry_out(call, {store_, steady, {}, [this](std::uint64_t batch, std::vector<LockedRun> runs) {
                         return gateway_.decide_locked(batch, std::move(runs));
                       }});
      gateway_.answered(std::move(call));
    }
  }
  std::optional<AskAnswer> answer_of(AskId id) {
    auto found = answers_.extract(id);
    return found ? std::optional(std::move(found.mapped())) : std::nullopt;
  }
  Gateway& gateway() { return gateway_; }
  const std::vector<Note>& notes() const { return notes_; }

 private:
  static GatewayOptions options() {
    GatewayOptions of;
    of.new_id = new_run_id;
    of.new_session = new_session_id;
    of.draw = [] { return 0.5; };
    of.new_commit = next_commit_id;
    return of;
  }

  Store& store_;
  TimeUs& steady_;
  Gateway gateway_;
  AskId last_ = 0;
  std::map<AskId, AskAnswer> answers_;
  std::vector<Note> notes_;
};

const Json twice = parse_stored(R"({"name": "twice", "start": "a", "limits": {"steps": 20}, "channels":
        {"count": {"reducer": "sum"}}, "nodes": {
        "a": {"do": "py.a", "queue": "py", "labels": ["ok"], "with": {"n": 1}, "on": {"ok": "b"}},
        "b": {"do": "py.a", "queue": "py", "labels": ["ok"], "retry": {"attempts": 3, "backoff_ms": 100}, "on": {"ok": "z"}},
        "z": {"end": {"status": "done", "output": {"count": {"$": "count"}}}}}})");

class GatewayTest : public ::testing::Test {
 protected:
  GatewayTest()
      : store_(make_memory_store(1, [this] { return noon + steady_; })),
        catalogue_(small_catalogue()),
        client_(client_with_graphs(*store_, *catalogue_)),
        here_(*store_, *catalogue_, steady_),
        there_(*store_, *catalogue_, steady_) {
    EXPECT_TRUE(client_->add_graph(twice));
  }

  RunId start() {
    StartRun command;
    command.graph = "twice";
    command.input = Json::object();
    return client_->start(std::move(command), "")->run;
  }
  RunId start_lost_twice() {
    const RunId run = start();
    for (std::int32_t attempt = 1; attempt <= 2; ++attempt)
      EXPECT_TRUE(client_->command(run, FailStep{1, attempt, {lost_error, "Its worker died.", true, {}}, 7, 0}));
    pass(100);
    return run;
  }
  void pass(int rounds = 1, const Fails& fails = {}) {
    for (int n = 0; n < rounds; ++n) {
      steady_ += round_us;
      here_.round(fails);
      there_.round(fails);
    }
  }
  static Ask ask_of(SessionId session, std::int32_t max, TimeUs wait_us = 0) {
    Ask ask;
    ask.caller = "token:ann";
    ask.session = session;
    ask.worker = worker_with("py.a");
    ask.max = max;
    ask.wait_us = wait_us;
    return ask;
  }
  static Ask::Report done(const ClaimId& claim, std::int64_t count = 1) {
    return {claim, Outcome{"", {{"count", count}}, {}}};
  }
  AskAnswer answered(Process& process, Ask ask) {
    const AskId id = process.ask(std::move(ask));
    for (int n = 0; n < 40; ++n) {
      pass();
      if (auto answer = process.answer_of(id)) return *std::move(answer);
    }
    ADD_FAILURE() << "no answer";
    return {};
  }
  AskAnswer reported(Process& process, SessionId session, Ask::Report report) {
    return answered(process, reports_of(session, {std::move(report)}));
  }
  static Ask reports_of(SessionId session, std::vector<Ask::Report> reports) {
    Ask ask = ask_of(session, 0);
    ask.finished = std::move(reports);
    return ask;
  }
  // A hundred requests of a MiB report the first of the claims to the other process. How many are given up when their
  // clients are gone.
  std::size_t given_up_of(const AskAnswer& first, const Fails& fails) {
    std::vector<AskId> asked;
    for (int n = 0; n < 100; ++n) {
      Ask ask = reports_of(first.session, {done(first.claims.at(0).id)});
      ask.bytes = 1u << 20;
      asked.push_back(there_.ask(std::move(ask)));
    }
    pass(20, fails);
    for (const AskId id : asked) there_.gateway().gone(id);
    pass(1, fails);
    std::size_t given_up = 0;
    for (const AskId id : asked) given_up += there_.answer_of(id) ? 1u : 0u;
    return given_up;
  }
  RunStatus status(const RunId& run) { return store_->run(run)->status; }

  TimeUs steady_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  Process here_, there_;
};

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

TEST(ReportRules, outputs_that_their_sub_goal_did_not_take_are_already_there) {
  SubGoalClosed closed;
  closed.status = GoalStatus::failed;
  closed.error = "invalid";
  closed.worker = 7;
  const Command report = CompleteStep{1, 1, Outcome{"", {{"page", "x"}}, {}}, 7, 0, 0};
  EXPECT_EQ(judge_report(report, {closed, false}, 7).status, ReportStatus::already);
  closed.error = "busy";
  EXPECT_EQ(judge_report(report, {closed, false}, 7).status, ReportStatus::conflict);
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

TEST_F(GatewayTest, a_hold_that_was_lost_is_stale_and_nothing_is_written) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  store_->release(std::vector{std::pair(run, claim.fence)}, 0);
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
  EXPECT_EQ(store_->jobs(run).at(0).session, 0);
  pass(30);
  EXPECT_EQ(answered(there_, ask_of(0, 1)).claims.size(), 1u);
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
  EXPECT_EQ(store_->jobs(run).at(0).session, 0);
  // An answer that did not arrive.
  const AskAnswer second = answered(here_, ask_of(first.session, 1));
  here_.gateway().take_back({second.claims.at(0).id});
  pass(3);
  EXPECT_EQ(store_->jobs(run).at(0).session, 0);
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
  for (int n = 0; n < 40 && store_->jobs(run).at(0).session == 0; ++n) pass(1, reads);
  ASSERT_NE(store_->jobs(run).at(0).session, 0) << "it is claimed, and its run is being read";
  Ask last = ask_of(session, 0);
  last.closes = true;
  here_.ask(std::move(last));
  pass(40);
  const auto answer = here_.answer_of(waiting);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->claims.empty());
  EXPECT_EQ(store_->jobs(run).at(0).session, 0);
}

TEST_F(GatewayTest, what_no_heartbeat_names_is_offered_again) {
  const RunId run = start();
  const AskAnswer first = answered(here_, ask_of(0, 1));
  const ClaimId claim = first.claims.at(0).id;
  for (int n = 0; n < 6; ++n) {
    pass(50);
    EXPECT_EQ(here_.gateway().hears(first.session, "token:ann", {claim}), std::vector<std::string>{"a"});
  }
  EXPECT_EQ(store_->standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::held);
  EXPECT_FALSE(here_.gateway().hears(first.session, "token:eve", {}));
  EXPECT_FALSE(there_.gateway().hears(first.session, "token:ann", {}));
  here_.gateway().hears(first.session, "token:ann", {});
  pass(3);
  EXPECT_EQ(store_->standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::lost);
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
    return store_->standing(std::vector{std::pair(of.run, of.fence)}).at(0);
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
  EXPECT_EQ(store_->standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::held);
  for (int n = 0; n < 12; ++n) {
    pass(30);
    here_.gateway().hears(first.session, "token:ann", {first.claims.at(0).id, claim});
  }
  pass(3);
  EXPECT_EQ(store_->standing(std::vector{std::pair(run, claim.fence)}).at(0), HoldStanding::held);
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
  ASSERT_EQ(store_->jobs(run).size(), 1u);
  EXPECT_EQ(store_->jobs(run)[0].job.queue, "pages");
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
