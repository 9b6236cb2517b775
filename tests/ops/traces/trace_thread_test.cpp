// `cairn serve --otlp` over days: collectors that are away, full or mistaken, runs that ended while it was not there.
#include <csignal>
#include <gtest/gtest.h>
#include <map>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/traces/collector.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn::program {
namespace {

std::string plan_of(const std::string& goal) { return Json{{"goal", goal}, {"sub_goals", Json::array()}}.dump(); }

std::string run_of_plan(const std::string& dsn, const std::string& plan) {
  return cairn_ok({"start", "plan_runner", "--dsn", dsn, "--wait", "--json", "--input", plan}).json()["run"];
}

// The trace of such a run, with its contents, fills the larger part of a document with 40 sub-goals.
std::string run_of_large_plan(const std::string& dsn, const std::string& goal, int sub_goals = 40) {
  Json plan = {{"goal", goal}, {"sub_goals", Json::array()}};
  for (int n = 0; n < sub_goals; ++n)
    plan["sub_goals"].push_back(
        {{"id", "g" + std::to_string(n)}, {"tool", "echo"}, {"inputs", {{"text", std::string(9'000, 'x')}}}});
  return run_of_plan(dsn, "@" + write_file("large_plan_" + goal + ".json", plan.dump()).string());
}

// The consumer is there from now on.
void begin_to_follow(const std::string& dsn, const Collector& collector) {
  Server server({"--dsn", dsn, "--otlp", collector.url()});
  server.process().signal(SIGTERM);
  EXPECT_EQ(server.process().wait(), 0);
}

std::map<std::string, int> times_sent(const Collector& collector) {
  std::map<std::string, int> times;
  for (const Json& span : collector.spans())
    if (span["name"].get<std::string>().starts_with("invoke_workflow ")) ++times[span["traceId"]];
  return times;
}

std::string trace_of(const std::string& run) { return trace_id(*parse_run_id(run), {}); }

TEST(TraceThread, a_run_is_sent_after_all_when_the_collector_refused_for_a_while) {
  const std::string dsn = new_database();
  const Collector collector({"401:1", "404:1"});
  const Server server({"--dsn", dsn, "--otlp", collector.url()});
  const std::string run = run_of_plan(dsn, plan_of("g"));
  EXPECT_TRUE(wait_until([&] { return times_sent(collector)[trace_of(run)] == 1; })) << server.process().err();
  EXPECT_NE(server.process().err().find("401"), std::string::npos) << server.process().err();
}

TEST(TraceThread, a_document_that_the_collector_finds_fault_with_is_left_out_and_the_next_is_sent) {
  const std::string dsn = new_database();
  const Collector collector({"413"});
  const Server server({"--dsn", dsn, "--otlp", collector.url()});
  const std::string first = run_of_plan(dsn, plan_of("first"));
  ASSERT_TRUE(wait_until([&] { return server.process().err().find("413") != std::string::npos; }));
  const std::string second = run_of_plan(dsn, plan_of("second"));
  EXPECT_TRUE(wait_until([&] { return times_sent(collector)[trace_of(second)] == 1; })) << server.process().err();
  EXPECT_EQ(times_sent(collector)[trace_of(first)], 0);
}

TEST(TraceThread, runs_that_ended_while_none_ran_are_sent_later_and_one_that_cannot_be_read_holds_up_no_other) {
  const std::string dsn = new_database();
  const Collector collector;
  begin_to_follow(dsn, collector);
  const std::string broken = run_of_plan(dsn, plan_of("broken"));
  const std::string whole = run_of_plan(dsn, plan_of("whole"));
  PgConnection({dsn, "test", false})
      .execute(
          "update cairn.event e set payload = '{' from cairn.run r "
          "where r.run_id = e.run_id and e.seq = r.head - 1 and e.run_id = '" +
          broken + "'");
  const Server server({"--dsn", dsn, "--otlp", collector.url()});
  EXPECT_TRUE(wait_until([&] { return times_sent(collector)[trace_of(whole)] == 1; })) << server.process().err();
  EXPECT_NE(server.process().err().find("The trace of run " + broken + " is not sent"), std::string::npos)
      << server.process().err();
  for (const Json& span : collector.spans()) EXPECT_NE(span["traceId"], trace_of(broken)) << span;
}

TEST(TraceThread, a_collector_that_takes_a_document_at_a_time_gets_each_once) {
  const std::string dsn = new_database();
  const Collector collector({"take", "503:1", "take", "503:1"});
  begin_to_follow(dsn, collector);
  std::map<std::string, int> once;
  for (const char* goal : {"a", "b", "c"}) once[trace_of(run_of_large_plan(dsn, goal))] = 1;
  const Server server({"--dsn", dsn, "--otlp", collector.url(), "--otlp-contents"});
  EXPECT_TRUE(wait_until([&] { return times_sent(collector).size() == 3; })) << server.process().err();
  EXPECT_EQ(times_sent(collector), once);
  EXPECT_EQ(collector.documents(), 3);
}

TEST(TraceThread, of_several_servers_one_sends_and_another_goes_on_when_it_ends) {
  const std::string dsn = new_database();
  const Collector collector;
  std::map<std::string, int> once;
  const auto run_and_wait = [&] {
    const std::string trace = trace_of(run_of_plan(dsn, plan_of("g")));
    once[trace] = 1;
    EXPECT_TRUE(wait_until([&] { return times_sent(collector).contains(trace); }));
  };
  const Server last({"--dsn", dsn, "--otlp", collector.url()});
  {
    Server first({"--dsn", dsn, "--otlp", collector.url()});
    Server second({"--dsn", dsn, "--otlp", collector.url()});
    for (int n = 0; n < 4; ++n) run_and_wait();
    for (Server* server : {&first, &second}) {
      server->process().signal(SIGTERM);
      EXPECT_EQ(server->process().wait(), 0);
    }
  }
  for (int n = 0; n < 2; ++n) run_and_wait();
  EXPECT_EQ(times_sent(collector), once) << last.process().err();
}

TEST(TraceThread, a_server_that_is_stopped_ends_after_the_document_that_is_under_way) {
  const std::string dsn = new_database();
  const Collector collector({"late:3"});
  begin_to_follow(dsn, collector);
  const std::string run = run_of_large_plan(dsn, "of_two_documents", 100);
  {
    Server server({"--dsn", dsn, "--otlp", collector.url(), "--otlp-contents"});
    ASSERT_TRUE(wait_until([&] { return collector.documents() == 1; })) << server.process().err();
    server.process().signal(SIGTERM);
    EXPECT_EQ(server.process().wait(), 0);
    EXPECT_EQ(collector.documents(), 1);
  }
  const Server next({"--dsn", dsn, "--otlp", collector.url(), "--otlp-contents"});
  EXPECT_TRUE(wait_until([&] { return times_sent(collector)[trace_of(run)] == 1; })) << next.process().err();
  EXPECT_EQ(collector.documents(), 3) << "the first one once more";
}

TEST(TraceThread, a_run_that_was_retried_before_it_was_sent_is_sent_when_it_ends_again) {
  const std::string dsn = new_database();
  const Collector collector;
  begin_to_follow(dsn, collector);
  const Json failing = {
      {"name", "failing"},
      {"start", "work"},
      {"limits", {{"steps", 9}}},
      {"nodes",
       {{"work",
         {{"do", "tool.call"}, {"with", {{"tool", "fail"}, {"inputs", {{"message", "no"}}}}}, {"on", {{"ok", "end"}}}}},
        {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", "--dsn", dsn, write_file("failing.json", failing.dump())});
  const Ran failed = cairn({"start", "failing", "--dsn", dsn, "--wait", "--json"});
  ASSERT_EQ(failed.exit, 1) << failed.err;
  const std::string run = failed.json()["run"];
  cairn_ok({"retry", run, "--dsn", dsn});
  ASSERT_EQ(cairn_ok({"show", run, "--dsn", dsn, "--json"}).json()["status"], "running");
  const Server server({"--dsn", dsn, "--otlp", collector.url()});
  const std::string other = run_of_plan(dsn, plan_of("other"));
  ASSERT_TRUE(wait_until([&] { return times_sent(collector)[trace_of(other)] == 1; })) << server.process().err();
  EXPECT_EQ(times_sent(collector)[trace_of(run)], 0);
  const Beside worker({"work", "--dsn", dsn});
  EXPECT_TRUE(wait_until([&] { return times_sent(collector)[trace_of(run)] == 1; })) << server.process().err();
}

TEST(TraceThread, answers_that_say_that_spans_were_left_out_or_are_too_long_are_answers) {
  const std::string dsn = new_database();
  const Collector collector({"part:2", "long:100000"});
  const Server server({"--dsn", dsn, "--otlp", collector.url()});
  for (const char* goal : {"first", "second", "third"}) {
    const std::string run = run_of_plan(dsn, plan_of(goal));
    ASSERT_TRUE(wait_until([&] { return times_sent(collector)[trace_of(run)] == 1; })) << server.process().err();
  }
  EXPECT_NE(server.process().err().find("left out spans: Too old."), std::string::npos) << server.process().err();
  for (const auto& [trace, times] : times_sent(collector)) EXPECT_EQ(times, 1) << trace;
}

TEST(TraceThread, is_refused_while_a_worker_of_an_earlier_release_is_at_work) {
  const std::string dsn = new_database();
  const Beside worker({"work", "--dsn", dsn});
  PgConnection connection({dsn, "test", false});
  const auto is_made_older = [&] {
    return connection.query({"make_older", "update cairn.worker set feeds = false returning session"}).rows() == 1;
  };
  ASSERT_TRUE(wait_until(is_made_older)) << worker.err();
  const Collector collector;
  expect_refused(cairn({"serve", "--dsn", dsn, "--listen", "127.0.0.1:0", "--otlp", collector.url()}), 4, "session");
}

}  // namespace
}  // namespace cairn::program
