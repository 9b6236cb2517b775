// Processes that go on where an asynchronous standby has taken over, without the last commits of its primary.
#include <gtest/gtest.h>

#include "tests/faults/server.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"

namespace cairn {
namespace {

using namespace program;

// The API knows a graph that its database has forgotten. Without its text no worker could read a run of it.
TEST(LostTail, a_graph_that_went_with_it_is_stored_again_before_a_run_of_it_starts) {
  OwnServer primary("tail_primary");
  const Variable dsn("CAIRN_DSN", primary.dsn());
  cairn_ok({"migrate"});
  OwnServer standby("tail_standby", primary);
  const Variable both("CAIRN_DSN", primary.dsn_with(standby));
  Server server;
  const Json early = Json::parse(ask_graph("tail_early"));
  EXPECT_EQ(server.post("/api/v1/graphs", early).status, 201);
  EXPECT_TRUE(wait_until([&] { return cairn({"graph", "show", "tail_early", "--dsn", standby.dsn()}).exit != 3; }));
  standby.set("primary_conninfo", "");
  EXPECT_EQ(server.post("/api/v1/graphs", Json::parse(ask_graph("tail_late"))).status, 201);
  primary.kill_at_once();
  standby.promote();
  std::string run;
  EXPECT_TRUE(wait_until([&] {
    const Reply reply = server.post(runs, {{"graph", "tail_late"}});
    if (reply.status == 201) run = reply.json().at("run");
    return reply.status == 201;
  }));
  const Beside worker({"work"});
  EXPECT_TRUE(wait_until([&] { return server.get(runs + "/" + run).json().value("status", "") == "waiting"; }))
      << server.get(runs + "/" + run).body;
  cairn_ok({"answer", run, "--value", "\"north\""});
  EXPECT_TRUE(wait_until([&] { return server.get(runs + "/" + run).json().value("status", "") == "done"; }));
  cairn_ok({"verify", run});
}

}  // namespace
}  // namespace cairn
