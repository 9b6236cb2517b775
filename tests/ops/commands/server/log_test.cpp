// The log: what happens to steps and requests, as text or as JSON.
#include <gtest/gtest.h>
#include <sstream>

#include "engine/id.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/paths.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn::program {
namespace {

const std::string plan =
    R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "fail", "inputs": {"message": "No \"water\"."}}]})";

Ran with_log(const std::string& level, const std::string& form, const Arguments& arguments) {
  Arguments all{"CAIRN_LOG=" + level, "CAIRN_LOG_FORM=" + form, testing::cairn_program()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program("/usr/bin/env", all);
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(Log, F10_an_attempt_that_fails_is_a_line_with_run_step_node_and_attempt) {
  const Ran ran = with_log("info", "json", {"start", "plan_runner", "--input", plan, "--wait", "--json"});
  const std::string run = ran.json()["run"];
  int told = 0;
  for (const Json& line : json_lines(ran.err)) {
    EXPECT_TRUE(parse_time(line["at"].get<std::string>())) << line;
    EXPECT_TRUE(line["pid"].is_number_integer()) << line;
    if (line.value("error", "") != "error") continue;
    EXPECT_EQ(line["attempt"], ++told) << line;
    EXPECT_EQ(line["run"], run) << line;
    EXPECT_EQ(line["node"], "run") << line;
    EXPECT_EQ(line["level"], "info") << line;
    EXPECT_GT(line["worker"].get<std::int64_t>(), 0) << line;
    EXPECT_EQ(line["trace"], trace_id(*parse_run_id(run), {})) << line;
    EXPECT_EQ(line["message"], "An attempt failed: No \"water\".") << line;
  }
  EXPECT_EQ(told, 3) << "as often as the graph tries a sub-goal: " << ran.err;
}

TEST(Log, a_line_about_a_step_has_the_trace_that_its_run_was_started_under) {
  const std::string tag = "traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const Ran ran = with_log("info", "json", {"start", "plan_runner", "--input", plan, "--tag", tag, "--wait", "--json"});
  int lines = 0;
  for (const Json& line : json_lines(ran.err)) {
    if (line.value("error", "") != "error") continue;
    ++lines;
    EXPECT_EQ(line["trace"], "4bf92f3577b34da6a3ce929d0e0e4736") << line;
  }
  EXPECT_EQ(lines, 3) << ran.err;
}

TEST(Log, F10_the_same_as_text_and_nothing_of_it_by_default) {
  const Ran ran = with_log("info", "text", {"start", "plan_runner", "--input", plan, "--wait", "--json"});
  const std::string run = ran.json()["run"];
  EXPECT_NE(ran.err.find(" info An attempt failed: No \"water\"."), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(" run=" + run), std::string::npos) << ran.err;
  EXPECT_EQ(with_log("warn", "json", {"start", "plan_runner", "--input", plan, "--wait", "--json"}).err, "");
  EXPECT_EQ(cairn({"start", "plan_runner", "--input", plan, "--wait", "--json"}).err, "") << "without CAIRN_LOG";
  expect_refused(with_log("info", "yaml", {"runs"}), 2, "CAIRN_LOG_FORM");
}

TEST(Log, F10_a_request_is_a_line_without_its_query_and_body) {
  const std::string script =
      "cd \"$1\"; CAIRN_LOG=info CAIRN_LOG_FORM=json \"$0\" serve --listen 127.0.0.1:0 > served 2> logged & server=$!\n"
      "for i in $(seq 100); do grep -q http served 2> /dev/null && break; sleep 0.1; done\n"
      "base=$(grep -o 'http://[0-9.:]*[0-9]' served | head -n 1)\n"
      "curl -s \"$base/api/v1/runs?graph=secret_graph\" > /dev/null\n"
      "curl -s -X POST -H 'Content-Type: application/json' -d '{\"graph\": \"secret_graph\"}' $base/api/v1/runs > "
      "/dev/null\n"
      "kill $server; wait $server; cat logged; rm logged served\n";
  const Ran ran = run_program("/bin/bash", {"-c", script, testing::cairn_program(), directory().string()});
  std::vector<Json> requests;
  for (const Json& line : json_lines(ran.out))
    if (line.contains("path")) requests.push_back(line);
  ASSERT_EQ(requests.size(), 2u) << ran.out << ran.err;
  EXPECT_EQ(requests[0]["method"], "GET");
  EXPECT_EQ(requests[0]["path"], "/api/v1/runs");
  EXPECT_EQ(requests[0]["status"], 404) << "there is no such graph";
  EXPECT_EQ(requests[1]["status"], 404);
  EXPECT_EQ(ran.out.find("secret_graph"), std::string::npos) << ran.out;
}

// Without the log of all requests no one could say which of them it was.
TEST(Log, a_request_that_breaks_is_a_line_with_its_method_and_path) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  PgConnection({dsn, "test", false}).execute("drop table cairn.schedule cascade");
  EXPECT_EQ(server.get("/api/v1/schedules").status, 500);
  const auto tells = [&server] {
    const std::string log = server.process().err();
    const std::size_t at = log.find("The API broke: ");
    return at != std::string::npos &&
           log.substr(at, log.find('\n', at) - at).ends_with(" method=GET path=/api/v1/schedules");
  };
  EXPECT_TRUE(wait_until(tells)) << server.process().err();
}

TEST(Log, F10_a_step_that_is_taken_over_is_a_line_with_run_step_node_and_attempt) {
  const std::string log = directory() / "survivor.log";
  Beside dying({"work"});
  const std::string sleeping = R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "sleep", "inputs": {"ms": 1500}}]})";
  const std::string run = cairn_ok({"start", "plan_runner", "--input", sleeping, "--json"}).json()["run"];
  EXPECT_TRUE(wait_until([&] {
    return cairn_ok({"events", run, "--json"}).out.find("step_succeeded") != std::string::npos;
  }));
  EXPECT_TRUE(wait_until([&] {
    const std::vector<Json> queue = cairn_ok({"workers", "--json"}).lines();
    return std::any_of(queue.begin(), queue.end(),
                       [&](const Json& row) { return row["pid"] == dying.pid() && row["held"] == 1; });
  }));
  dying.signal(SIGKILL);
  dying.wait();
  const Ran ran = with_log("info", "json", {"wait", run, "--work", "--timeout", "60s", "--json"});
  EXPECT_EQ(ran.json()["status"], "done") << ran.err;
  int told = 0;
  for (const Json& line : json_lines(ran.err)) {
    if (!line.contains("message") || line["message"].dump().find("is taken over") == std::string::npos) continue;
    ++told;
    EXPECT_EQ(line["run"], run) << line;
    EXPECT_EQ(line["node"], "run") << line;
    EXPECT_EQ(line["graph"], "plan_runner") << line;
    EXPECT_EQ(line["attempt"], 1) << line;
    EXPECT_TRUE(line["step"].is_number_integer() && line["worker"].is_number_integer()) << line;
  }
  EXPECT_EQ(told, 1) << ran.err;
}

}  // namespace
}  // namespace cairn::program
