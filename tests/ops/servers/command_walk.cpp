#include "tests/ops/servers/command_walk.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

constexpr const char* walked_callee = R"({"name": "walked_callee", "start": "finish", "limits": {"steps": 9}, "nodes": {
    "finish": {"end": "done"}}})";
constexpr const char* walked_caller = R"({"name": "walked_caller", "start": "call", "limits": {"steps": 9}, "nodes": {
    "call": {"call": "walked_callee", "on": {"done": "finish", "failed": "finish"}}, "finish": {"end": "done"}}})";
constexpr const char* walked_plan = R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"x": 1}}]})";

std::string start_walked(const std::string& graph, const Arguments& more = {}) {
  Arguments arguments = {"start", graph, "--wait", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn_ok(arguments).json().at("run");
}
std::string start_tagged_walk(const std::string& tag) {
  return start_walked("plan_runner", {"--input", walked_plan, "--tag", tag});
}
std::string walked_status(const std::string& run) { return cairn_ok({"show", run, "--json"}).json().at("status"); }
bool walk_ends(const std::string& run) {
  return wait_until([&] { return walked_status(run) == "done"; });
}

// Starts, batches, calls, forks and answers; returns a run that has ended.
std::string walk_runs() {
  cairn_ok({"graph", "add", write_file("walked_ask.json", ask_graph("walked_ask"))});
  for (const char* graph : {walked_callee, walked_caller})
    cairn_ok({"graph", "add", write_file("walked_graph.json", graph)});
  const std::string run = start_tagged_walk("walk=kept");
  EXPECT_TRUE(walk_ends(run));
  std::string inputs;
  for (int n = 0; n < 20; ++n) inputs += walked_plan + std::string("\n");
  cairn_ok({"queue", "set", "default", "--concurrency", "4"});
  cairn_ok({"batch", "plan_runner", "--inputs", write_file("walked.jsonl", inputs), "--wait", "--json"});
  cairn_ok({"queue", "set", "default", "--concurrency", "none"});
  EXPECT_TRUE(walk_ends(start_walked("walked_caller")));
  const std::string asking = start_walked("walked_ask");
  const std::string head = std::to_string(cairn_ok({"events", asking, "--json"}).lines().size());
  const std::string fork = cairn_ok({"fork", asking, "--at", head, "--json"}).json().at("run");
  for (const std::string& one : {asking, fork}) {
    EXPECT_TRUE(wait_until([&] { return walked_status(one) == "waiting"; }));
    cairn_ok({"answer", one, "--value", "\"north\""});
    EXPECT_TRUE(walk_ends(one));
  }
  return run;
}

void walk_lists(const std::string& run) {
  for (const Arguments& arguments : {Arguments{"runs", "--where", "tag.walk=kept"},
                                     {"show", run, "--at", "2"},
                                     {"plan", run},
                                     {"explain", run},
                                     {"report"},
                                     {"questions"},
                                     {"queue"},
                                     {"queue", "history", "default"},
                                     {"workers"},
                                     {"graph", "list"},
                                     {"verify", "--all"},
                                     {"rebuild", "--check"},
                                     {"migrate", "--check"},
                                     {"migrate"}})
    cairn_ok(arguments);
  const Ran doctor = cairn({"doctor", "--json"});
  EXPECT_FALSE(doctor.json().at("checks").empty()) << doctor.err;
}

void walk_consumers(const std::string& run) {
  cairn_ok({"feed", "add", "walked"});
  EXPECT_NE(cairn_ok({"feed", "read", "walked", "--json", "--confirm"}).out.find(run), std::string::npos);
  cairn_ok({"feed", "list"});
  cairn_ok({"feed", "remove", "walked"});
  cairn_ok({"hook", "add", "walked", "--url", "http://127.0.0.1:9/in", "--on", "failed", "--private"});
  cairn_ok({"hook", "list"});
  cairn_ok({"hook", "remove", "walked"});
  cairn_ok({"schedule", "add", "walked", "--graph", "plan_runner", "--input", walked_plan, "--every", "1h"});
  cairn_ok({"schedule", "list"});
  cairn_ok({"schedule", "remove", "walked"});
  cairn_ok({"token", "add", "walked", "--role", "read"});
  cairn_ok({"token", "list"});
  cairn_ok({"token", "revoke", "walked"});
}

// Out of the database and back, and out of it for good.
void walk_removals(const std::string& run) {
  const std::string exported = write_file("walked_export.jsonl", cairn_ok({"export", run}).out);
  EXPECT_EQ(cairn_ok({"verify", "--file", exported, "--json"}).json().at("runs"), 1);
  const std::string archived = start_tagged_walk("walk=archived");
  EXPECT_TRUE(walk_ends(archived));
  const std::string file = directory() / "walked_archive.jsonl";
  EXPECT_EQ(cairn_ok({"archive", "--older-than", "0s", "--where", "tag.walk=archived", "--out", file, "--json"})
                .json()
                .at("removed"),
            1);
  expect_refused(cairn({"show", archived}), 3, archived);
  cairn_ok({"import", file});
  EXPECT_EQ(walked_status(archived), "done");
  EXPECT_EQ(cairn_ok({"erase", "--where", "tag.walk=archived", "--json"}).json().at("removed"), 1);
  cairn_ok({"verify", "--all"});
}

}  // namespace

void walk_commands() {
  const Variable checkpoints("CAIRN_CHECKPOINTS", (directory() / "walked_checkpoints").string());
  Beside worker({"work"});
  const std::string run = walk_runs();
  walk_lists(run);
  walk_consumers(run);
  walk_removals(run);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
}

}  // namespace cairn::program
