// The benchmark does what it says; how fast is not tested, but for what was slow by its nature: bounds that any machine
// keeps (ops/bench/RESULTS.md has the measured ones).
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

// A small pass of one case.
Json measured(Arguments arguments) {
  Arguments command = {"bench", "--json", "--case"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Json line = cairn_ok(command).json();
  EXPECT_EQ(line["case"], arguments[0]);
  return line;
}

void expect_positive(const Json& line, const std::vector<const char*>& measures) {
  for (const char* measure : measures) {
    ASSERT_TRUE(line.contains(measure)) << measure << " in " << line.dump();
    EXPECT_GT(line[measure].get<double>(), 0) << measure;
  }
}

TEST(Bench, the_steps_case_says_what_it_measured_beside_its_limit) {
  const Json line = measured({"steps", "--runs", "300", "--workers", "2"});
  EXPECT_EQ(line["unit"], "steps/s");
  EXPECT_EQ(line["runs"], 300);
  EXPECT_EQ(line["steps"], 3000);
  EXPECT_EQ(line["workers"], 2);
  expect_positive(line, {"value", "limit", "ratio", "client_cpu_us_per_step", "server_cpu_us_per_step",
                         "wal_bytes_per_step", "commits_per_step", "worker_memory_mb"});
  EXPECT_EQ(line["fsync"], "on");
  EXPECT_EQ(line["synchronous_commit"], "on");
  EXPECT_FALSE(line["machine"]["memory"].get<std::string>().empty());
  EXPECT_TRUE(line["settings"].contains("shared_buffers"));
}

TEST(Bench, the_steps_case_tries_1_2_and_4_workers) {
  const Json line = measured({"steps", "--runs", "100"});
  ASSERT_EQ(line["by_workers"].size(), 3U);
  for (const char* workers : {"1", "2", "4"}) EXPECT_LE(line["by_workers"][workers]["value"], line["value"]);
}

TEST(Bench, fused_steps_leave_the_same_history_in_fewer_commits) {
  const Json line = measured({"pure", "--runs", "200"});
  EXPECT_EQ(line["same_history"], true);
  EXPECT_EQ(line["commits_of_a_run"]["fused"], 2);
  EXPECT_EQ(line["commits_of_a_run"]["one_by_one"], 11);
}

TEST(Bench, the_latency_case_says_how_long_one_run_takes) {
  const Json line = measured({"latency", "--runs", "20"});
  EXPECT_EQ(line["runs"], 20);
  expect_positive(line, {"value", "limit", "ratio", "p50_ms", "p99_ms", "start_p50_ms", "start_p99_ms"});
  EXPECT_LE(line["p50_ms"], line["p99_ms"]);
  EXPECT_LT(line["start_p50_ms"], line["p50_ms"]);
}

// The key that signs checkpoints stands next to their folder.
TEST(Bench, nothing_is_left_where_files_are_temporary) {
  const std::filesystem::path temporary = directory() / "temporary";
  std::filesystem::create_directories(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  measured({"latency", "--runs", "20"});
  unsetenv("TMPDIR");
  for (const auto& left : std::filesystem::directory_iterator(temporary)) ADD_FAILURE() << left.path();
}

// 200 with each sweep, every two seconds and whatever the number of survivors: 1,000 took eight.
TEST(Bench, A14_what_a_killed_worker_held_is_taken_over) {
  const Json line = measured({"takeover", "--runs", "1000", "--workers", "2"});
  EXPECT_EQ(line["unit"], "s");
  EXPECT_EQ(line["holds"], 1'000);
  EXPECT_EQ(line["survivors"], 2);
  EXPECT_GE(line["value"], 0);
  EXPECT_LT(line["value"], 5) << line;
  EXPECT_GE(line["executed_again_after_s"], line["noticed_after_s"]);
}

TEST(Bench, no_limit_lets_more_through_while_workers_are_killed) {
  const Json line = measured({"exactness", "--runs", "80"});
  EXPECT_EQ(line["value"], 0) << line;
  EXPECT_EQ(line["killed"], 3);
  EXPECT_EQ(line["left_held"], 0);
  ASSERT_EQ(line["table"].size(), 4U);
  for (const Json& row : line["table"]) {
    EXPECT_GE(row["looked_at"], 160) << "each step at least once: " << row;
    EXPECT_GT(row["most"], 0) << row;
    EXPECT_LE(row["most"], row["allowed"]) << row;
  }
}

TEST(Bench, of_many_keys_the_others_wait_little_longer_when_one_floods) {
  const Json line = measured({"queue_keys", "--seconds", "1", "--workers", "1"});
  EXPECT_GT(line["ratio_p99"], 0) << line;
  EXPECT_EQ(line["keys"], 10'000);
  EXPECT_EQ(line["runs"], 250);
  EXPECT_GE(line["flooding"], 1'000);
  expect_positive(line, {"value", "limit", "ratio"});
  expect_positive(line["flooded"], {"p50_ms", "p99_ms", "max_ms"});
  expect_positive(line["steps_of_one_length"], {"value", "limit", "ratio"});
}

TEST(Bench, the_fan_out_case_joins_100_and_10_000_branches) {
  const Json line = measured({"fan_out", "--runs", "1"});
  EXPECT_EQ(line["map_100"]["branches"], 100);
  EXPECT_EQ(line["map_10000"]["branches"], 10'000);
  EXPECT_EQ(line["edges_100"]["branches"], 100);
  EXPECT_EQ(line["value"], line["map_100"]["p50_ms"]);
}

TEST(Bench, the_start_case_makes_runs_one_by_one_and_in_batches) {
  const Json line = measured({"start", "--runs", "1000"});
  EXPECT_EQ(line["runs"], 1'000);
  EXPECT_EQ(line["one_by_one"]["runs"], 1'000);
  expect_positive(line, {"value", "limit", "ratio", "wal_bytes_per_run"});
}

TEST(Bench, the_fold_case_folds_and_verifies_real_histories) {
  const Json line = measured({"fold", "--events", "1200"});
  EXPECT_EQ(line["events"], 1'200);
  expect_positive(line, {"value", "from_json", "verified", "verified_from_json", "envelopes", "limit", "ratio"});
}

TEST(Bench, the_claims_case_is_held_against_idle_workers) {
  const Json line = measured({"claims", "--seconds", "3", "--idle", "20"});
  EXPECT_EQ(line["idle_workers"], 20);
  expect_positive(line, {"value", "steps", "serve_us_of_a_step", "beside_idle", "beside_ratio"});
}

TEST(Bench, the_http_case_reads_starts_and_follows_at_once) {
  const Json line = measured({"http", "--seconds", "2", "--followers", "200"});
  EXPECT_EQ(line["followers"], 200);
  expect_positive(line, {"value", "serve_memory_mb"});
  for (const char* part : {"reads", "starts", "events_followed"}) expect_positive(line[part], {"per_second", "p50_ms"});
}

TEST(Bench, a_full_database_is_held_against_an_empty_one) {
  const Json line = measured({"scale.waiting", "--waiting", "30", "--seconds", "1"});
  expect_positive(line, {"value", "limit", "ratio"});
  expect_positive(line["by_waiting_jobs"]["30"], {"value", "ratio"});
  expect_positive(measured({"scale.finished", "--finished", "50", "--seconds", "1"}), {"value", "limit", "ratio"});
  expect_positive(measured({"scale.snapshot", "--snapshot-seconds", "1", "--seconds", "1"}),
                  {"value", "limit", "ratio"});
  expect_positive(measured({"scale.sustained", "--sustained-seconds", "1", "--seconds", "1"}),
                  {"value", "limit", "ratio"});
}

// The samples of an hour's working_mb that counted as flat: a slack of 2 MB hid that it had doubled.
TEST(Bench, a_soak_samples_what_is_held_while_workers_are_killed) {
  const Json line = measured({"soak", "--soak-seconds", "16"});
  EXPECT_GE(line["kills"], 1);
  EXPECT_GE(line["cuts"], 2);
  EXPECT_EQ(line["requests"], 2 * 16);
  EXPECT_LE(line["requests_without_answer"], 4) << "of those at a cut";
  EXPECT_GE(line["runs"], 16 * 20 + 20) << "those of the schedules as well";
  EXPECT_EQ(line["growth"].size(), 10U);
  EXPECT_GE(line["table"].size(), 10U);
  for (const Json& row : line["table"])
    expect_positive(row, {"worker_mb", "worker_descriptors", "serve_mb", "serve_descriptors", "connections",
                          "working_mb", "working_table_mb", "working_index_mb", "history_bytes_of_event"});
  EXPECT_GT(line["events_of_feed"], 0) << "of the consumer that lags";
}

// Results without a single number of growth were flat.
TEST(Bench, a_soak_is_judged_by_every_measure) {
  const auto judged = [](const std::string& rows) {
    return run_program(testing::source_dir() + "/ops/soak", {"--judge", write_file("soak.md", rows)});
  };
  std::string rows;
  for (const char name : std::string("abcdefghi")) rows += std::string("| growth ") + name + " | 1.04 |\n";
  EXPECT_EQ(judged(rows + "| growth jobs | 1 |\n").exit, 0);
  const Ran grown = judged(rows + "| growth jobs | 1.2 |\n"), fewer = judged(rows), none = judged("# Results\n");
  EXPECT_EQ(grown.exit, 1);
  EXPECT_NE(grown.err.find("something grew"), std::string::npos) << grown.err;
  for (const Ran& ran : {fewer, none}) {
    EXPECT_EQ(ran.exit, 1);
    EXPECT_NE(ran.err.find("Expected the growth of 10 measures"), std::string::npos) << ran.err;
  }
}

TEST(Bench, a_long_run_is_held_against_new_ones) {
  const Json line = measured({"scale.long_run", "--events", "20000"});
  EXPECT_GE(line["events"], 30'000);
  expect_positive(line, {"value", "limit", "ratio", "taken_over_ms"});
}

TEST(Bench, A6_a_list_that_grows_is_held_against_a_value_that_is_replaced) {
  const Json line = measured({"scale.appends", "--runs", "4000"});
  EXPECT_EQ(line["appends"], 4'000);
  EXPECT_EQ(line["table"].size(), 4U);
  expect_positive(line, {"value", "limit", "ratio", "last_quarter_to_first"});
}

// 3,000 steps of 50 ms on 64 slots are 2.4 s. Four processes took 3.3 times as long as one.
TEST(Bench, A7_a_wide_run_on_several_processes_is_held_against_one) {
  const Json line = measured({"scale.wide", "--width", "3000", "--runs", "1"});
  expect_positive(line, {"value", "limit", "ratio", "slots"});
  const Json& wide = line["width_3000"];
  for (const char* processes : {"processes_1", "processes_2", "processes_4", "processes_8"})
    expect_positive(wide[processes], {"seconds", "client_cpu_seconds", "time_to_one", "client_cpu_to_one"});
  EXPECT_LT(wide["processes_4"]["time_to_one"], 2.5) << line;
}

TEST(Bench, runs_in_flight_are_in_memory_at_once) {
  const Json line = measured({"scale.in_flight", "--runs", "200"});
  EXPECT_EQ(line["runs"], 200);
  EXPECT_GT(line["value"], line["idle_mb"]);
}

TEST(Bench, all_that_is_kept_is_looked_over) {
  const Json line = measured({"audit", "--runs", "50", "--events", "3000"});
  EXPECT_EQ(line["many_runs"]["runs"], 50);
  EXPECT_EQ(line["many_runs"]["events"], 500);
  EXPECT_EQ(line["one_run"]["runs"], 1);
  EXPECT_GE(line["one_run"]["events"], 3'000);
  expect_positive(line, {"value", "limit", "ratio"});
  for (const char* part : {"many_runs", "one_run"}) {
    expect_positive(line[part]["copy"], {"events_per_second"});
    for (const char* command : {"verify", "replay", "export"})
      expect_positive(line[part][command],
                      {"events_per_second", "events_per_second_of_client_cpu", "of_copy", "memory_mb"});
  }
  for (const char* shown : {"show_at", "show_at_without_snapshots"})
    expect_positive(line["one_run"][shown], {"early_ms", "middle_ms", "late_ms", "memory_mb"});
}

TEST(Bench, the_model_is_waited_for_by_all_steps_at_once) {
  const Json line = measured({"model_load", "--runs", "20"});
  EXPECT_EQ(line["in_flight"], 20);
  EXPECT_LE(line["ratio"], 1);
  expect_positive(line, {"value", "limit", "ratio", "worker_memory_mb"});
}

TEST(Bench, real_workflows_and_arrivals_are_taken_from_files) {
  const std::string instance = write_file("diamond.json", R"({"workflow": {"specification": {"tasks": [
        {"id": "a", "parents": []}, {"id": "b", "parents": ["a"]}, {"id": "c", "parents": ["a"]},
        {"id": "d", "parents": ["b", "c"]}]}}})");
  const Json line = measured({"shapes.instances", "--runs", "2", "--instances", instance});
  EXPECT_EQ(line["by_instance"]["diamond.json"]["tasks"], 4);
  EXPECT_EQ(line["by_instance"]["diamond.json"]["depth"], 3);
  const std::string arrivals =
      write_file("arrivals.csv",
                 "TIMESTAMP,TOKENS\n2023-11-16 18:17:03.97,1\n2023-11-16 18:17:05.01,2\n2023-11-16 18:17:04.5,3\n");
  const Json waits = measured({"shapes.arrivals", "--arrivals", arrivals});
  EXPECT_EQ(waits["arrivals"], 3);
  EXPECT_LE(waits["p50_ms"], waits["p99_ms"]);
  expect_refused(cairn({"bench", "--json", "--case", "shapes", "--instances", arrivals}), 4, "workflow instance");
  EXPECT_TRUE(measured({"shapes.arrivals"}).contains("left_out"));
}

TEST(Bench, each_planner_is_charged_for_its_own_handlers) {
  const Json line = measured({"planners", "--runs", "2"});
  const std::map<std::string, std::set<std::string>> owners = {
      {"seven_node", {"seven_node"}}, {"plan_runner", {"plan_runner"}}, {"tool_agent", {"data", "model", "tool"}}};
  for (const auto& [planner, own] : owners) {
    const Json& part = line["by_planner"][planner];
    EXPECT_GT(part["cpu_us_per_step"], 0) << planner;
    for (const auto& [handler, us] : part["cpu_us_by_handler"].items())
      EXPECT_TRUE(own.contains(handler.substr(0, handler.find('.')))) << handler;
  }
}

TEST(Bench, its_lines_become_a_document) {
  const Ran ran = cairn_ok({"bench", "--json", "--case", "start", "--runs", "1234"});
  const std::string text = cairn_ok({"bench", "--report", write_file("lines.jsonl", ran.out)}).out;
  EXPECT_NE(text.find("\n| start | "), std::string::npos) << text;
  EXPECT_NE(text.find("\n| one_by_one runs | 1234 |\n"), std::string::npos) << text;
  EXPECT_NE(text.find("shared_buffers = "), std::string::npos) << text;
  expect_refused(cairn({"bench", "--report", write_file("other.jsonl", "{\"run\": 1}\n")}), 4, "cairn bench --json");
}

TEST(Bench, its_databases_are_gone_afterwards_and_the_runs_untouched) {
  const std::size_t before = cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size();
  cairn_ok({"bench", "--case", "steps", "--runs", "3", "--workers", "1"});
  EXPECT_EQ(cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size(), before);
  expect_refused(cairn({"bench", "--case", "nothing"}), 2, "nothing");
}

}  // namespace
}  // namespace cairn::program
