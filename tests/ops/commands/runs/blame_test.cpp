// The blame of runs as scripts see it: one run, a step, an event, and the failures of many runs summed.
#include <gtest/gtest.h>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

// Two tools answer; the third step reads the second answer alone and fails.
Json blamed_graph(const std::string& name) {
  Json graph = Json::parse(R"({"name": "", "start": "first", "limits": {"steps": 9}, "nodes": {
    "first": {"do": "tool.call", "with": {"tool": "echo", "inputs": {"text": "tea"}, "into": "one"},
              "on": {"ok": "second", "error": "sorry"}},
    "second": {"do": "tool.call", "with": {"tool": "echo", "inputs": {"text": "$order"}, "into": "two"},
               "on": {"ok": "third", "error": "sorry"}},
    "third": {"do": "tool.call", "with": {"tool": "fail", "inputs": {"message": "No {{two/text}}."}},
              "on": {"ok": "over", "error": "sorry"}},
    "over": {"end": "done"},
    "sorry": {"end": {"status": "failed", "reason": "{{error/message}}"}}}})");
  graph["name"] = name;
  return graph;
}

std::string failed_run(const std::string& graph, const Json& input) {
  const Ran ran = cairn({"start", graph, "--wait", "--json", "--input", input.dump()});
  EXPECT_EQ(ran.exit, 1) << ran.err;
  return ran.json()["run"];
}

std::vector<std::string> places_of(const Json& blame) {
  std::vector<std::string> places;
  for (const Json& cause : blame["causes"])
    places.push_back(cause["kind"].get<std::string>() +
                     (cause["node"].is_null() ? "" : " " + cause["node"].get<std::string>()));
  return places;
}

TEST(BlameCommand, of_two_answers_the_one_that_was_read_is_named_with_what_it_gave) {
  add_graph(blamed_graph("blamed"));
  const std::string run = failed_run("blamed", {{"order", "milk"}, {"unused", 1}});
  const Json blame = cairn_ok({"blame", run, "--json"}).json();
  EXPECT_EQ(places_of(blame), (std::vector<std::string>{"tool third", "tool second", "input"})) << blame;
  EXPECT_EQ(blame["of"]["kind"], "end");
  EXPECT_EQ(blame["status"], "failed");
  const Json& second = blame["causes"][1];
  EXPECT_EQ(second["who"], "echo");
  EXPECT_EQ(second["outside"], true);
  EXPECT_EQ(second["says"], R"(Tool echo gave two = {"text":"milk"} and left by ok.)");
  EXPECT_EQ(second["leads_to"][0]["how"], "channel");
  EXPECT_EQ(second["leads_to"][0]["name"], "two");
  EXPECT_EQ(second["leads_to"][0]["seq"], blame["causes"][0]["seq"]);
  EXPECT_EQ(blame["causes"][2]["says"], R"(The input gave order = "milk".)");
  const std::string text = cairn_ok({"blame", run}).out;
  EXPECT_NE(text.find("Tool fail failed: "), std::string::npos) << text;
  EXPECT_NE(text.find("tool *"), std::string::npos) << text;
  EXPECT_EQ(text.find("first"), std::string::npos) << "it did not matter: " << text;
}

TEST(BlameCommand, a_step_or_an_event_is_explained_in_place_of_the_end) {
  add_graph(blamed_graph("blamed_step"));
  const std::string run = failed_run("blamed_step", {{"order", "milk"}});
  const Json step = cairn_ok({"blame", run, "--step", "2", "--json"}).json();
  EXPECT_EQ(places_of(step), (std::vector<std::string>{"input"}));
  EXPECT_EQ(step["of"]["node"], "second");
  const std::string seq = step["of"]["seq"].dump();
  EXPECT_EQ(cairn_ok({"blame", run, "--seq", seq, "--json"}).json(), step);
  const Json one = cairn_ok({"blame", run, "--limit", "1", "--json"}).json();
  EXPECT_EQ(one["causes"].size(), 1u);
  EXPECT_EQ(one["left_out"], 2);
}

TEST(BlameCommand, the_failures_of_many_runs_are_summed_by_node_and_kind) {
  add_graph(blamed_graph("blamed_often"));
  for (const char* order : {"milk", "sugar"}) failed_run("blamed_often", {{"order", order}});
  Json well = blamed_graph("blamed_well");
  well["nodes"]["third"]["with"]["tool"] = "echo";
  add_graph(well);
  cairn_ok({"start", "blamed_well", "--wait", "--input", R"({"order": "milk"})"});
  const Json report = cairn_ok({"blame", "--where", "graph=blamed_often", "--json"}).json();
  EXPECT_EQ(report["failed"], 2);
  ASSERT_EQ(report["causes"].size(), 3u) << report;
  EXPECT_EQ(report["causes"][0]["node"], "third");
  EXPECT_EQ(report["causes"][1]["node"], "second");
  EXPECT_EQ(report["causes"][1]["kind"], "tool");
  EXPECT_EQ(report["causes"][1]["runs"], 2);
  EXPECT_EQ(report["causes"][1]["certain"], 2);
  EXPECT_EQ(report["causes"][1]["examples"].size(), 2u);
  const Json others = cairn_ok({"blame", "--where", "graph=blamed_well", "--json"}).json();
  EXPECT_EQ(others["others"], 1);
  EXPECT_TRUE(others["causes"].empty());
  EXPECT_NE(cairn_ok({"blame", "--where", "graph=blamed_often"}).out.find("second"), std::string::npos);
}

TEST(BlameCommand, refuses_what_is_not_there) {
  expect_refused(cairn({"blame", nobody}), 3, nobody);
  expect_refused(cairn({"blame"}), 2, "--all");
  expect_refused(cairn({"blame", "--all", "--step", "1"}), 2, "Expected one run");
  cairn_ok({"graph", "add", write_file("blamed_ask.json", ask_graph("blamed_ask"))});
  const std::string waiting = cairn_ok({"start", "blamed_ask", "--no-work", "--json"}).json()["run"];
  expect_refused(cairn({"blame", waiting}), 4, "has not ended");
  expect_refused(cairn({"blame", waiting, "--step", "99"}), 4, "99");
}

TEST(BlameCommand, a_history_that_cannot_be_read_is_refused_in_one_sentence) {
  add_graph(blamed_graph("blamed_broken"));
  const std::string run = failed_run("blamed_broken", {{"order", "milk"}});
  PgConnection({owner_dsn(), "test", false})
      .execute("UPDATE cairn.event SET step = 77 WHERE seq = 3 AND run_id = '" + run + "'");
  expect_refused(cairn({"blame", run}), 4, "Expected event 3 of run " + run + " to follow");
  const Json report = cairn_ok({"blame", "--where", "graph=blamed_broken", "--json"}).json();
  EXPECT_EQ(report["unreadable"], 1) << report;
  EXPECT_EQ(report["faults"][0]["run"], run);
}

}  // namespace
}  // namespace cairn::program
