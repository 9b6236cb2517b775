// The limits of `cairn serve`: on what clients send and open, on who may ask, when the database goes away, and at its
// end.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/small_disk.hpp"

namespace cairn::program {
namespace {

const Headers as_json = {{"Content-Type", "application/json"}};

std::string error_code_of(const Reply& reply) { return reply.json().at("error").at("code"); }

TEST(ApiLimits, too_long_a_body_or_header_is_refused_before_it_is_taken) {
  const Server server({"--body-bytes", "1000"});
  EXPECT_EQ(ApiConnection(server.port()).ask("POST", runs, std::string(1'001, ' '), as_json).status, 413);
  EXPECT_EQ(ApiConnection(server.port()).ask("POST", runs, std::string(4'000'000, ' '), as_json).status, 413);
  EXPECT_EQ(ApiConnection(server.port()).ask("POST", runs, std::string(1'000, ' '), as_json).status, 400);
  ApiConnection chunked(server.port());
  chunked.send("POST " + runs + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
               "Transfer-Encoding: chunked\r\n\r\n7d0\r\n" + std::string(2'000, ' ') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.read_reply().status, 413);
  EXPECT_EQ(ApiConnection(server.port()).ask("GET", "/healthz", "", {{"X", std::string(17'000, 'x')}}).status, 431);
  EXPECT_EQ(ApiConnection(server.port()).ask("GET", "/healthz", "", {{"X", std::string(15'000, 'x')}}).status, 200);
}

TEST(ApiLimits, what_is_no_http_is_refused) {
  const Server server;
  for (const char* text :
       {"hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST /api/v1/runs HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    ApiConnection connection(server.port());
    connection.send(text);
    EXPECT_EQ(connection.read_reply().status, 400) << text;
    EXPECT_TRUE(connection.is_ended());
  }
  EXPECT_EQ(server.get("/healthz").status, 200);
}

TEST(ApiLimits, a_request_that_does_not_arrive_and_a_connection_without_one_are_ended) {
  const Server server({"--request-seconds", "1", "--idle-seconds", "1"});
  ApiConnection silent(server.port());
  ApiConnection slow(server.port());
  slow.send("GET /healthz HTTP/1.1\r\nHost: ");
  ApiConnection half(server.port());
  half.send(
      "POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 100\r\n\r\n{");
  EXPECT_EQ(silent.read_all(), "") << "it has asked nothing";
  for (ApiConnection* asked : {&slow, &half}) {
    const Reply reply = asked->read_reply();
    EXPECT_EQ(reply.status, 408) << reply.body;
    EXPECT_EQ(error_code_of(reply), "limit");
    EXPECT_EQ(reply.header("Connection"), "close");
    EXPECT_TRUE(asked->is_ended());
  }
  ApiConnection problem(server.port());
  problem.send("POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAccept: application/problem+json\r\n" +
               std::string("Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"));
  EXPECT_EQ(problem.read_reply().json().at("status"), 408);
  ApiConnection later(server.port());
  later.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
  later.send("\r\n");
  EXPECT_EQ(later.read_reply().status, 200) << "it was in time";
}

// The time that the server needs for a request on a new connection, and its answer.
std::chrono::milliseconds time_of(const Server& server, const std::string& path) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(server.get(path).status, 200) << path;
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
}

TEST(ApiLimits, H6_probes_and_requests_are_answered_while_256_connections_say_nothing) {
  const Server server;
  std::vector<std::unique_ptr<ApiConnection>> silent;
  for (int i = 0; i < 256; ++i) {
    silent.push_back(std::make_unique<ApiConnection>(server.port()));
    if (i % 2 == 0) silent.back()->send("GET /healthz HTTP/1.1\r\nHost: ");
  }
  for (const char* path : {"/healthz", "/readyz", "/api/v1/graphs"})
    EXPECT_LT(time_of(server, path), std::chrono::seconds(5)) << path;
}

TEST(ApiLimits, H6_the_connection_that_waits_longest_makes_room) {
  const Server server({"--connections", "2"});
  ApiConnection first(server.port());
  ApiConnection second(server.port());
  EXPECT_EQ(first.ask("GET", "/healthz").status, 200);
  EXPECT_EQ(second.ask("GET", "/healthz").status, 200);
  EXPECT_EQ(first.ask("GET", "/healthz").status, 200);  // so that the second has waited longer
  ApiConnection third(server.port());
  EXPECT_EQ(third.ask("GET", "/healthz").status, 200);
  EXPECT_TRUE(second.is_ended());
  EXPECT_EQ(first.ask("GET", "/healthz").status, 200);
}

TEST(ApiLimits, H6_a_connection_without_a_first_request_ends_after_ten_seconds) {
  const Server server;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(ApiConnection(server.port()).is_ended());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(ApiLimits, H6_one_address_has_its_share_of_the_connections) {
  const Server server({"--peer-connections", "2"});
  ApiConnection first(server.port());
  ApiConnection second(server.port());
  for (ApiConnection* asked : {&first, &second}) EXPECT_EQ(asked->ask("GET", "/healthz").status, 200);
  const auto began = std::chrono::steady_clock::now();
  ApiConnection third(server.port());
  EXPECT_EQ(third.ask("GET", "/healthz").status, 200);
  EXPECT_TRUE(first.is_ended());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10)) << "it ended by itself";
  EXPECT_EQ(second.ask("GET", "/healthz").status, 200);
}

TEST(ApiLimits, H17_probes_have_a_listener_of_their_own_without_a_token_and_with_nothing_else) {
  const Variable token("CAIRN_TOKEN", "a secret that nobody knows");
  Server server({"--probe-listen", "127.0.0.1:0"});
  const std::string address = Json::parse(server.process().out()).at("probes");
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  const auto status = [](std::uint16_t of, const std::string& path) {
    return ApiConnection(of).ask("GET", path).status;
  };
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/api/v1/queues/any/age"})
    EXPECT_EQ(status(port, path), 200) << path;
  EXPECT_EQ(status(port, runs), 404);
  EXPECT_EQ(status(server.port(), "/metrics"), 401);
  ApiConnection silent(port);
  EXPECT_EQ(silent.ask("GET", "/healthz").status, 200);
  server.process().signal(SIGTERM);
  EXPECT_EQ(server.process().wait(), 0);
}

// Only one counts, and the others need not wait for a database that is slow.
TEST(ApiLimits, H17_a_scrape_while_another_counts_has_the_numbers_from_before) {
  const Server server;
  ASSERT_EQ(server.get("/metrics").status, 200);
  const std::string dsn = owner_dsn();
  PgConnection owner({dsn, "test", false});
  owner.execute("BEGIN");
  owner.execute("LOCK TABLE cairn.run, cairn.job IN ACCESS EXCLUSIVE MODE");
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + "/metrics";
  Beside counting("/usr/bin/curl", {"-s", "--max-time", "100", url});
  const auto waiting = [&] {
    PgConnection looker({dsn, "test", false});
    return looker.query({"waiting", "select count(*) from pg_locks where not granted"}).int8(0, 0);
  };
  EXPECT_TRUE(wait_until([&] {  // the count is due again some seconds after the first
    if (counting.has_ended()) counting = Beside("/usr/bin/curl", {"-s", "--max-time", "100", url});
    return waiting() > 0;
  }));
  const auto began = std::chrono::steady_clock::now();
  const Reply meanwhile = server.get("/metrics");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  EXPECT_NE(meanwhile.body.find("cairn_runs{"), std::string::npos) << meanwhile.body;
  EXPECT_FALSE(counting.has_ended());
  owner.execute("COMMIT");
  EXPECT_EQ(counting.wait(), 0);
}

TEST(ApiLimits, H17_a_scrape_counts_nothing_that_was_counted_just_before) {
  const Server server;
  // The gauges of the database; what follows them is read from the process's memory.
  const auto gauges = [&server] {
    const std::string text = server.get("/metrics").body;
    return text.substr(0, text.find("# HELP cairn_api_wrong_tokens"));
  };
  const std::string before = gauges();
  ASSERT_NE(before.find("cairn_runs{"), std::string::npos);
  const std::string run = server.post(runs, {{"graph", "plan_runner"}}).json().at("run");
  EXPECT_EQ(gauges(), before);
  EXPECT_TRUE(wait_until([&] { return gauges() != before; }, std::chrono::seconds(20)));
  cairn_ok({"cancel", run});
}

TEST(ApiGuard, H17_a_page_of_another_site_gets_nothing_even_without_an_origin) {
  const Server server;
  for (const char* site : {"cross-site", "same-site"})
    for (const char* path : {"/metrics", "/api/v1/runs", "/api/v1/graphs/seven_node?format=svg"})
      EXPECT_EQ(server.get(path, {{"Sec-Fetch-Site", site}}).status, 403) << site << " " << path;
  for (const char* site : {"same-origin", "none"}) EXPECT_EQ(server.get(runs, {{"Sec-Fetch-Site", site}}).status, 200);
}

TEST(ApiGuard, an_address_that_others_reach_needs_a_token) {
  expect_refused(cairn({"serve", "--listen", "0.0.0.0:0"}), 4, "CAIRN_TOKEN");
  expect_refused(cairn({"up", "--listen", "[::]:0"}), 4, "CAIRN_TOKEN");
  for (const char* address : {"", "here", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:70000", "[127.0.0.1]:80",
                              "::1:80", "[::1:80", "127.0.0.1:80x"})
    expect_refused(cairn({"serve", "--listen", address}), 2, "Expected an address");
  const Server taken;
  expect_refused(cairn({"serve", "--listen", "127.0.0.1:" + std::to_string(taken.port())}), 5, "Expected to listen");
}

TEST(ApiGuard, a_token_is_asked_of_everybody_but_probes) {
  const Variable token("CAIRN_TOKEN", "a secret that nobody knows");
  const Server server({"--listen", "0.0.0.0:0", "--plain-http"});
  const auto with = [&](const std::string& given) {
    return server.get(runs, {{"Host", "cairn.example"}, {"Authorization", given}}).status;
  };
  EXPECT_EQ(with("Bearer a secret that nobody knows"), 200);
  EXPECT_EQ(with("Bearer a secret that nobody knowsx"), 401);
  EXPECT_EQ(with("Bearer a secret that nobody know"), 401);
  EXPECT_EQ(with("Bearer "), 401);
  EXPECT_EQ(with("Basic a secret that nobody knows"), 401);
  EXPECT_EQ(server.get(runs).header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(error_code_of(server.get("/api/v1/nothing")), "unauthorized");
  for (const char* open : {"/healthz", "/readyz"}) EXPECT_EQ(server.get(open).status, 200) << open;
  EXPECT_EQ(server.get("/metrics").status, 401);
}

TEST(ApiGuard, without_a_token_a_foreign_page_gets_nothing) {
  const Server server;
  const std::string port = ":" + std::to_string(server.port());
  for (const char* host : {"127.0.0.1", "localhost", "[::1]", "127.0.0.2"})
    EXPECT_EQ(server.get(runs, {{"Host", host + port}}).status, 200) << host;
  for (const char* host : {"evil.example", "localhost.evil.example", "10.0.0.1", "", "127.0.0.1.evil.example"})
    EXPECT_EQ(server.get(runs, {{"Host", host + port}}).status, 403) << host;
  const Reply own = server.get(runs, {{"Host", "localhost" + port}, {"Origin", "http://localhost" + port}});
  EXPECT_EQ(own.status, 200);
  EXPECT_EQ(own.header("Access-Control-Allow-Origin"), "");
  const Reply foreign = server.get(runs, {{"Host", "localhost" + port}, {"Origin", "http://evil.example"}});
  EXPECT_EQ(foreign.status, 403);
  EXPECT_EQ(error_code_of(foreign), "forbidden");
}

TEST(ApiEnd, a_signal_ends_streams_as_they_should_and_the_server_with_0) {
  Server server;
  const std::string run =
      server.post(runs, {{"graph", "tool_agent"}, {"input", {{"messages", Json::array()}}}}).json()["run"];
  ApiStreamReader stream(server.port(), runs + "/" + run + "/events");
  EXPECT_TRUE(stream.next());
  ApiConnection waiting(server.port());
  EXPECT_EQ(waiting.ask("GET", "/healthz").status, 200);
  server.process().signal(SIGTERM);
  while (stream.next()) {
  }
  EXPECT_EQ(server.process().wait(), 0);
  EXPECT_TRUE(waiting.is_ended());
  cairn_ok({"cancel", run});
}

TEST(ApiEnd, a_request_that_has_begun_is_answered_before_the_server_ends) {
  Server server;
  ApiConnection begun(server.port());
  begun.send("GET /healthz HTTP/1.1\r\nHost: loc");
  ApiConnection other(server.port());
  EXPECT_EQ(other.ask("GET", "/readyz").status, 200);  // so that the other one has been read
  server.process().signal(SIGTERM);
  EXPECT_TRUE(other.is_ended());
  begun.send("alhost\r\n\r\n");
  const Reply reply = begun.read_reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_EQ(server.process().wait(), 0);
}

// The process of the API that `up` started.
pid_t api_process(pid_t up) {
  const std::string task = "/proc/" + std::to_string(up) + "/task/" + std::to_string(up) + "/children";
  std::istringstream children(read_file(task));
  for (pid_t child = 0; children >> child;)
    if (read_file("/proc/" + std::to_string(child) + "/cmdline").find("serve") != std::string::npos) return child;
  return -1;
}

bool is_answered(std::uint16_t port) {
  try {
    return ApiConnection(port).ask("GET", "/readyz").status == 200;
  } catch (const boost::system::system_error&) {
    return false;
  }
}

TEST(ApiUp, up_brings_the_api_along_and_starts_it_again) {
  Beside up({"up", "--workers", "1", "--listen", "127.0.0.1:0", "--json"});
  EXPECT_TRUE(wait_until([&] { return up.out().find("\"ready\":true") != std::string::npos; }));
  const std::string line = up.out().substr(0, up.out().find('\n'));
  const std::string address = Json::parse(line).at("listen");
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  EXPECT_EQ(ApiConnection(port).ask("GET", "/readyz").status, 200);
  const pid_t killed = api_process(up.pid());
  ASSERT_GT(killed, 0);
  kill(killed, SIGKILL);
  EXPECT_TRUE(wait_until([&] { return api_process(up.pid()) != killed && is_answered(port); }));
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
  EXPECT_FALSE(is_answered(port));
}

// D15: one on a full disk, or that takes no writes, was called ready.
TEST(ApiDatabase, D15_a_database_that_takes_no_writes_is_not_ready) {
  const Server server;
  EXPECT_EQ(server.get("/readyz").status, 200);
  PgConnection owner({owner_dsn(), "test", false});
  owner.execute("ALTER DATABASE cairn SET default_transaction_read_only = on");
  const Reply refused = server.get("/readyz");
  owner.execute("SET default_transaction_read_only = off");
  owner.execute("ALTER DATABASE cairn RESET default_transaction_read_only");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(error_code_of(refused), "unavailable");
  EXPECT_EQ(server.get("/readyz").status, 200);
}

TEST(ApiDatabase, D15_a_database_on_a_full_disk_is_not_ready_and_doctor_says_why) {
  const SmallDisk disk("full_disk", 300);
  if (!disk.is_there()) GTEST_SKIP() << "a small disk: mounting one of its own needs root";
  const std::string data = disk.place() / "data";
  cairn_ok({"runs", "--data", data});
  Beside api({"serve", "--json", "--data", data, "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(wait_until([&] { return api.out().find("\"ready\":true") != std::string::npos; }));
  const std::string address = Json::parse(api.out()).at("listen");
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  EXPECT_EQ(ApiConnection(port).ask("GET", "/readyz").status, 200);
  disk.fill();
  EXPECT_EQ(ApiConnection(port).ask("GET", "/readyz").status, 503);
  const Ran ran = cairn({"doctor", "--data", data, "--json"});
  EXPECT_EQ(ran.exit, 1);
  const Json told = ran.json();
  bool is_told = false;
  for (const Json& check : told["checks"]) {
    if (check["name"] != "writing") continue;
    is_told = true;
    EXPECT_EQ(check["ok"], false);
    EXPECT_NE(check["found"].get<std::string>().find("No space left on device"), std::string::npos) << check;
  }
  EXPECT_TRUE(is_told) << told;
  disk.empty();
  EXPECT_TRUE(wait_until([&] { return ApiConnection(port).ask("GET", "/readyz").status == 200; }));
  api.signal(SIGTERM);
  api.wait();
  cairn_ok({"down", "--data", data});
}

TEST(ApiDatabase, readiness_goes_with_the_database_and_comes_back_with_it) {
  const Server server;
  EXPECT_EQ(server.get("/readyz").status, 200);
  cairn_ok({"down"});
  const Reply away = server.get("/readyz");
  EXPECT_EQ(away.status, 503);
  EXPECT_EQ(error_code_of(away), "unavailable");
  EXPECT_EQ(away.header("Retry-After"), "1");
  EXPECT_EQ(server.get("/healthz").status, 200);
  EXPECT_EQ(server.get(runs).status, 503);
  cairn_ok({"runs"});
  EXPECT_TRUE(wait_until([&] { return server.get("/readyz").status == 200; }));
  EXPECT_EQ(server.get(runs).status, 200);
}

// Probes and clients that try again filled the disk with it.
TEST(ApiDatabase, that_is_away_is_a_line_of_the_log_once_in_a_while_and_not_for_each_request) {
  const Server server;
  cairn_ok({"down"});
  for (int n = 0; n < 3; ++n) EXPECT_EQ(server.get("/readyz").status, 503);
  EXPECT_EQ(server.get(runs).status, 503);
  cairn_ok({"runs"});
  const std::string said = server.process().err(), line = "The API's database is away";
  EXPECT_NE(said.find(line), std::string::npos) << said;
  EXPECT_EQ(said.find(line), said.rfind(line)) << said;
}

}  // namespace
}  // namespace cairn::program
