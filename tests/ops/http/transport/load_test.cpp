// Clients that ask for much, take it slowly or go away, and a database that keeps the API waiting: what is read at once
// stays bounded, and probes are answered all the same.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

constexpr int big_values = 20;
constexpr std::size_t event_bytes = 900'000;

std::string dsn() { return owner_dsn(); }

// A run with 18 MB of events; it waits for ever.
const std::string& run_of_large_events() {
  static const std::string run = [] {
    const Server server;
    const Json graph = {{"name", "load_big"},
                        {"start", "wait"},
                        {"limits", {{"steps", 10}}},
                        {"nodes",
                         {{"wait", {{"wait", {{"signal", "go"}}}, {"into", "went"}, {"on", {{"fired", "finish"}}}}},
                          {"finish", {{"end", {{"status", "done"}, {"output", Json::object()}}}}}}}};
    EXPECT_EQ(server.post("/api/v1/graphs", graph).status, 201);
    std::string started = server.post(runs, {{"graph", "load_big"}}).json()["run"];
    for (int i = 0; i < big_values; ++i) {
      const Json signal = {{"name", "noise"}, {"value", std::to_string(i) + std::string(event_bytes, 'x')}};
      EXPECT_EQ(server.post(runs + "/" + started + "/signals", signal).status, 200);
    }
    return started;
  }();
  return run;
}

std::int64_t count_of_events() {
  return static_cast<std::int64_t>(cairn_ok({"events", run_of_large_events(), "--raw", "--json"}).lines().size());
}

TEST(ApiLoad, a_page_of_events_ends_early_and_says_how_it_goes_on) {
  const std::int64_t all = count_of_events();
  const Server server;
  const std::string events = runs + "/" + run_of_large_events() + "/events";
  std::int64_t told = 0;
  for (std::string query = "?limit=500"; !query.empty();) {
    const Reply page = server.get(events + query);
    ASSERT_EQ(page.status, 200);
    ASSERT_LT(page.body.size(), 10U << 20);
    for (const Json& line : page.json()) ASSERT_EQ(line["seq"], ++told);
    const std::string link = page.header("Link");
    const std::string next = "<?from=" + std::to_string(told + 1) + "&limit=500>; rel=\"next\"";
    ASSERT_TRUE(link == next || (link.empty() && told == all)) << link;  // the last page may be empty
    query = link.empty() ? "" : link.substr(1, link.find('>') - 1);
  }
  EXPECT_EQ(told, all);
  EXPECT_EQ(server.get(events + "?limit=2&raw=true").header("Link"), "<?from=3&limit=2&raw=true>; rel=\"next\"");
  EXPECT_EQ(server.get(events + "?raw=true").header("Link"), "");
}

TEST(ApiLoad, a_stream_says_little_at_once) {
  const std::int64_t all = count_of_events();
  const Server server;
  ApiStreamReader stream(server.port(), runs + "/" + run_of_large_events() + "/events");
  for (std::int64_t seq = 1; seq <= all; ++seq) ASSERT_EQ(stream.next().value().data["seq"], seq);
  EXPECT_GT(stream.largest_piece(), event_bytes);
  EXPECT_LT(stream.largest_piece(), 2U << 20);
}

// Takes 64 KiB at a time, so slowly that the whole needs more than twice what a piece may take.
TEST(ApiLoad, a_slow_reader_gets_all) {
  const std::string& run = run_of_large_events();
  const Server server({"--write-seconds", "1"});
  ApiConnection slow(server.port(), 64 * 1024);
  slow.send("GET " + runs + "/" + run + "/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  std::size_t taken = 0;
  for (std::size_t got = 1; got > 0; taken += got) {
    got = slow.read_piece(64 * 1024);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(taken, 8U << 20);
}

TEST(ApiLoad, a_stream_ends_with_its_client_and_streams_leave_room) {
  const std::string& run = run_of_large_events();
  const std::string events = runs + "/" + run + "/events?from=1000000";
  const Server server({"--connections", "3"});
  const Headers stream = {{"Accept", "text/event-stream"}};
  auto first = std::make_unique<ApiStreamReader>(server.port(), events);
  const ApiStreamReader second(server.port(), events);
  const Reply refused = server.get(events, stream);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(server.get("/readyz").status, 200);
  first.reset();
  // Well before the 15 seconds after which a stream says that there is nothing new.
  EXPECT_TRUE(wait_until(
      [&] {
        ApiConnection third(server.port());
        third.send("GET " + events + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
        return third.read_line().starts_with("HTTP/1.1 200");
      },
      std::chrono::seconds(10)));
}

TEST(ApiLoad, what_waits_for_the_database_holds_up_no_probe_and_is_told_in_time) {
  const Server server;
  PgConnection locker({dsn(), "a test", false});
  locker.execute("BEGIN; LOCK TABLE cairn.run IN ACCESS EXCLUSIVE MODE");
  std::vector<std::unique_ptr<ApiConnection>> blocked;
  for (int i = 0; i < 8; ++i) {
    blocked.push_back(std::make_unique<ApiConnection>(server.port()));
    blocked.back()->send("GET " + runs + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_EQ(server.get("/healthz").status, 200);
  EXPECT_EQ(server.get("/readyz").status, 200);
  const Reply late = server.get("/api/v1/graphs");
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(late.header("Retry-After"), "1");
  locker.execute("ROLLBACK");
  int answered = 0;
  for (const auto& connection : blocked) answered += connection->read_reply().status == 200 ? 1 : 0;
  EXPECT_EQ(answered, 4);
  EXPECT_EQ(server.get(runs).status, 200);
}

TEST(ApiLoad, a_database_that_is_silent_is_not_ready) {
  const Server server;
  EXPECT_EQ(server.get("/readyz").status, 200);
  pid_t postmaster = 0;
  std::ifstream(directory() / "data" / "data" / "postmaster.pid") >> postmaster;
  ASSERT_GT(postmaster, 0);
  ASSERT_EQ(kill(postmaster, SIGSTOP), 0);
  const Reply silent = server.get("/readyz");
  const Reply again = server.get("/readyz");
  ASSERT_EQ(kill(postmaster, SIGCONT), 0);
  EXPECT_EQ(silent.status, 503);
  EXPECT_EQ(again.status, 503);
  EXPECT_TRUE(wait_until([&] { return server.get("/readyz").status == 200; }));
}

}  // namespace
}  // namespace cairn::program
