// Other ways a run could have gone, as scripts see them: fork, move, lineage, diff, replay.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

// Two pure steps around a question: counts what it heard.
Json asking_graph(const std::string& name) {
  return Json::parse(R"({"name": ")" + name + R"(", "start": "note", "limits": {"steps": 20},
    "channels": {"log": {"reducer": "append"}},
    "nodes": {
      "note": {"do": "data.set", "with": {"set": {"log": ["noted"]}}, "on": {"ok": "ask"}},
      "ask": {"ask": {"kind": "question", "prompt": "Which region?", "schema": {"type": "string"}},
              "into": "region", "on": {"answered": "pick", "expired": "finish"}},
      "pick": {"do": "data.set", "with": {"set": {"picked": {"$": "region", "default": null}}}, "on": {"ok": "finish"}},
      "finish": {"end": {"status": "done", "output": {
        "region": {"$": "region", "default": null}, "picked": {"$": "picked", "default": null},
        "log": {"$": "log", "default": null}}}}}})");
}

std::string graph_file(const Json& graph, const std::string& name) {
  return write_file(name + ".json", graph.dump()).string();
}

std::string started(const std::string& graph) {
  const Json line = cairn_ok({"start", graph, "--wait", "--tag", "team=a", "--json"}).json();
  EXPECT_EQ(line["status"], "waiting") << line;
  return line["run"];
}

std::string answered(const std::string& run, const std::string& value) {
  cairn_ok({"answer", run, "--value", value});
  return run;
}

Json finished(const std::string& run) {
  const Json all = cairn_ok({"show", run, "--json"}).json();
  if (all["status"] == "done") return all;
  Beside worker({"work"});
  EXPECT_TRUE(wait_until(
      [&] {
        return cairn_ok({"show", run, "--json"}).json()["status"] == "done";
      },
      std::chrono::seconds(15)));
  return cairn_ok({"show", run, "--json"}).json();
}

std::string head_of(const std::string& run) {
  return std::to_string(cairn_ok({"show", run, "--json"}).json()["seq"].get<std::int64_t>());
}

// --- fork -----------------------------------------------------------------------------------------------------------

TEST(ForkCommand, goes_on_with_another_value_and_another_answer) {
  const std::string run = started(add_graph(asking_graph("forked")));
  const std::string at = head_of(run);
  const Json forked =
      cairn_ok({"fork", run, "--at", at, "--set", R"(log=["edited"])", "--answer", R"(q2="north")", "--tag", "team=b",
                "--tag", "why=test", "--reason", "The north is dry.", "--wait", "--json"})
          .json();
  EXPECT_EQ(forked["status"], "done");
  EXPECT_EQ(forked["output"], (Json{{"region", "north"}, {"picked", "north"}, {"log", {"edited"}}}));
  const std::string fork = forked["run"];
  const std::vector<Json> events = cairn_ok({"events", fork, "--json"}).lines();
  EXPECT_EQ(events[0]["forked_from"]["run"], run);
  EXPECT_EQ(events[0]["forked_from"]["seq"].dump(), at);
  EXPECT_EQ(events[0]["reason"], "The north is dry.");
  EXPECT_EQ(events[1]["type"], "channels_edited");
  EXPECT_NE(events[1]["actor"], "");
  const Json line = cairn_ok({"runs", "--where", "tag.why=test", "--json"}).lines().at(0);
  EXPECT_EQ(line["run"], fork);
  EXPECT_EQ(line["tags"], (Json{{"team", "b"}, {"why", "test"}}));
  EXPECT_EQ(line["forked_from"], (Json{{"run", run}, {"seq", std::stoi(at)}}));
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["status"], "waiting") << "the origin waits as it did";
  EXPECT_EQ(finished(answered(run, R"("south")"))["output"]["picked"], "south");
}

TEST(ForkCommand, goes_on_under_a_changed_graph_or_names_what_that_lacks) {
  Json graph = asking_graph("regraphed");
  const std::string run = started(add_graph(graph));
  const std::string at = head_of(run);
  const std::size_t graphs = cairn_ok({"graph", "list", "--json"}).lines().size();
  Json lacking = graph;
  lacking["nodes"]["inquire"] = lacking["nodes"]["ask"];
  lacking["nodes"].erase("ask");
  lacking["nodes"]["note"]["on"]["ok"] = "inquire";
  expect_refused(cairn({"fork", run, "--at", at, "--graph", graph_file(lacking, "lacking")}), 4, "lacks ask");
  expect_refused(cairn({"move", run, "--graph", graph_file(lacking, "lacking")}), 4, "lacks ask");
  EXPECT_EQ(cairn_ok({"graph", "list", "--json"}).lines().size(), graphs) << "nothing was written";

  graph["nodes"]["pick"]["with"]["set"]["picked"] = "always this";
  const Json forked = cairn_ok({"fork", run, "--at", at, "--answer", R"(q2="north")", "--graph",
                                graph_file(graph, "picky"), "--wait", "--json"})
                          .json();
  EXPECT_EQ(forked["output"]["picked"], "always this");
  EXPECT_EQ(cairn_ok({"start", "regraphed", "--json"}).exit, 0);
  EXPECT_NE(cairn_ok({"show", run, "--json"}).json()["version"],
            cairn_ok({"show", forked["run"], "--json"}).json()["version"]);
}

TEST(ForkCommand, of_a_failed_run_tries_again_with_what_was_edited) {
  add_graph(Json::parse(R"({"name": "checked", "start": "check", "limits": {"steps": 9}, "nodes": {
    "check": {"do": "tool.call", "with": {"tool": "$tool", "inputs": {"x": 1}}, "on": {"ok": "finish"}},
    "finish": {"end": "done"}}})"));
  const Json failed = cairn({"start", "checked", "--input", R"({"tool": "no_such_tool"})", "--wait", "--json"}).json();
  ASSERT_EQ(failed["status"], "failed") << failed;
  const std::string run = failed["run"];
  const Json forked =
      cairn_ok({"fork", run, "--at", head_of(run), "--set", R"(tool="echo")", "--wait", "--json"}).json();
  EXPECT_EQ(forked["status"], "done");
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["status"], "failed");
}

TEST(ForkCommand, refuses_what_cannot_be_and_writes_nothing) {
  const std::string run = started(add_graph(asking_graph("unforked")));
  const std::string at = head_of(run);
  const std::size_t runs = cairn_ok({"runs", "--json", "--limit", "1000"}).lines().size();
  expect_refused(cairn({"fork", nobody, "--at", "1"}), 3, nobody);
  expect_refused(cairn({"fork", run, "--at", "99"}), 4, "from 1 to " + at);
  expect_refused(cairn({"fork", run, "--at", "0"}), 2, "0");
  expect_refused(cairn({"fork", run}), 2, "--at");
  expect_refused(cairn({"fork", run, "--at", at, "--set", "log=7"}), 4, "channel log");
  expect_refused(cairn({"fork", run, "--at", at, "--set", "log"}), 2, "NAME=JSON");
  expect_refused(cairn({"fork", run, "--at", at, "--set", "a=1", "--set", "a=2"}), 2, "twice");
  expect_refused(cairn({"fork", run, "--at", at, "--answer", "q2=7"}), 4, "q2");
  expect_refused(cairn({"fork", run, "--at", at, "--answer", "q9=7"}), 3, "q9");
  expect_refused(cairn({"fork", run, "--at", at, "--graph", graph_file(Json{{"name", "x"}}, "broken")}), 4, "Expected");
  EXPECT_EQ(cairn_ok({"runs", "--json", "--limit", "1000"}).lines().size(), runs);
}

TEST(ForkCommand, refuses_a_channel_that_the_graph_does_not_have) {
  const std::string run = started(add_graph(asking_graph("channels")));
  const std::string at = head_of(run);
  expect_refused(cairn({"fork", run, "--at", at, "--set", "regoin=1"}), 4,
                 "a channel that graph channels has, but found regoin (did you mean region?)");
  expect_refused(cairn({"fork", run, "--at", at, "--set", "nosuch=1"}), 4, "but found nosuch.");
  cairn_ok({"fork", run, "--at", at, "--set", "picked=1"});
}

TEST(ForkCommand, with_an_edit_asks_an_open_question_as_it_is_now) {
  Json graph = asking_graph("asks_again");
  graph["nodes"]["ask"]["ask"] = {{"kind", "question"}, {"prompt", "One of {{log}}?"}, {"schema", {{"enum", "$log"}}}};
  const std::string run = started(add_graph(graph));
  const std::string at = head_of(run);
  const std::string fork = cairn_ok({"fork", run, "--at", at, "--set", R"(log=["north"])", "--json"}).json()["run"];
  const Json question = cairn_ok({"show", fork, "--json"}).json()["questions"][0];
  EXPECT_EQ(question["prompt"], "One of [\"north\"]?");
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["questions"][0]["prompt"], "One of [\"noted\"]?");
  expect_refused(cairn({"answer", fork, "--value", R"("noted")"}), 4, "q2");
  EXPECT_EQ(finished(answered(fork, R"("north")"))["output"]["region"], "north");
  const Arguments answered_at_once{"fork",          run,     "--at", at, "--set", R"(log=["north"])", "--answer",
                                   R"(q2="north")", "--json"};
  cairn_ok(answered_at_once);
  cairn_ok({"verify", fork});
  cairn_ok({"replay", fork, "--handlers"});
}

// A tool that keeps a list of its executions.
class CountingTool {
 public:
  explicit CountingTool(const std::string& name) : log_(directory() / (name + ".log")) {
    const std::string script =
        write_file(name + ".sh", "cat > /dev/null; echo x >> " + log_.string() + "; echo '{\"ok\": true}'\n");
    const Json tools = {{"tools", {{name, {{"exec", {"/bin/sh", script}}}}}}};
    setenv("CAIRN_TOOLS", write_file(name + ".tools", tools.dump()).c_str(), 1);
  }
  ~CountingTool() { unsetenv("CAIRN_TOOLS"); }
  CountingTool(const CountingTool&) = delete;
  CountingTool& operator=(const CountingTool&) = delete;

  std::int64_t executions() const {
    const std::string text = read_file(log_);
    return std::count(text.begin(), text.end(), 'x');
  }

 private:
  std::filesystem::path log_;
};

TEST(ForkCommand, that_is_recorded_calls_nothing_and_ends_where_it_goes_another_way) {
  const CountingTool tool("counted");
  add_graph(Json::parse(R"({"name": "counting", "start": "work", "limits": {"steps": 9}, "nodes": {
    "work": {"do": "tool.call", "with": {"tool": "counted", "inputs": {"x": "$x"}, "into": "came"},
             "on": {"ok": "finish", "error": "sorry"}},
    "sorry": {"end": {"status": "done", "output": "sorry"}},
    "finish": {"end": {"status": "done", "output": {"came": "$came"}}}}})"));
  const Json first = cairn_ok({"start", "counting", "--input", R"({"x": 1})", "--wait", "--json"}).json();
  const std::string run = first["run"];
  ASSERT_EQ(tool.executions(), 1);
  const Json again = cairn_ok({"fork", run, "--at", "1", "--recorded", "--wait", "--json"}).json();
  EXPECT_EQ(again["output"], first["output"]);
  EXPECT_EQ(tool.executions(), 1) << "the record answered";

  const Ran ran = cairn({"fork", run, "--at", "1", "--set", "x=2", "--recorded", "--wait", "--json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.json()["status"], "failed");
  EXPECT_NE(ran.json()["reason"].get<std::string>().find("(work) failed: diverged"), std::string::npos) << ran.out;
  EXPECT_EQ(tool.executions(), 1);
  const std::string diverged = ran.json()["run"];
  const Json live = cairn_ok({"fork", diverged, "--at", head_of(diverged), "--wait", "--json"}).json();
  EXPECT_EQ(live["status"], "done") << "from there it goes on live";
  EXPECT_EQ(tool.executions(), 2);
}

TEST(ForkCommand, that_is_recorded_takes_sub_goals_from_the_record_too) {
  const CountingTool tool("planned");
  const std::string plan = R"({"goal": "two", "sub_goals": [{"id": "a", "tool": "planned", "inputs": {"n": 1}},
    {"id": "b", "tool": "planned", "inputs": {"n": {"from_sub_goal": "a", "slot": "ok"}}},
    {"id": "c", "tool": "fail", "inputs": {"message": "no"}}]})";
  const Json first = cairn({"start", "plan_runner", "--input", plan, "--wait", "--json"}).json();
  ASSERT_EQ(tool.executions(), 2);
  const Json again = cairn({"fork", first["run"], "--at", "1", "--recorded", "--wait", "--json"}).json();
  EXPECT_EQ(again["output"], first["output"]);
  EXPECT_EQ(again["status"], first["status"]);
  EXPECT_EQ(tool.executions(), 2);
  cairn_ok({"replay", again["run"]});
  cairn_ok({"verify", again["run"]});
}

// The end was looked for on one page of events.
TEST(ForkCommand, names_the_end_of_a_commit_that_is_longer_than_a_page) {
  Json plan = {{"goal", "wide"}, {"sub_goals", Json::array()}};
  for (int n = 0; n < 2'300; ++n)
    plan["sub_goals"].push_back({{"id", std::to_string(n)}, {"tool", "echo"}, {"inputs", Json::object()}});
  const Json ran = cairn_ok({"start", "plan_runner", "--input", "@" + write_file("wide.json", plan.dump()).string(),
                             "--wait", "--json"})
                       .json();
  std::int64_t end = 0;
  for (const Json& event : cairn_ok({"events", ran["run"], "--json"}).lines())
    if (end == 0 && event["type"] == "step_succeeded") end = event["seq"];
  ASSERT_GT(end, 2'300);
  expect_refused(cairn({"fork", ran["run"], "--at", "5"}), 4, "are 1 and " + std::to_string(end) + ".");
}

TEST(ForkCommand, lineage_is_drawn_as_a_tree) {
  const std::string run = started(add_graph(asking_graph("rooted")));
  const std::string at = head_of(run);
  const std::string fork = cairn_ok({"fork", run, "--at", at, "--json"}).json()["run"];
  const std::string inner = cairn_ok({"fork", fork, "--at", "1", "--json"}).json()["run"];
  const std::string other = cairn_ok({"fork", run, "--at", at, "--json"}).json()["run"];
  for (const std::string& any : {run, inner, other}) {
    const std::string tree = cairn_ok({"runs", "--lineage", any}).out;
    EXPECT_NE(tree.find("\n" + run), std::string::npos) << tree;
    EXPECT_NE(tree.find("\n├─ " + fork), std::string::npos) << tree;
    EXPECT_NE(tree.find("\n│  └─ " + inner), std::string::npos) << tree;
    EXPECT_NE(tree.find("\n└─ " + other), std::string::npos) << tree;
    EXPECT_NE(tree.find("forked at event " + at), std::string::npos) << tree;
    EXPECT_EQ(tree.find("--limit"), std::string::npos) << "it is whole";
  }
  const std::string cut = cairn_ok({"runs", "--lineage", other, "--limit", "2"}).out;
  EXPECT_NE(cut.find("\n" + run), std::string::npos) << cut;
  EXPECT_NE(cut.find("\n└─ " + fork), std::string::npos) << cut;
  EXPECT_TRUE(cut.ends_with("\n2 of 4. All of them: --limit 4\n")) << cut;
  const Ran json = cairn_ok({"runs", "--lineage", other, "--limit", "2", "--json"});
  EXPECT_EQ(json.lines().size(), 2u);
  EXPECT_NE(json.err.find("cairn: 2 shown. The next ones: --after "), std::string::npos) << json.err;
}

// --- move -----------------------------------------------------------------------------------------------------------

TEST(MoveCommand, moves_those_that_fit_and_says_why_the_others_do_not) {
  Json graph = asking_graph("moving");
  add_graph(graph);
  const std::string waits = started("moving");
  const std::string ended = answered(started("moving"), R"("north")");
  finished(ended);
  graph["nodes"]["pick"]["with"]["set"]["picked"] = "moved";
  const std::string file = graph_file(graph, "moved");
  const std::string before = cairn_ok({"show", waits, "--json"}).json()["version"];
  const Ran dry = cairn({"move", "--where", "graph=moving", "--graph", file, "--dry-run", "--json"});
  EXPECT_EQ(dry.exit, 4);
  ASSERT_EQ(dry.lines().size(), 2u);
  for (const Json& line : dry.lines()) EXPECT_EQ(line.contains("refused"), line["run"] == ended) << line;
  EXPECT_NE(cairn_ok({"events", waits, "--json"}).lines().back()["type"], "run_moved");
  cairn({"move", "--where", "graph=moving", "--graph", file});
  EXPECT_EQ(cairn_ok({"events", waits, "--json"}).lines().back()["type"], "run_moved");
  const std::string version = cairn_ok({"show", waits, "--json"}).json()["version"];
  const std::string moved = "run_moved           from=" + before.substr(0, 12) + " to=" + version.substr(0, 12);
  EXPECT_NE(cairn_ok({"events", waits}).out.find(moved), std::string::npos) << cairn_ok({"events", waits}).out;
  EXPECT_EQ(finished(answered(waits, R"("north")"))["output"]["picked"], "moved");
  cairn_ok({"verify", waits});
}

// --- diff -----------------------------------------------------------------------------------------------------------

TEST(Diff, of_a_run_and_its_fork_begins_where_they_part) {
  const std::string run = started(add_graph(asking_graph("parted")));
  const std::string at = head_of(run);
  const std::string fork =
      cairn_ok({"fork", run, "--at", at, "--answer", R"(q2="north")", "--wait", "--json"}).json()["run"];
  finished(answered(run, R"("south")"));
  const Ran ran = cairn({"diff", run, fork, "--json"});
  EXPECT_EQ(ran.exit, 1);
  const Json diff = ran.json();
  EXPECT_EQ(diff["first"]["a"]["type"], "question_answered");
  EXPECT_EQ(diff["first"]["a"]["seq"], std::stoi(at) + 1);
  EXPECT_EQ(diff["first"]["b"]["seq"], 2);
  EXPECT_EQ(diff["channels"], (Json{{{"path", "/picked"}, {"a", "south"}, {"b", "north"}},
                                    {{"path", "/region"}, {"a", "south"}, {"b", "north"}}}));
  EXPECT_EQ(diff["same"], false);
  EXPECT_NE(cairn({"diff", run, fork}).out.find("First difference"), std::string::npos);
}

TEST(Diff, of_two_runs_that_went_the_same_way_is_empty) {
  add_graph(asking_graph("twins"));
  const std::string a = answered(started("twins"), R"("north")");
  const std::string b = answered(started("twins"), R"("north")");
  finished(a);
  finished(b);
  const Json diff = cairn_ok({"diff", a, b, "--json"}).json();
  EXPECT_EQ(diff["same"], true) << diff;
  EXPECT_EQ(diff["first"], nullptr);
  EXPECT_EQ(diff["channels"], Json::array());
}

TEST(Diff, of_two_moments_shows_what_came_between) {
  const std::string run = answered(started(add_graph(asking_graph("moments"))), R"("north")");
  finished(run);
  const Json diff = cairn({"diff", run, "--from", "1", "--to", "2", "--json"}).json();
  EXPECT_EQ(diff["first"]["b"]["seq"], 2);
  EXPECT_EQ(diff["channels"], (Json{{{"path", "/log"}, {"b", {"noted"}}}}));
  expect_refused(cairn({"diff", run}), 2, "--from");
  expect_refused(cairn({"diff", run, "--from", "99"}), 4, "99");
  expect_refused(cairn({"diff", run, nobody}), 3, nobody);
}

// --- replay ---------------------------------------------------------------------------------------------------------

TEST(Replay, under_the_same_graph_everything_comes_out_again) {
  add_graph(asking_graph("again"));
  const std::string run = answered(started("again"), R"("north")");
  finished(run);
  const Json report = cairn_ok({"replay", "--where", "graph=again", "--handlers", "--json"}).json();
  EXPECT_EQ(report["runs"], 1);
  EXPECT_EQ(report["same"], 1) << report;
  EXPECT_EQ(report["diverged"], 0);
  EXPECT_EQ(report["events"], cairn_ok({"show", run, "--json"}).json()["seq"]);
}

TEST(Replay, under_a_changed_graph_says_where_and_how_often_it_goes_another_way) {
  Json graph = asking_graph("changed");
  add_graph(graph);
  for (const char* region : {R"("north")", R"("south")"}) finished(answered(started("changed"), region));
  started("changed");  // waits: it has not come to where the graphs differ
  graph["nodes"]["ask"]["on"]["answered"] = "finish";
  graph["nodes"].erase("pick");
  const std::size_t graphs = cairn_ok({"graph", "list", "--json"}).lines().size();
  const Ran ran = cairn({"replay", "--where", "graph=changed", "--graph", graph_file(graph, "shorter"), "--json"});
  EXPECT_EQ(ran.exit, 1);
  const Json report = ran.json();
  EXPECT_EQ(report["runs"], 3);
  EXPECT_EQ(report["same"], 1) << report;
  EXPECT_EQ(report["diverged"], 2);
  ASSERT_EQ(report["divergences"].size(), 1u) << report;
  EXPECT_EQ(report["divergences"][0]["node"], "ask");
  EXPECT_EQ(report["divergences"][0]["type"], "step_succeeded");
  EXPECT_EQ(report["divergences"][0]["runs"], 2);
  EXPECT_EQ(cairn_ok({"graph", "list", "--json"}).lines().size(), graphs) << "nothing was written";
}

TEST(Replay, under_a_changed_graph_finds_handlers_of_data_whose_settings_are_other_ones) {
  Json graph = asking_graph("resettled");
  add_graph(graph);
  finished(answered(started("resettled"), R"("north")"));
  cairn_ok({"replay", "--where", "graph=resettled", "--graph", graph_file(graph, "resettled_same")});
  graph["nodes"]["pick"]["with"]["set"]["picked"] = "always this";
  const std::string file = graph_file(graph, "resettled_other");
  for (const Arguments& more : {Arguments{}, Arguments{"--handlers"}}) {
    Arguments arguments{"replay", "--where", "graph=resettled", "--graph", file, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = cairn(arguments);
    EXPECT_EQ(ran.exit, 1);
    EXPECT_EQ(ran.json()["divergences"][0]["node"], "pick") << ran.out;
    EXPECT_EQ(ran.json()["divergences"][0]["examples"][0]["again"], R"({"picked":"always this"})") << ran.out;
  }
  graph["nodes"]["pick"]["with"]["set"]["picked"] = "{{nobody_wrote_it}}";
  const Ran lacks =
      cairn({"replay", "--where", "graph=resettled", "--graph", graph_file(graph, "resettled_lacks"), "--json"});
  EXPECT_EQ(lacks.exit, 1);
  EXPECT_EQ(lacks.json()["divergences"][0]["node"], "pick") << "it would not find what it reads: " << lacks.out;
}

TEST(Replay, under_a_changed_graph_finds_a_failure_that_would_be_none) {
  Json graph = Json::parse(R"({"name": "summing", "start": "sum", "limits": {"steps": 9}, "nodes": {
    "sum": {"do": "data.compute", "with": {"set": {"total": {"sum": ["$price", 2]}}},
      "on": {"ok": "z", "error": "lost"}},
    "lost": {"end": "failed"}, "z": {"end": "done"}}})");
  add_graph(graph);
  EXPECT_EQ(cairn({"start", "summing", "--input", R"({"price": "free"})", "--wait"}).exit, 1);
  cairn_ok({"replay", "--where", "graph=summing", "--graph", graph_file(graph, "summing_same")});
  graph["nodes"]["sum"]["with"]["set"]["total"]["sum"] = {1, 2};
  const Ran ran =
      cairn({"replay", "--where", "graph=summing", "--graph", graph_file(graph, "summing_other"), "--json"});
  EXPECT_EQ(ran.exit, 1) << ran.out;
  EXPECT_EQ(ran.json()["divergences"][0]["node"], "sum");
}

TEST(Replay, refuses_what_is_not_there) {
  expect_refused(cairn({"replay", nobody}), 3, nobody);
  expect_refused(cairn({"replay"}), 2, "--all");
  expect_refused(cairn({"replay", "--all", "--graph", graph_file(Json{{"name", "x"}}, "no_graph")}), 4, "Expected");
}

}  // namespace
}  // namespace cairn::program
