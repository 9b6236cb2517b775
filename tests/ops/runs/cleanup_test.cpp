// Runs that are cut short, as a user meets them: real workers, the limit of time, the cleanup and what the commands say
// meanwhile.
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

// Waits for a signal; however it ends, the node `undo` calls the tool, and `undone` ends it.
Json held(const std::string& name, const std::string& tool) {
  return {
      {"name", name},
      {"start", "hold"},
      {"finally", "undo"},
      {"limits", {{"steps", 20}}},
      {"nodes",
       {{"hold", {{"wait", {{"signal", "go"}}}, {"on", {{"fired", "undone"}}}}},
        {"undo",
         {{"do", "tool.call"},
          {"with", {{"tool", tool}, {"inputs", Json::object()}, {"into", "undone"}}},
          {"on", {{"ok", "undone"}}}}},
        {"undone", {{"end", {{"status", "done"}, {"output", {{"undone", {{"$", "undone"}, {"default", false}}}}}}}}}}}};
}

std::string started(const Json& graph, const Arguments& more = {}) {
  cairn_ok({"graph", "add", write_file(graph["name"].get<std::string>() + ".json", graph.dump())});
  Arguments arguments = {"start", graph["name"], "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn_ok(arguments).json()["run"];
}

Json shown(const std::string& run) { return cairn_ok({"show", run, "--json"}).json(); }

TEST(CutShort, a_cancelled_run_cleans_up_first_and_the_commands_say_so) {
  const std::string run = started(held("cut_cancel", "echo"));
  const Json cancelled = cairn_ok({"cancel", run, "--reason", "Ann is ill.", "--json"}).json();
  EXPECT_EQ(cancelled["status"], "running");
  EXPECT_EQ(cancelled["ending"], true);
  const Json ending = shown(run);
  EXPECT_EQ(ending["ending"], (Json{{"status", "aborted"}, {"reason", "Ann is ill."}}));
  for (const char* command : {"show", "explain"})
    EXPECT_NE(cairn_ok({command, run}).out.find("It cleans up, and then ends as aborted."), std::string::npos)
        << command;
  EXPECT_NE(cairn_ok({"runs", "--where", "graph=cut_cancel"}).out.find("Ann is ill."), std::string::npos);

  const Ran waited = cairn({"wait", run, "--work", "--json"});
  EXPECT_EQ(waited.exit, 1) << waited.err;
  const Json ended = shown(run);
  EXPECT_EQ(ended["status"], "aborted");
  EXPECT_EQ(ended["reason"], "Ann is ill.");
  EXPECT_EQ(ended["output"]["undone"], Json::object()) << ended;
  EXPECT_EQ(cairn_ok({"verify", run}).exit, 0);
  EXPECT_EQ(cairn_ok({"replay", run}).exit, 0);
  EXPECT_EQ(cairn_ok({"rebuild", "--check"}).exit, 0);
}

TEST(CutShort, a_run_ends_when_its_time_is_over_though_no_step_of_it_does) {
  Json graph = held("cut_time", "echo");
  graph["limits"]["ms"] = 300;
  const std::string run = started(graph);
  EXPECT_TRUE(shown(run).contains("due"));
  const Beside worker({"work"});
  EXPECT_TRUE(test::wait_until([&] { return shown(run)["status"] == "failed"; })) << shown(run);
  const Json ended = shown(run);
  EXPECT_EQ(ended["status"], "failed");
  EXPECT_EQ(ended["reason"], "timeout: Expected the run to end within 300 ms, but it has not.");
  EXPECT_EQ(ended["output"]["undone"], Json::object()) << "it cleaned up";
  EXPECT_EQ(cairn_ok({"replay", run}).exit, 0);
}

TEST(CutShort, a_cleanup_that_fails_is_tried_again) {
  const std::filesystem::path door = directory() / "cut_door";
  std::filesystem::remove(door);
  const Json tools = {
      {"tools", {{"leave", {{"exec", {"sh", "-c", "cat >/dev/null; test -e " + door.string() + " && echo '{}'"}}}}}}};
  const std::string file = write_file("leave.json", tools.dump()).string();
  const std::string run = started(held("cut_again", "leave"));
  cairn_ok({"cancel", run, "--reason", "Enough."});
  EXPECT_EQ(cairn({"wait", run, "--work", "--tools", file}).exit, 1);
  const Json failed = shown(run);
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["reason"].get<std::string>().find("Enough. The cleanup failed: "), 0U) << failed["reason"];

  write_file("cut_door", "");
  EXPECT_FALSE(cairn_ok({"retry", run, "--json"}).json().contains("fork"));
  cairn({"wait", run, "--work", "--tools", file});
  EXPECT_EQ(shown(run)["status"], "aborted");
  EXPECT_EQ(shown(run)["reason"], "Enough.");
}

TEST(CutShort, a_reset_and_a_cancel_now_leave_the_cleanup_out) {
  const std::string run = started(held("cut_now", "echo"));
  const std::string fork = cairn_ok({"reset", run, "--to", "1", "--json"}).json()["fork"];
  EXPECT_EQ(shown(run)["status"], "aborted");
  EXPECT_EQ(cairn_ok({"cancel", fork, "--now"}).out.find("cleans up"), std::string::npos);
  EXPECT_EQ(shown(fork)["status"], "aborted");
  EXPECT_EQ(cairn_ok({"replay", run}).exit, 0);
}

TEST(CutShort, the_runs_that_it_called_end_while_it_cleans_up) {
  Json kid = held("cut_kid", "echo");
  kid.erase("finally");
  kid["nodes"].erase("undo");
  cairn_ok({"graph", "add", write_file("cut_kid.json", kid.dump())});
  Json parent = held("cut_parent", "echo");
  parent["nodes"]["hold"] = {{"call", "cut_kid"}, {"on", {{"done", "undone"}, {"failed", "undone"}}}};
  parent["nodes"]["undo"] = {{"ask", {{"kind", "question"}, {"prompt", "Clean?"}}},
                             {"on", {{"answered", "undone"}, {"expired", "undone"}}}};
  const std::string run = started(parent);
  cairn_ok({"cancel", run});
  const std::string child = cairn_ok({"runs", "--where", "graph=cut_kid", "--json"}).lines().at(0)["run"];
  Beside worker({"work"});
  EXPECT_TRUE(test::wait_until([&] { return shown(child)["status"] == "aborted"; })) << shown(child);
  EXPECT_EQ(shown(run)["status"], "waiting") << "its own cleanup goes on";
  EXPECT_EQ(cairn({"answer", run, "--value", "true", "--wait"}).exit, 1) << "it ends as it was to end";
  EXPECT_EQ(shown(run)["status"], "aborted");
}

TEST(CutShort, a_run_that_it_called_cleans_up_to_its_end) {
  const Json tools = {{"tools", {{"slow", {{"exec", {"sh", "-c", "cat >/dev/null; sleep 4; echo '{}'"}}}}}}};
  const std::string file = write_file("slow.json", tools.dump()).string();
  cairn_ok({"graph", "add", write_file("cut_tidy_kid.json", held("cut_tidy_kid", "slow").dump())});
  Json parent = held("cut_tidy_parent", "echo");
  parent.erase("finally");
  parent["nodes"].erase("undo");
  parent["nodes"]["hold"] = {{"call", "cut_tidy_kid"}, {"on", {{"done", "undone"}, {"failed", "undone"}}}};
  cairn_ok({"cancel", started(parent)});
  const std::string child = cairn_ok({"runs", "--where", "graph=cut_tidy_kid", "--json"}).lines().at(0)["run"];
  const Beside one({"work", "--tools", file}), other({"work", "--tools", file});
  EXPECT_TRUE(test::wait_until([&] { return shown(child)["status"] == "aborted"; })) << shown(child);
  EXPECT_EQ(shown(child)["output"]["undone"], Json::object()) << "the sweeps of four seconds cut nothing short";
}

}  // namespace
}  // namespace cairn::program
