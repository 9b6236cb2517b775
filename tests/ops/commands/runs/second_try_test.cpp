// Another try of runs that failed by design, resets, and steps that need a tool which only another worker has.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

// Fails at its second step by an edge for errors, until a file is there.
Json flaky_graph(const std::string& name) {
  return {{"name", name},
          {"start", "prepare"},
          {"limits", {{"steps", 20}}},
          {"nodes",
           {{"prepare",
             {{"do", "tool.call"}, {"with", {{"tool", "echo"}, {"inputs", {{"x", 1}}}}}, {"on", {{"ok", "make"}}}}},
            {"make",
             {{"do", "tool.call"},
              {"with", {{"tool", "machine"}, {"into", "cup"}}},
              {"retry", {{"attempts", 2}}},
              {"on", {{"ok", "served"}, {"error", "none"}}}}},
            {"served", {{"end", {{"status", "done"}, {"output", "$cup"}}}}},
            {"none", {{"end", {{"status", "failed"}, {"reason", "No coffee today."}}}}}}}};
}

// A tools file whose `machine` works once `water` exists.
std::string machine(const std::filesystem::path& water) {
  const Json tools = {
      {"tools",
       {{"machine",
         {{"exec",
           {"sh", "-c", "test -e " + water.string() + " && echo '{\"ml\": 200}' || { echo dry >&2; exit 75; }"}}}}}}};
  return write_file("machine.json", tools.dump()).string();
}

int events_of(const std::string& run, const std::string& type, const std::string& node = "") {
  int count = 0;
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines())
    count += event["type"] == type && (node.empty() || event.value("node", "") == node) ? 1 : 0;
  return count;
}

TEST(SecondTry, F1_a_run_that_failed_by_an_edge_for_errors_goes_on_from_the_step_that_failed) {
  const std::filesystem::path water = directory() / "water";
  const std::string tools = machine(water);
  cairn_ok({"graph", "add", write_file("flaky.json", flaky_graph("second_flaky").dump())});
  const Ran failed = cairn({"start", "second_flaky", "--tag", "team=a", "--wait", "--json", "--tools", tools});
  ASSERT_EQ(failed.exit, 1) << failed.err;
  const std::string run = failed.json()["run"];
  const Json would = cairn_ok({"retry", run, "--dry-run", "--json"}).json();
  EXPECT_EQ(would["status"], "forked") << would;
  EXPECT_FALSE(would.contains("fork"));

  write_file("water", "");
  const Json retried = cairn_ok({"retry", run, "--reason", "There is water.", "--json"}).json();
  const std::string fork = retried["fork"];
  EXPECT_EQ(cairn_ok({"events", fork, "--json"}).lines().front()["reason"], "There is water.");
  EXPECT_EQ(cairn_ok({"wait", fork, "--work", "--json", "--tools", tools}).json()["status"], "done");
  EXPECT_EQ(events_of(fork, "step_succeeded", "prepare"), 0) << "that was done before";
  EXPECT_EQ(cairn_ok({"show", fork, "--json"}).json()["forked_from"]["run"], run);
  EXPECT_EQ(cairn_ok({"show", fork, "--json"}).json()["tags"]["team"], "a");
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["status"], "failed") << "its history stays as it is";
  expect_refused(cairn({"retry", run}), 4, "goes on " + fork);
  EXPECT_EQ(cairn_ok({"verify", fork, run}).exit, 0);
}

TEST(SecondTry, F1_a_failed_plan_goes_on_with_what_failed_alone) {
  const std::filesystem::path water = directory() / "water2";
  const std::string tools = machine(water);
  const std::string plan = R"({"goal": "two", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"x": 1}},
    {"id": "b", "tool": "machine", "after": ["a"]}]})";
  const Ran failed = cairn({"start", "plan_runner", "--input", plan, "--wait", "--json", "--tools", tools});
  ASSERT_EQ(failed.exit, 1) << failed.out << failed.err;
  const std::string run = failed.json()["run"];
  write_file("water2", "");
  const std::string fork = cairn_ok({"retry", run, "--json"}).json()["fork"];
  EXPECT_EQ(cairn_ok({"wait", fork, "--work", "--json", "--tools", tools}).json()["status"], "done");
  EXPECT_EQ(events_of(fork, "sub_goal_closed"), 1) << "b alone";
}

TEST(SecondTry, F1_what_another_try_cannot_mend_is_refused_with_the_reason) {
  const Json refused = {
      {"name", "second_refused"},
      {"start", "test"},
      {"limits", {{"steps", 5}}},
      {"nodes",
       {{"test",
         {{"do", "data.test"}, {"with", {{"if", {{"eq", {1, 2}}}}}}, {"on", {{"true", "end"}, {"false", "no"}}}}},
        {"end", {{"end", "done"}}},
        {"no", {{"end", {{"status", "failed"}, {"reason", "They differ."}}}}}}}};
  cairn_ok({"graph", "add", write_file("refused.json", refused.dump())});
  const std::string run = cairn({"start", "second_refused", "--wait", "--json"}).json()["run"];
  expect_refused(cairn({"retry", run}), 4, "failed without one: They differ.");
  expect_refused(cairn({"reset", run, "--to", "nowhere"}), 4, "Expected a node of graph second_refused");
  expect_refused(cairn({"reset", run, "--to", "end"}), 4, "has left, but it has not left end.");
  expect_refused(cairn({"reset", run, "--to", "99"}), 4, "Expected an event from 1 to");
  expect_refused(cairn({"reset", run}), 2, "--to");
}

TEST(SecondTry, a_run_is_reset_to_a_node_and_ends_where_it_still_runs) {
  Json graph = Json::parse(ask_graph("second_reset"));
  cairn_ok({"graph", "add", write_file("reset.json", graph.dump())});
  const std::string run = cairn_ok({"start", "second_reset", "--wait", "--json"}).json()["run"];
  const std::string start = graph["start"];
  cairn_ok({"answer", run, "--value", "\"north\"", "--wait"});
  const std::string fork = cairn_ok({"reset", run, "--to", start, "--json"}).json()["fork"];
  const Json waits = cairn_ok({"wait", fork, "--work", "--json"}).json();
  EXPECT_EQ(waits["status"], "waiting") << "the question is open again";
  EXPECT_EQ(waits["questions"].size(), 1u);
  const Arguments back = {"reset", fork, "--to", "1", "--reason", "North was wrong.", "--json"};
  const std::string other = cairn_ok(back).json()["fork"];
  EXPECT_EQ(cairn_ok({"show", fork, "--json"}).json()["status"], "aborted");
  EXPECT_TRUE(cairn_ok({"show", fork, "--json"}).json()["reason"].get<std::string>().ends_with(" North was wrong."));
  EXPECT_EQ(cairn_ok({"events", other, "--json"}).lines().front()["reason"], "North was wrong.");
  EXPECT_NE(cairn_ok({"show", fork, "--json"}).json()["reason"].get<std::string>().find(other), std::string::npos);
}

TEST(SecondTry, all_runs_that_match_are_reset_each_with_a_fork_of_its_own) {
  const Json graph = Json::parse(ask_graph("second_bulk"));
  cairn_ok({"graph", "add", write_file("bulk.json", graph.dump())});
  std::vector<std::string> runs;
  for (int n = 0; n < 2; ++n)
    runs.push_back(cairn_ok({"start", "second_bulk", "--tag", "bulk=yes", "--wait", "--json"}).json()["run"]);
  for (const std::string& run : runs) cairn_ok({"answer", run, "--value", "\"north\"", "--wait"});
  const Arguments reset = {"reset", "--where", "graph=second_bulk", "--to", graph["start"].get<std::string>()};
  Arguments dry = reset;
  dry.emplace_back("--dry-run");
  cairn_ok(dry);
  EXPECT_EQ(cairn_ok({"runs", "--graph", "second_bulk", "--json"}).lines().size(), 2u) << "a dry run stores nothing";
  cairn_ok(reset);
  const std::vector<Json> all = cairn_ok({"runs", "--graph", "second_bulk", "--json"}).lines();
  EXPECT_EQ(all.size(), 4u);
  for (const std::string& run : runs) {
    EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["status"], "done");
    EXPECT_EQ(cairn_ok({"runs", "--lineage", run, "--json"}).lines().size(), 2u) << "it and its fork";
  }
}

TEST(SecondTry, a_run_that_was_paused_at_that_moment_goes_on_all_the_same) {
  const Json graph = {
      {"name", "second_paused"},
      {"start", "ask"},
      {"limits", {{"steps", 5}}},
      {"nodes",
       {{"ask",
         {{"ask", {{"prompt", "Where?"}}}, {"into", "place"}, {"on", {{"answered", "keep"}, {"expired", "end"}}}}},
        {"keep", {{"do", "data.set"}, {"with", {{"set", {{"kept", "$place"}}}}}, {"on", {{"ok", "end"}}}}},
        {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("paused.json", graph.dump())});
  const std::string run = cairn_ok({"start", "second_paused", "--wait", "--json"}).json()["run"];
  cairn_ok({"pause", run});
  cairn_ok({"answer", run, "--value", "\"north\""});
  cairn_ok({"resume", run});
  cairn_ok({"wait", run, "--work"});
  const std::string fork = cairn_ok({"reset", run, "--to", graph["start"], "--json"}).json()["fork"];
  EXPECT_EQ(cairn_ok({"wait", fork, "--work", "--json"}).json()["status"], "waiting");
}

TEST(SecondTry, a_bulk_command_has_its_reason_on_record_and_takes_no_field_of_another_one) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("second_reasons"))});
  const std::string run = cairn_ok({"start", "second_reasons", "--wait", "--json"}).json()["run"];
  const Server server;
  const Json where = {{"graph", "second_reasons"}};
  Json pause = {{"command", "pause"}, {"where", where}, {"reason", "night"}};
  EXPECT_EQ(server.post("/api/v1/bulk", pause).json()["statuses"], Json({{"paused", 1}}));
  EXPECT_EQ(cairn_ok({"events", run, "--json"}).lines().back()["reason"], "night");
  const auto refusal = [&](const Json& body) {
    const Reply reply = server.post("/api/v1/bulk", body);
    EXPECT_EQ(reply.status, 400) << body;
    return reply.message();
  };
  Json with_now = pause;
  with_now["now"] = true;
  EXPECT_EQ(refusal(with_now), "Expected now in the body of a cancel alone, but found it in that of a pause.");
  Json with_to = {{"command", "cancel"}, {"where", where}, {"to", "1"}};
  EXPECT_EQ(refusal(with_to), "Expected to in the body of a reset alone, but found it in that of a cancel.");
  pause["reason"] = std::string(501, 'r');
  EXPECT_EQ(refusal(pause), "Expected a reason of at most 500 bytes, but found 501.");
  const Reply resumed = server.post("/api/v1/runs/" + run + "/resume", {{"why", "day"}});
  EXPECT_EQ(resumed.status, 400) << "a field that is not taken is refused";
  EXPECT_EQ(server.post("/api/v1/runs/" + run + "/resume", {{"reason", "day"}}).status, 200);
  EXPECT_EQ(cairn_ok({"events", run, "--json"}).lines().back()["reason"], "day");
}

TEST(SecondTry, all_that_a_bulk_command_was_refused_are_listed_up_to_a_bound_that_is_said) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("second_refused"))});
  const Server server;
  const Json runs(1'000, Json::object());
  const Reply started = server.post("/api/v1/runs", {{"graph", "second_refused"}, {"runs", runs}});
  ASSERT_EQ(started.json()["started"], 1'000) << started.body;
  ASSERT_EQ(server.post("/api/v1/runs", {{"graph", "second_refused"}}).status, 201);
  const Json resume = {{"command", "resume"}, {"where", {{"graph", "second_refused"}}}, {"dry_run", true}};
  Json all = resume;
  all["limit"] = 2'000;
  const Json answer = server.post("/api/v1/bulk", all).json();
  EXPECT_EQ(answer["refused"], answer["runs"]);
  EXPECT_EQ(answer["refusals"].size(), 1'000u);
  EXPECT_EQ(answer["refused_more"], answer["runs"].get<int>() - 1'000);
  EXPECT_GT(answer["refused_more"], 0);
  const Json piece = server.post("/api/v1/bulk", resume).json();
  EXPECT_EQ(piece["refusals"].size(), 1'000u) << "a piece of 1,000 lists all of its own";
  EXPECT_EQ(piece["refused_more"], 0);
}

TEST(SecondTry, a_bulk_command_acts_on_those_alone_that_its_count_listed) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("second_listed"))});
  const auto start = [] { return cairn_ok({"start", "second_listed", "--wait", "--json"}).json()["run"]; };
  const Json older = start();
  const Json counted = start();
  const Server server;
  const Json where = {{"graph", "second_listed"}, {"status", "waiting"}};
  ASSERT_EQ(server.post("/api/v1/runs/" + older.get<std::string>() + "/pause").status, 200);
  const Json count = {{"command", "cancel"}, {"where", where}, {"list", true}, {"dry_run", true}};
  const Json listed = server.post("/api/v1/bulk", count).json()["listed"];
  EXPECT_EQ(listed, Json::array({counted}));
  ASSERT_EQ(server.post("/api/v1/runs/" + older.get<std::string>() + "/resume").status, 200);

  Json cancel = {{"command", "cancel"}, {"where", where}, {"only", listed}};
  const Json done = server.post("/api/v1/bulk", cancel).json();
  EXPECT_EQ(done["runs"], 1) << done;
  EXPECT_EQ(done["next"], nullptr);
  EXPECT_FALSE(done.contains("listed"));
  EXPECT_EQ(cairn_ok({"show", older, "--json"}).json()["status"], "waiting") << "it came to match after the count";
  EXPECT_EQ(server.post("/api/v1/bulk", cancel).json()["runs"], 0) << "a run that no longer matches is left alone";

  cancel["only"] = Json::array({older, counted, "00000000-0000-7000-8000-000000000000"});
  EXPECT_EQ(server.post("/api/v1/bulk", cancel).json()["statuses"], Json({{"aborted", 1}}));
  const auto refusal = [&](const Json& body) { return server.post("/api/v1/bulk", body).message(); };
  Json bad = cancel;
  bad["limit"] = 2;
  EXPECT_EQ(refusal(bad), "Expected either only or after and limit, but found both.");
  bad = cancel;
  bad["only"] = Json::array();
  EXPECT_EQ(refusal(bad), "Expected 1 to 1000 runs in only, but found 0.");
  bad["only"] = {"order"};
  EXPECT_EQ(refusal(bad), "Expected ids of runs in only, but \"order\" is none.");
}

TEST(SecondTry, many_runs_are_tried_again_once_over_the_api_too) {
  Json graph = flaky_graph("second_many");
  graph["nodes"]["make"]["with"] = {{"tool", "fail"}, {"inputs", {{"message", "x"}}}, {"into", "cup"}};
  cairn_ok({"graph", "add", write_file("many.json", graph.dump())});
  for (int n = 0; n < 3; ++n) cairn({"start", "second_many", "--wait"});
  const Server server;
  const Json bulk = {{"command", "retry"}, {"where", {{"graph", "second_many"}, {"status", "failed"}}}};
  Json dry = bulk;
  dry["dry_run"] = true;
  EXPECT_EQ(server.post("/api/v1/bulk", dry).json()["statuses"], Json({{"forked", 3}}));
  const Reply done = server.post("/api/v1/bulk", bulk);
  EXPECT_EQ(done.json()["runs"], 3) << done.body;
  EXPECT_EQ(done.json()["statuses"], Json({{"forked", 3}})) << done.body;
  const Json again = server.post("/api/v1/bulk", bulk).json();
  EXPECT_EQ(again["refused"], 3) << "none is doubled: " << again;
  EXPECT_EQ(again["refusals"].size(), 3u);

  const Json cancel = {
      {"command", "cancel"}, {"where", {{"graph", "second_many"}, {"status", "running"}}}, {"limit", 2}};
  const Json first = server.post("/api/v1/bulk", cancel).json();
  EXPECT_EQ(first["statuses"], Json({{"aborted", 2}})) << first;
  Json rest = cancel;
  rest["after"] = first["next"];
  EXPECT_EQ(server.post("/api/v1/bulk", rest).json()["statuses"], Json({{"aborted", 1}}));
  for (const Json& bad : {Json{{"command", "delete"}, {"where", {{"graph", "a"}}}}, Json{{"command", "cancel"}},
                          Json{{"command", "reset"}, {"where", {{"graph", "a"}}}},
                          Json{{"command", "cancel"}, {"where", {{"grph", "a"}}}},
                          Json{{"command", "cancel"}, {"where", {{"graph", 7}}}}})
    EXPECT_EQ(server.post("/api/v1/bulk", bad).status, 400) << bad;
}

// --- tools that another worker has -----------------------------------------------------------------------------------

// By its process: sessions of other tests, whose workers were killed, may still be on record.
bool is_on_record(const Server& server, const Beside& worker) {
  const Json rows = server.get("/api/v1/workers").json();
  return std::any_of(rows.begin(), rows.end(), [&](const Json& row) { return row["pid"] == worker.pid(); });
}

void stop(Beside& worker) {
  worker.signal(SIGTERM);
  worker.wait();
}

std::string started(const Server& server, const std::string& graph, const Json& input) {
  return server.post(runs, {{"graph", graph}, {"input", input}}).json().at("run");
}

// Runs of a graph, and plans, that need a tool which one of two workers has. Over HTTP they are there within a moment.
void expect_all_done(const Server& server, const std::string& graph) {
  const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "b"}, {"tool", "machine"}}}}};
  std::vector<std::string> all;
  for (int n = 0; n < 8; ++n) {
    all.push_back(started(server, graph, Json::object()));
    all.push_back(started(server, "plan_runner", plan));
  }
  for (const std::string& run : all) {
    const Json ended = cairn_ok({"wait", run, "--timeout", "60s", "--json"}).json();
    EXPECT_EQ(ended["status"], "done") << ended;
  }
}

TEST(ToolsElsewhere, F2_a_worker_without_the_tool_leaves_the_step_to_one_that_has_it) {
  write_file("water3", "");
  const std::string tools = machine(directory() / "water3");
  cairn_ok({"graph", "add", write_file("elsewhere.json", flaky_graph("elsewhere").dump())});
  const Server server;
  Beside with({"work", "--tools", tools});
  EXPECT_TRUE(wait_until([&] { return is_on_record(server, with); }));
  Beside without({"work"});
  EXPECT_TRUE(wait_until([&] { return is_on_record(server, without); }));
  expect_all_done(server, "elsewhere");
  stop(with);
  stop(without);
}

// It looks every two seconds at who else is there: what has come since, it does not know.
TEST(ToolsElsewhere, F2_a_worker_without_the_tool_looks_again_before_it_fails_a_step_or_rejects_a_sub_goal) {
  write_file("water4", "");
  const std::string tools = machine(directory() / "water4");
  cairn_ok({"graph", "add", write_file("elsewhere_later.json", flaky_graph("elsewhere_later").dump())});
  const Server server;
  Beside without({"work"});
  EXPECT_TRUE(wait_until([&] { return is_on_record(server, without); }));
  Beside with({"work", "--tools", tools});
  EXPECT_TRUE(wait_until([&] { return is_on_record(server, with); }));
  expect_all_done(server, "elsewhere_later");
  stop(with);
  stop(without);
}

TEST(ToolsElsewhere, F2_a_tool_that_no_worker_on_record_has_is_a_failure_at_once) {
  cairn_ok({"graph", "add", write_file("nowhere.json", flaky_graph("nowhere").dump())});
  const Ran ran = cairn({"start", "nowhere", "--wait", "--timeout", "60s", "--json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.json()["status"], "failed") << ran.out << ran.err;
  EXPECT_EQ(cairn_ok({"runs", "--graph", "nowhere", "--json"}).json()["cause"]["error"], "unknown_tool");
}

// A graph of one call of a built-in tool.
Json tool_graph(const std::string& name, const std::string& tool, const Json& inputs) {
  return {{"name", name},
          {"start", "call"},
          {"limits", {{"steps", 9}}},
          {"nodes",
           {{"call", {{"do", "tool.call"}, {"with", {{"tool", tool}, {"inputs", inputs}}}, {"on", {{"ok", "done"}}}}},
            {"done", {{"end", {{"status", "done"}}}}}}}};
}

void add(const Json& graph) {
  cairn_ok({"graph", "add", write_file(graph["name"].get<std::string>() + ".json", graph.dump())});
}

TEST(ToolsElsewhere, F2_what_one_workers_settings_do_not_allow_is_left_to_one_whose_settings_do) {
  add(tool_graph("searches", "corpus_search", {{"corpus", "example"}, {"query", "market"}}));
  add(tool_graph("echoes", "echo", {{"x", 1}}));
  const std::string history =
      write_file("history.tsv",
                 "commit\tauthor\tdate\tadded\tdeleted\tpath\nc1\tann\t2026-01-02T03:04:05+00:00\t3\t1\tcore/a.c\n");
  add(tool_graph("owns", "owners", {{"repository", history}, {"path", "core"}}));
  const std::string narrow =
      write_file("narrow.json", R"({"builtin": {"allow": ["corpus_search", "owners"], "corpora": ["handbook"],
                                                "repositories": ["/srv/none"]}})");
  const Server server;
  Beside narrowed({"work", "--tools", narrow});
  EXPECT_TRUE(wait_until([&] { return is_on_record(server, narrowed); }));
  for (const char* graph : {"searches", "echoes", "owns"}) {
    const std::string run = started(server, graph, Json::object());
    cairn({"wait", run, "--timeout", "60s"});
    EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["cause"]["error"], "refused") << "no worker on record may";
  }
  Beside wide({"work"});
  EXPECT_TRUE(wait_until([&] { return is_on_record(server, wide); }));
  std::vector<std::string> all;
  for (int n = 0; n < 8; ++n)
    for (const char* graph : {"searches", "echoes", "owns"}) all.push_back(started(server, graph, Json::object()));
  for (const std::string& run : all) {
    cairn({"wait", run, "--timeout", "60s"});
    EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["status"], "done") << run;
  }
  bool is_told = false;
  for (const Json& row : cairn_ok({"workers", "--json"}).lines())
    is_told =
        is_told || (row["pid"] == narrowed.pid() && row["allows"].dump().find("corpus handbook") != std::string::npos &&
                    row["allows"].dump().find("repository /srv/none") != std::string::npos &&
                    row["tools"].dump().find("\"echo\"") == std::string::npos);
  EXPECT_TRUE(is_told) << "an operator sees which worker allows what";
  stop(narrowed);
  stop(wide);
}

}  // namespace
}  // namespace cairn::program
