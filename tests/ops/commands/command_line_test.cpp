// The command line as scripts see it: JSON shapes, exit codes, one sentence for each refusal.
#include <gtest/gtest.h>
#include <set>

#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

bool has_keys(const Json& object, const std::set<std::string>& keys) {
  const std::set<std::string> found = keys_of(object);
  return std::includes(found.begin(), found.end(), keys.begin(), keys.end());
}

std::string add_ask_graph(const std::string& name) {
  cairn_ok({"graph", "add", write_file(name + ".json", ask_graph(name))});
  return name;
}

// A run that waits for the answer to its question.
std::string waiting_run(const std::string& graph) {
  const Json started = cairn_ok({"start", add_ask_graph(graph), "--wait", "--json"}).json();
  EXPECT_EQ(started["status"], "waiting");
  return started["run"];
}

const std::string echo_plan = R"({"goal": "say", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"x": 1}},)"
                              R"({"id": "b", "tool": "echo", "inputs": {"y": {"from_sub_goal": "a", "slot": "x"}}}]})";

// --- help and usage --------------------------------------------------------------------------------------------------

TEST(CommandLine, help_is_everywhere) {
  for (const char* command : {"up", "down", "migrate", "work", "start", "batch", "runs", "show", "events", "plan",
                              "answer", "cancel", "queue", "workers", "bench", "graph"}) {
    const Ran ran = cairn_ok({command, "--help"});
    EXPECT_NE(ran.out.find("Usage: "), std::string::npos) << command;
    EXPECT_NE(ran.out.find(command), std::string::npos) << command;
    EXPECT_NE(cairn({"--help"}).out.find(std::string("  ") + command), std::string::npos) << command;
  }
  EXPECT_EQ(cairn_ok({"--version"}).out.substr(0, 6), "cairn ");
}

TEST(CommandLine, what_is_no_command_is_usage) {
  expect_refused(cairn({}), 2, "--help");
  expect_refused(cairn({"juggle"}), 2, "juggle");
  expect_refused(cairn({"show"}), 2, "RUN");
  expect_refused(cairn({"start"}), 2, "GRAPH");
  expect_refused(cairn({"graph", "check", "one.json", "two.json"}), 2,
                 "Expected nothing more after the arguments of `cairn graph check`, but found two.json");
  expect_refused(cairn({"work", "--queue", ""}), 2, "Expected the name of a queue, but it is empty.");
  expect_refused(cairn({"up", "--listen", "here"}), 2, "Expected an address");
  expect_refused(cairn({"start", "plan_runner", "--timeout", "5s"}), 2,
                 "Expected --wait with --timeout, but found none");  // it limited nothing
  expect_refused(cairn({"runs", "--status", "sleeping"}), 2, "sleeping");
  expect_refused(cairn({"runs", "--since", "yesterday"}), 2, "yesterday");
  expect_refused(cairn({"show", nobody, "--at", "noon"}), 2, "noon");
  expect_refused(cairn({"start", "plan_runner", "--tag", "untagged"}), 2, "untagged");
  expect_refused(cairn({"start", "plan_runner", "--options", R"({"speed": 3})"}), 2, "speed");
}

TEST(CommandLine, broken_json_is_usage_and_writes_nothing) {
  const std::size_t before = cairn_ok({"runs", "--json"}).lines().size();
  expect_refused(cairn({"start", "plan_runner", "--input", R"({"goal": )"}), 2, "the input");
  expect_refused(cairn({"start", "plan_runner", "--input", "[1]"}), 2, "the input");
  expect_refused(cairn({"start", "plan_runner", "--input", "@-"}, "{\"a\": 1} x"), 2, "the input");
  expect_refused(cairn({"start", "plan_runner", "--input", "@" + (directory() / "none").string()}), 2,
                 "cannot be read");
  expect_refused(cairn({"answer", nobody, "--value", "north"}), 2, "the answer");
  expect_refused(cairn({"graph", "add", write_file("broken.json", "{\"name\":}")}), 2, "the graph");
  EXPECT_EQ(cairn_ok({"runs", "--json"}).lines().size(), before);
}

// --- the database ----------------------------------------------------------------------------------------------------

TEST(CommandLine, a_database_that_is_not_there_is_unavailable) {
  const std::string dsn = "host=" + (directory() / "nowhere").string() + " dbname=none";
  expect_refused(cairn({"runs", "--dsn", dsn}), 5, "");
  expect_refused(cairn({"down", "--data", (directory() / "never").string()}), 3, "");
}

TEST(CommandLine, the_embedded_database_is_migrated_by_the_first_command) {
  cairn_ok({"runs"});
  const Json report = cairn_ok({"migrate", "--json"}).json();
  EXPECT_EQ(report["from"], report["to"]);
  EXPECT_EQ(report["shards"], 1);
  expect_refused(cairn({"migrate", "--shards", "4"}), 4, "shards");
}

// --- start, show, events, plan ---------------------------------------------------------------------------------------

TEST(CommandLine, a_run_is_started_executed_and_shown) {
  const Json ended = cairn_ok({"start", "plan_runner", "--input", echo_plan, "--wait", "--json"}).json();
  EXPECT_EQ(keys_of(ended),
            (std::set<std::string>{"run", "status", "reason", "cause", "output", "events", "questions"}));
  EXPECT_EQ(ended["status"], "done");
  EXPECT_EQ(ended["output"]["results"]["b"]["y"], 1);
  const std::string run = ended["run"];

  const std::vector<Json> events = cairn_ok({"events", run, "--json"}).lines();
  ASSERT_EQ(events.size(), ended["events"].get<std::size_t>());
  EXPECT_EQ(events.front()["type"], "run_started");
  EXPECT_EQ(events.front()["graph"], "plan_runner");
  EXPECT_EQ(events.back()["type"], "run_finished");
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["seq"], i + 1);
    EXPECT_TRUE(has_keys(events[i], {"run", "seq", "type", "at"})) << events[i];
  }
  EXPECT_EQ(cairn_ok({"events", run, "--from", "3", "--json"}).lines().front()["seq"], 3);

  const Json shown = cairn_ok({"show", run, "--json"}).json();
  EXPECT_TRUE(has_keys(shown, {"run", "graph", "status", "seq", "channels", "steps", "plan", "budgets", "questions",
                               "reason", "output"}));
  EXPECT_EQ(shown["output"], ended["output"]);
  const Json plan = cairn_ok({"plan", run, "--json"}).json();
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0]["status"], "succeeded");
  EXPECT_NE(cairn_ok({"plan", run}).out.find("└─ b  succeeded"), std::string::npos);
}

TEST(CommandLine, a_run_is_shown_as_of_any_moment) {
  const Json ended = cairn_ok({"start", "plan_runner", "--input", echo_plan, "--wait", "--json"}).json();
  const std::string run = ended["run"];
  const Json first = cairn_ok({"show", run, "--at", "1", "--json"}).json();
  EXPECT_EQ(first["seq"], 1);
  EXPECT_EQ(first["status"], "running");
  EXPECT_FALSE(first.contains("output"));
  const std::vector<Json> events = cairn_ok({"events", run, "--json"}).lines();
  const Json last = cairn_ok({"show", run, "--at", events.back()["at"], "--json"}).json();
  EXPECT_EQ(last["status"], "done");
  expect_refused(cairn({"show", run, "--at", "1000"}), 4, "1000");
}

TEST(CommandLine, a_failed_run_is_exit_1) {
  const std::string plan =
      R"({"goal": "fail", "sub_goals": [{"id": "a", "tool": "fail", "inputs": {"message": "no"}}]})";
  const Ran ran = cairn({"start", "plan_runner", "--input", plan, "--wait", "--json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.json()["status"], "failed");
}

TEST(CommandLine, an_unknown_tool_is_said_of_its_sub_goal) {
  const std::string plan = R"({"goal": "x", "sub_goals": [{"id": "a", "tool": "no_such_tool", "inputs": {}}]})";
  const Ran ran = cairn({"start", "plan_runner", "--input", plan, "--wait", "--json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.json()["output"]["failed"]["a"].dump().find("no_such_tool"), std::string::npos) << ran.out;
}

TEST(CommandLine, unknown_names_are_not_found) {
  expect_refused(cairn({"start", "no_such_graph"}), 3, "no_such_graph");
  expect_refused(cairn({"graph", "show", "no_such_graph"}), 3, "no_such_graph");
  expect_refused(cairn({"graph", "show", "plan_runer"}), 3, "(did you mean plan_runner?)");
  for (const char* command : {"show", "events", "plan"}) {
    expect_refused(cairn({command, nobody}), 3, nobody);
    expect_refused(cairn({command, "no-such-run"}), 3, "no-such-run");
  }
  expect_refused(cairn({"cancel", nobody}), 3, nobody);
  expect_refused(cairn({"answer", nobody, "--value", "1"}), 3, nobody);
  expect_refused(cairn({"start", "plan_runner", "--continues", nobody}), 3, nobody);
}

TEST(CommandLine, a_key_gives_the_same_run_again) {
  const std::string graph = add_ask_graph("keyed");
  const std::string run = cairn_ok({"start", graph, "--key", "k1", "--json"}).json()["run"];
  EXPECT_EQ(cairn_ok({"start", graph, "--key", "k1", "--json"}).json()["run"], run);
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["key"], "k1");
  EXPECT_NE(cairn_ok({"show", run}).out.find("Key k1"), std::string::npos);
  expect_refused(cairn({"start", graph, "--key", "k1", "--input", R"({"a": 1})"}), 4, run);
}

TEST(CommandLine, runs_are_found_by_graph_status_and_tag) {
  const std::string graph = add_ask_graph("tagged");
  const std::string run =
      cairn_ok({"start", graph, "--tag", "team=a=b", "--tag", "x=y", "--wait", "--json"}).json()["run"];
  const std::vector<Json> found = cairn_ok({"runs", "--graph", graph, "--tag", "team=a=b", "--json"}).lines();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["run"], run);
  EXPECT_EQ(found[0]["status"], "waiting");
  EXPECT_EQ(cairn_ok({"runs", "--graph", graph, "--status", "waiting", "--json"}).lines().size(), 1u);
  EXPECT_EQ(cairn_ok({"runs", "--graph", graph, "--status", "done", "--json"}).lines().size(), 0u);
  EXPECT_EQ(cairn_ok({"runs", "--graph", graph, "--tag", "team=b", "--json"}).lines().size(), 0u);
}

// --- questions -------------------------------------------------------------------------------------------------------

TEST(CommandLine, a_question_is_answered_once_and_by_its_schema) {
  const std::string run = waiting_run("asked");
  const Json shown = cairn_ok({"show", run, "--json"}).json();
  ASSERT_EQ(shown["questions"].size(), 1u);
  const std::string question = shown["questions"][0]["id"];
  expect_refused(cairn({"answer", run, "--value", "7"}), 4, "");
  expect_refused(cairn({"answer", run, "--question", "q99", "--value", "\"north\""}), 3, "q99");
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["questions"].size(), 1u);
  const Json answered =
      cairn_ok({"answer", run, "--question", question, "--value", "\"north\"", "--by", "ann", "--json"}).json();
  EXPECT_EQ(answered["question"], question);
  expect_refused(cairn({"answer", run, "--question", question, "--value", "\"south\""}), 4, "");
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["output"]["region"], "north");
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines()) {
    EXPECT_TRUE(event["type"] != "question_answered" || event["by"] == "ann") << event;
  }
}

TEST(CommandLine, a_question_too_long_for_its_event_is_shown_like_any_other) {
  Json graph = Json::parse(ask_graph("wordy"));
  graph["nodes"]["region"]["ask"]["prompt"] = "$text";
  cairn_ok({"graph", "add", write_file("wordy.json", graph.dump())});
  const std::string text = "Which region? " + std::string(40'000, '.');
  const std::string input = Json{{"text", text}}.dump();
  const Json started = cairn_ok({"start", "wordy", "--input", input, "--wait", "--json"}).json();
  EXPECT_EQ(started["questions"][0]["prompt"], text);
  for (const std::string& shown :
       {cairn_ok({"start", "wordy", "--input", input, "--wait"}).out, cairn_ok({"show", started["run"]}).out}) {
    EXPECT_NE(shown.find("(question)  Which region? ..."), std::string::npos) << shown.substr(0, 2000);
    EXPECT_EQ(shown.find("$blob"), std::string::npos) << shown.substr(0, 2000);
  }
  EXPECT_NE(cairn_ok({"explain", started["run"]}).out.find("waits for an answer: \"Which region? ..."),
            std::string::npos)
      << cairn_ok({"explain", started["run"]}).out;
}

TEST(CommandLine, an_autonomous_run_asks_nobody) {
  const Json ended =
      cairn_ok({"start", add_ask_graph("alone"), "--options", R"({"autonomy": "full"})", "--wait", "--json"}).json();
  EXPECT_EQ(ended["status"], "done");
  EXPECT_EQ(ended["questions"].size(), 0u);
}

TEST(CommandLine, a_cancelled_run_is_aborted_with_the_reason) {
  const std::string run = waiting_run("cancelled");
  EXPECT_EQ(cairn_ok({"cancel", run, "--reason", "not needed", "--json"}).json()["status"], "aborted");
  const Json shown = cairn_ok({"show", run, "--json"}).json();
  EXPECT_EQ(shown["status"], "aborted");
  EXPECT_EQ(shown["reason"], "not needed");
  expect_refused(cairn({"cancel", run}), 4, "");
  expect_refused(cairn({"answer", run, "--value", "\"north\""}), 4, "");
}

// --- batch -----------------------------------------------------------------------------------------------------------

TEST(CommandLine, a_batch_starts_nothing_twice) {
  std::string lines;
  for (int i = 0; i < 12; ++i)
    lines +=
        R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"i": )" + std::to_string(i) + "}}]}\n";
  const std::string inputs = write_file("batch.jsonl", lines + "\n");
  const std::string out = directory() / "batch.out";
  cairn_ok({"batch", "plan_runner", "--inputs", inputs, "--out", out, "--wait"});
  const std::string first = read_file(out);
  std::istringstream text(first);
  int count = 0;
  for (std::string line; std::getline(text, line); ++count) {
    const Json result = Json::parse(line);
    EXPECT_EQ(keys_of(result), (std::set<std::string>{"line", "run", "status", "reason", "cause", "output"}));
    EXPECT_EQ(result["line"], count + 1);
    EXPECT_EQ(result["status"], "done");
    EXPECT_EQ(result["output"]["results"]["a"]["i"], count);
  }
  EXPECT_EQ(count, 12);
  const std::size_t runs = cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size();
  cairn_ok({"batch", "plan_runner", "--inputs", inputs, "--out", out, "--wait"});
  EXPECT_EQ(read_file(out), first);
  EXPECT_EQ(cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size(), runs);
}

TEST(CommandLine, the_runs_of_a_batch_have_the_tags_that_are_given) {
  const std::string line = R"({"goal": "tagged", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {}}]})";
  const std::string inputs = write_file("tagged.jsonl", line + "\n" + line + "\n");
  cairn_ok({"batch", "plan_runner", "--inputs", inputs, "--tag", "customer=acme", "--tag", "day=monday"});
  const std::vector<Json> rows = cairn_ok({"runs", "--tag", "customer=acme", "--tag", "day=monday", "--json"}).lines();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0]["tags"].contains("batch"));
  expect_refused(cairn({"batch", "plan_runner", "--inputs", inputs, "--tag", "batch=mine"}), 4, "batch, which");
}

TEST(CommandLine, a_batch_with_a_bad_line_is_refused_whole) {
  const std::size_t runs = cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size();
  const std::string inputs = write_file("bad.jsonl", "{\"goal\": \"g\", \"sub_goals\": []}\n\n{\"goal\": \n");
  expect_refused(cairn({"batch", "plan_runner", "--inputs", inputs}), 2, "line 3");
  expect_refused(cairn({"batch", "plan_runner", "--inputs", write_file("list.jsonl", "{}\n[]\n")}), 2, "line 2");
  expect_refused(cairn({"batch", "no_such_graph", "--inputs", write_file("one.jsonl", "{}\n")}), 3, "no_such_graph");
  EXPECT_EQ(cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size(), runs);
}

// --- graphs ----------------------------------------------------------------------------------------------------------

TEST(CommandLine, graphs_are_listed_shown_and_drawn) {
  std::set<std::string> names;
  for (const Json& graph : cairn_ok({"graph", "list", "--json"}).lines()) names.insert(graph["name"]);
  EXPECT_TRUE(names.contains("plan_runner"));
  EXPECT_TRUE(names.contains("seven_node"));
  EXPECT_EQ(cairn_ok({"graph", "show", "plan_runner", "--json"}).json()["name"], "plan_runner");
  EXPECT_EQ(Json::parse(cairn_ok({"graph", "show", "plan_runner"}).out)["start"], "open");
  EXPECT_NE(cairn_ok({"graph", "show", "seven_node", "--format", "mermaid"}).out.find("guardrail"), std::string::npos);
  EXPECT_NE(cairn_ok({"graph", "show", "seven_node", "--format", "dot"}).out.find("digraph"), std::string::npos);
  const Ran picture = cairn({"graph", "show", "seven_node", "--format", "svg"});
  if (picture.exit == 0)
    EXPECT_NE(picture.out.find("<svg"), std::string::npos);
  else
    expect_refused(picture, 4, "graphviz");
}

TEST(CommandLine, each_fault_of_a_graph_is_told_and_a_faulty_one_is_not_added) {
  Json graph = Json::parse(ask_graph("faulty"));
  graph.erase("limits");
  graph["nodes"]["region"]["on"]["answered"] = "nowhere";
  const std::string file = write_file("faulty.json", graph.dump());
  const Ran checked = cairn({"graph", "check", file, "--json"});
  EXPECT_EQ(checked.exit, 1);
  EXPECT_GE(checked.json()["faults"].size(), 2u);
  expect_refused(cairn({"graph", "add", file}), 4, "");
  expect_refused(cairn({"graph", "show", "faulty"}), 3, "faulty");
  EXPECT_EQ(cairn_ok({"graph", "check", write_file("good.json", ask_graph("good")), "--json"}).json()["ok"], true);
}

// --- workers ---------------------------------------------------------------------------------------------------------

TEST(CommandLine, a_worker_executes_what_is_queued_and_drains) {
  Beside worker({"work", "--json"});
  ASSERT_TRUE(wait_until([&] { return worker.out().find('\n') != std::string::npos; }));
  EXPECT_EQ(Json::parse(worker.out())["ready"], true);
  const Json ended = cairn_ok({"start", "plan_runner", "--input", echo_plan, "--wait", "--no-work", "--json"}).json();
  EXPECT_EQ(ended["status"], "done");
  EXPECT_FALSE(cairn_ok({"workers", "--json"}).lines().empty());
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_NE(worker.out().find("\"done\":true"), std::string::npos) << worker.out();
  for (const Json& session : cairn_ok({"workers", "--json"}).lines()) EXPECT_NE(session["pid"], worker.pid());
}

TEST(CommandLine, the_queue_shows_what_is_ready) {
  const std::string run = cairn_ok({"start", "plan_runner", "--input", echo_plan, "--json"}).json()["run"];
  std::int64_t ready = 0;
  for (const Json& queue : cairn_ok({"queue", "--json"}).lines()) ready += queue["ready"].get<std::int64_t>();
  EXPECT_GE(ready, 1);
  cairn_ok({"cancel", run});
}

TEST(CommandLine, a_queue_is_limited_paused_and_freed) {
  const auto line = [](const std::string& name) {
    for (const Json& queue : cairn_ok({"queue", "--json"}).lines())
      if (queue["queue"] == name) return queue;
    return Json(nullptr);
  };
  EXPECT_TRUE(line("narrow").is_null());
  const Json set = cairn_ok({"queue", "set", "narrow", "--concurrency", "3", "--pause", "--json"}).json();
  EXPECT_EQ(set["queue"], "narrow");
  EXPECT_EQ(set["concurrency"], 3);
  EXPECT_EQ(set["paused"], true);
  EXPECT_EQ(line("narrow")["concurrency"], 3);
  EXPECT_EQ(line("narrow")["paused"], true);
  EXPECT_EQ(cairn_ok({"queue", "set", "narrow", "--resume", "--json"}).json()["concurrency"], 3);
  EXPECT_NE(cairn_ok({"queue"}).out.find("narrow"), std::string::npos);
  cairn_ok({"queue", "set", "narrow", "--concurrency", "none"});
  EXPECT_TRUE(line("narrow").is_null()) << "as if it had never been set";
}

TEST(CommandLine, a_queue_setting_that_makes_no_sense_is_refused) {
  expect_refused(cairn({"queue", "set", "narrow"}), 2, "--concurrency");
  expect_refused(cairn({"queue", "set", "narrow", "--concurrency", "0"}), 2, "concurrency");
  expect_refused(cairn({"queue", "set", "narrow", "--concurrency", "many"}), 2, "many");
  expect_refused(cairn({"queue", "set", "narrow", "--pause", "--resume"}), 2, "--resume");
  expect_refused(cairn({"queue", "set", "cairn.timer", "--pause"}), 4, "cairn.timer");
}

TEST(CommandLine, up_runs_workers_until_it_is_told_to_stop) {
  Beside up({"up", "--workers", "2"});
  const Json ended = cairn_ok({"start", "plan_runner", "--input", echo_plan, "--wait", "--no-work", "--json"}).json();
  EXPECT_EQ(ended["status"], "done");
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
}

// The first command of a process was decided before any time was known, and run_started carried the year 1970.
TEST(CommandLine, the_first_command_of_a_process_has_the_databases_time) {
  const std::string run = cairn_ok({"start", "plan_runner", "--input", echo_plan, "--json"}).json()["run"];
  EXPECT_GT(cairn_ok({"events", run, "--json"}).lines()[0]["at"].get<std::string>(), "2020");
}

// A signal between fork and exec met the parent's handler in the child, was lost, and `up` waited for ever.
TEST(CommandLine, up_told_to_stop_while_it_starts_its_workers_stops_them_all) {
  for (int round = 0; round < 10; ++round) {
    Beside up({"up", "--workers", "4"});
    ASSERT_TRUE(wait_until([&] { return up.out().find("Workers") != std::string::npos; }));
    up.signal(SIGTERM);
    ASSERT_EQ(up.wait(), 0) << "round " << round;
  }
}

TEST(CommandLine, following_events_ends_with_the_run) {
  const std::string run = waiting_run("followed");
  Beside follower({"events", run, "--follow", "--json"});
  ASSERT_TRUE(wait_until([&] { return follower.out().find("question_asked") != std::string::npos; }));
  cairn_ok({"answer", run, "--value", "\"east\""});
  EXPECT_EQ(follower.wait(), 0);
  EXPECT_NE(follower.out().find("run_finished"), std::string::npos);
}

TEST(CommandLine, a_bad_tools_file_is_refused_with_a_sentence) {
  const std::string tools = write_file("bad_tools.json", R"({"tools": {"x": {"exec": "not a list"}}})");
  expect_refused(cairn({"start", "plan_runner", "--input", echo_plan, "--tools", tools}), 2, "x");
  expect_refused(cairn({"work", "--tools", (directory() / "none.json").string()}), 2, "none.json");
}

}  // namespace
}  // namespace cairn::program
