// Processes that go on where an asynchronous standby has taken over, without the last commits of its primary.
#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <vector>

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

// Whether or not it lacks commits, which it cannot know.
TEST(LostTail, a_worker_says_that_another_server_has_taken_over_and_doctor_shows_the_timeline) {
  OwnServer primary("line_primary");
  const Variable dsn("CAIRN_DSN", primary.dsn());
  cairn_ok({"migrate"});
  OwnServer standby("line_standby", primary);
  const Variable both("CAIRN_DSN", primary.dsn_with(standby));
  const auto timeline = [] {
    const Json told = cairn({"doctor", "--json"}).json();
    for (const Json& check : told.at("checks"))
      if (check.at("name") == "timeline") return check.at("found").get<std::string>();
    return std::string();
  };
  EXPECT_EQ(timeline(), "1");
  Beside worker({"work"});
  const Json input = {{"goal", "g"}, {"sub_goals", Json::array()}};
  const std::string run =
      cairn_ok({"start", "plan_runner", "--input", input.dump(), "--wait", "--json"}).json().at("run");
  EXPECT_TRUE(wait_until([&] { return cairn({"show", run, "--dsn", standby.dsn()}).exit == 0; }));
  primary.kill_at_once();
  standby.promote();
  EXPECT_TRUE(wait_until([&] { return worker.err().find("is written on timeline 2 of system") != std::string::npos; }))
      << worker.err();
  EXPECT_EQ(timeline(), "2: a standby was promoted, or a backup restored, before");
  worker.signal(SIGTERM);
  worker.wait();
  const std::string log = worker.err();
  EXPECT_EQ(log.find("is written on timeline"), log.rfind("is written on timeline")) << "once: " << log;
}

// Its cursor was at positions that others had by then: it went on after them, and confirmed.
TEST(LostTail, a_feed_that_is_followed_says_so_and_skips_nothing_of_what_the_standby_wrote) {
  OwnServer primary("feed_primary");
  const Variable dsn("CAIRN_DSN", primary.dsn());
  cairn_ok({"migrate"});
  cairn_ok({"feed", "add", "copy"});
  OwnServer standby("feed_standby", primary);
  const Variable both("CAIRN_DSN", primary.dsn_with(standby));
  const auto started = [] {
    const Json input = {{"goal", "g"}, {"sub_goals", Json::array()}};
    return cairn_ok({"start", "plan_runner", "--input", input.dump(), "--wait", "--json"})
        .json()["run"]
        .get<std::string>();
  };
  Beside reader({"feed", "read", "copy", "--json", "--follow", "--confirm"});
  const auto has_got = [&](const std::string& run) {
    return wait_until([&] { return reader.out().find(run) != std::string::npos; });
  };
  const std::string shared = started();
  EXPECT_TRUE(has_got(shared));
  EXPECT_TRUE(wait_until([&] { return cairn({"show", shared, "--dsn", standby.dsn()}).exit == 0; }));
  standby.set("primary_conninfo", "");
  EXPECT_TRUE(has_got(started()));
  reader.signal(SIGSTOP);
  primary.kill_at_once();
  standby.promote();
  std::vector<std::string> later;
  for (int n = 0; n < 3; ++n) later.push_back(started());
  cairn_ok({"feed", "read", "copy"});  // which gives them their positions
  reader.signal(SIGCONT);
  EXPECT_EQ(reader.wait(), 4) << reader.err();
  EXPECT_NE(reader.err().find("the database has gone back"), std::string::npos) << reader.err();
  const std::string given = cairn_ok({"feed", "read", "copy", "--json", "--confirm"}).out;
  for (const std::string& run : later) EXPECT_NE(given.find(run), std::string::npos) << given;
}

}  // namespace
}  // namespace cairn
