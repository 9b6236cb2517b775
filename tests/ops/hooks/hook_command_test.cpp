// A hook whose receiver is a command of this machine.
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"
#include "tests/ops/hooks/receiver.hpp"
#include "tests/ops/planners/planner_runs.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

const EnvironmentVariable secret_of_another_hook("HOOK_SECRET", receiver_secret);  // no command gets it

TEST(Hooks, a_command_of_this_machine_gets_the_event_and_one_for_another_database_is_refused) {
  const std::string file = directory() / "received";
  const std::string part = file + ".$$";  // an event may come twice, at the same time
  const std::string line = "cat > " + part + " && echo \"$CAIRN_RUN $CAIRN_EVENT $CAIRN_EVENT_ID $HOOK_SECRET\" >> " +
                           part + " && mv " + part + " " + file;
  cairn_ok({"hook", "add", "desk", "--command", line, "--on", "failed,ended", "--graph", "plan_runner"});
  const Beside work({"work"});
  const std::string run =
      cairn_ok({"start", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})", "--wait", "--json"})
          .json()["run"];
  std::string received;  // of this run: one that another test left may end first
  ASSERT_TRUE(wait_until([&] {
    received = std::filesystem::exists(file) ? read_file(file) : "";
    return received.find(run) != std::string::npos;
  }));
  const std::string id = run + "/" + cairn_ok({"show", run, "--json"}).json()["seq"].dump();
  EXPECT_NE(received.find(run + " dev.cairn.run.finished " + id + " \n"), std::string::npos) << received;
  EXPECT_EQ(Json::parse(received.substr(0, received.find_last_of('}') + 1))["id"], id);
  cairn_ok({"hook", "remove", "desk"});
  expect_refused(cairn({"hook", "show", "desk"}), 3, "none is named \"desk\"");
  expect_refused(cairn({"hook", "add", "far", "--command", "true", "--on", "ended", "--dsn", "host=127.0.0.1"}), 4,
                 "Expected the embedded database of this machine for a hook with a command, but it is another one.");
}

TEST(Hooks, one_that_names_a_graph_or_a_secret_which_is_not_there_is_added_with_a_warning) {
  const std::string dsn = new_database();
  const auto warning = [&](const std::string& name, const Arguments& more) {
    Arguments all = {"hook", "add", name, "--url", "https://chat.example/in", "--on", "ended"};
    all.insert(all.end(), more.begin(), more.end());
    return cairn_ok(on(dsn, all)).err;
  };
  EXPECT_NE(warning("a", {"--graph", "plan_runer"}).find("No graph is named plan_runer (did you mean plan_runner?)"),
            std::string::npos);
  EXPECT_EQ(warning("b", {"--graph", "plan_runner"}), "");
  EXPECT_NE(warning("c", {"--secret", "NOPE"}).find("No secret NOPE is in the tools file"), std::string::npos);
  const EnvironmentVariable tools("CAIRN_TOOLS", receiver_tools());
  EXPECT_NE(warning("d", {"--secret", "NOPE"}).find("No secret NOPE is in the tools file"), std::string::npos);
  EXPECT_EQ(warning("e", {"--secret", "HOOK"}), "");
  const EnvironmentVariable unset("HOOK_SECRET", "");
  EXPECT_NE(warning("f", {"--secret", "HOOK"}).find("What the hook sends waits for a process that has it."),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::program
