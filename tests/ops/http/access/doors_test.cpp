// The doors of the API under load and on a network: drawings (H8), large answers (D14), memory (H24), quotas (H18), TLS
// (H22).
#include <boost/asio/ssl.hpp>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>

#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using std::chrono::steady_clock;

// --- drawings --------------------------------------------------------------------------------------------------------

// Every node leads to `edges` others: a drawing that takes dot minutes and gigabytes.
Json dense_graph(int nodes, int edges) {
  Json graph = {{"name", "dense"}, {"start", "n0"}, {"limits", {{"steps", 10}}}};
  graph["nodes"]["end"] = {{"end", "done"}};
  for (int n = 0; n < nodes; ++n) {
    Json on = {{"ok", "end"}};
    Json labels = {"ok"};
    for (int edge = 1; edge <= edges; ++edge) {
      const std::string label = "l" + std::to_string(edge);
      labels.push_back(label);
      on[label] = "n" + std::to_string((n * 7 + edge * 31 + 1) % nodes);
    }
    graph["nodes"]["n" + std::to_string(n)] = {{"do", "tests.elsewhere"}, {"labels", labels}, {"on", on}};
  }
  for (int n = 0; n + 1 < nodes; ++n) graph["nodes"]["n" + std::to_string(n)]["on"]["ok"] = "n" + std::to_string(n + 1);
  return graph;
}

TEST(ApiDoors, H8_drawings_have_limits_and_leave_threads_to_others) {
  const Server server;
  const Reply added = server.post(graphs, dense_graph(400, 12));
  ASSERT_EQ(added.status, 201) << added.body;
  const auto began = steady_clock::now();
  std::vector<std::unique_ptr<ApiConnection>> drawing;
  for (int i = 0; i < 4; ++i) {
    drawing.push_back(std::make_unique<ApiConnection>(server.port()));
    drawing.back()->send("GET " + graphs + "/dense?format=svg HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_EQ(server.get(graphs).status, 200);
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(5));
  int refused = 0;  // at once: two are under way
  for (const auto& connection : drawing) {
    const Reply reply = connection->read_reply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.json()["error"]["code"], "limit") << reply.body;
    EXPECT_NE(reply.header("Retry-After"), "");
    refused += reply.body.find("drawings under way") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(refused, 2);
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(30));
  expect_refused(cairn({"graph", "show", "dense", "--format", "svg"}), 4, "within 10 s");
  EXPECT_EQ(server.get(graphs + "/plan_runner?format=svg").type, "image/svg+xml");
}

TEST(ApiDoors, H8_dot_runs_without_a_shell_and_without_our_variables) {
  const auto folder = directory() / "path";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "dot") << "#!/bin/sh\nenv\nexec cat /proc/self/limits\n";
  std::filesystem::permissions(folder / "dot", std::filesystem::perms(0755));
  const Variable path("PATH", folder.string() + ":" + std::getenv("PATH"));
  const Variable secret("CAIRN_TOKEN", "a secret that nobody knows");
  const std::string seen = cairn_ok({"graph", "show", "plan_runner", "--format", "svg"}).out;
  EXPECT_NE(seen.find("LC_ALL=C.UTF-8"), std::string::npos) << seen;
  for (const char* variable : {"CAIRN_", "HOME="}) EXPECT_EQ(seen.find(variable), std::string::npos) << seen;
  const std::size_t memory = seen.find("Max address space");
  ASSERT_NE(memory, std::string::npos) << seen;
  EXPECT_NE(seen.substr(memory, seen.find('\n', memory) - memory).find(" 536870912 "), std::string::npos) << seen;
}

TEST(ApiDoors, a_machine_without_a_cache_of_its_fonts_draws) {
  const auto folder = directory() / "fonts";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "dot") << "#!/bin/sh\nhead -c 1000000 /dev/zero > " << folder.string()
                                << "/cache && echo '<svg/>'\n";
  std::filesystem::permissions(folder / "dot", std::filesystem::perms(0755));
  const Variable path("PATH", folder.string() + ":" + std::getenv("PATH"));
  EXPECT_EQ(cairn_ok({"graph", "show", "plan_runner", "--format", "svg"}).out, "<svg/>\n");
}

// --- large answers ---------------------------------------------------------------------------------------------------

constexpr int big_channels = 60;
constexpr std::size_t big_bytes = 900'000;

// A run with 53 MB in its channels, a third more than an answer may hold.
const std::string& big_run() {
  static const std::string run = [] {
    const Server server;
    Json graph = {{"name", "doors_big"},
                  {"start", "w0"},
                  {"limits", {{"steps", 1'000}}},
                  {"nodes", {{"w" + std::to_string(big_channels), {{"end", "done"}}}}}};
    for (int i = 0; i < big_channels; ++i)
      graph["nodes"]["w" + std::to_string(i)] = {{"wait", {{"signal", "go"}}},
                                                 {"into", "c" + std::to_string(i)},
                                                 {"on", {{"fired", "w" + std::to_string(i + 1)}}}};
    const Reply added = server.post(graphs, graph);
    EXPECT_EQ(added.status, 201) << added.body;
    std::string started = server.post(runs, {{"graph", "doors_big"}}).json()["run"];
    for (int i = 0; i + 1 < big_channels; ++i) {
      const Json signal = {{"name", "go"}, {"value", std::string(big_bytes, 'x')}};
      EXPECT_EQ(server.post(runs + "/" + started + "/signals", signal).status, 200);
    }
    return started;
  }();
  return run;
}

std::size_t kilobytes_of(pid_t process, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stoul(line.substr(field.size() + 1));
  return 0;
}

TEST(ApiDoors, D14_an_answer_about_a_large_run_is_bounded_and_a_channel_is_read_alone) {
  const std::string path = runs + "/" + big_run();
  const Server server;
  const Reply whole = server.get(path);
  EXPECT_EQ(whole.status, 200);
  EXPECT_LT(whole.body.size(), 40U << 20);
  EXPECT_GT(whole.body.size(), 20U << 20);
  EXPECT_NE(whole.body.find("$blob"), std::string::npos);  // what did not fit
  const Json one = server.get(path + "?channel=c50").json();
  EXPECT_EQ(one["channels"]["c50"].get<std::string>().size(), big_bytes);
  EXPECT_EQ(one["channels"].size(), 1U);
  EXPECT_EQ(server.get(path + "?channel=none").json()["channels"]["none"], nullptr);
  EXPECT_LT(server.get(path + "?raw=true").body.size(), 1U << 20);
}

TEST(ApiDoors, D14_large_answers_that_are_not_taken_are_bounded_together) {
  const std::string path = runs + "/" + big_run();
  const Server server({"--unsent-bytes", "70000000"});
  std::vector<std::unique_ptr<ApiConnection>> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(std::make_unique<ApiConnection>(server.port(), 4'096));
    slow.back()->send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(slow.back()->read_line().starts_with("HTTP/1.1 200"));
  }
  const Reply refused = server.get(path);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.json()["error"]["code"], "limit");
  EXPECT_EQ(server.get(path + "?raw=true").status, 200);
  slow.clear();
  EXPECT_TRUE(wait_until([&] { return server.get(path).status == 200; }));
}

TEST(ApiDoors, H24_memory_that_runs_out_is_503_limit_and_not_corrupt) {
  const std::string path = runs + "/" + big_run();
  const Server server;
  EXPECT_EQ(server.get(path + "?raw=true").status, 200);
  const pid_t process = server.process().pid();
  const rlim_t bytes = (kilobytes_of(process, "VmSize") + 24 * 1'024) * 1'024;
  const rlimit tight{bytes, RLIM_INFINITY};
  ASSERT_EQ(prlimit(process, RLIMIT_AS, &tight, nullptr), 0);
  const Reply reply = server.get(path);
  EXPECT_EQ(reply.status, 503) << reply.body.substr(0, 200);
  EXPECT_EQ(reply.json()["error"]["code"], "limit");
  EXPECT_EQ(server.get("/healthz").status, 200);
}

// --- quotas ----------------------------------------------------------------------------------------------------------

TEST(ApiDoors, H18_quotas_of_runs_bytes_and_streams_are_429_with_when_to_come_again) {
  const std::string dsn = new_database();
  const std::string runner =
      new_token(dsn, "runner", {"--role", "run", "--role", "read", "--quota", "runs=2/1h", "--quota", "streams=1"});
  const std::string talker =
      new_token(dsn, "talker", {"--role", "run", "--role", "operate", "--quota", "bytes=1000/1h"});
  const std::string other = new_token(dsn, "other", {"--role", "run", "--quota", "runs=2/1h"});
  const Server server({"--dsn", dsn});
  const auto start = [&](const std::string& token, const std::string& text) {
    const Json body = {{"graph", "tool_agent"}, {"input", {{"messages", Json::array()}, {"text", text}}}};
    return server.post(runs, body, bearer(token));
  };
  const Reply first = start(runner, "");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(server.post(runs, {{"graph", "nowhere"}}, bearer(runner)).status, 404) << "what is refused takes nothing";
  const Json keyed = {{"graph", "tool_agent"}, {"key", "k"}, {"input", {{"messages", Json::array()}}}};
  EXPECT_EQ(server.post(runs, keyed, bearer(runner)).status, 201);
  const Reply third = start(runner, "");
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(third.json()["error"]["code"], "limit");
  EXPECT_EQ(start(other, "").status, 201);  // each token has its own
  EXPECT_NEAR(std::stoi(third.header("Retry-After")), 1'800, 60);
  EXPECT_EQ(start(talker, std::string(500, 'x')).status, 201);
  EXPECT_EQ(start(talker, std::string(500, 'x')).status, 429);
  const Json reason = {{"reason", std::string(500, 'x')}};
  EXPECT_EQ(server.post("/api/v1/queues/default", reason, bearer(talker)).status, 429);
  const std::string events = runs + "/" + first.json()["run"].get<std::string>() + "/events";
  auto stream = std::make_unique<ApiStreamReader>(server.port(), events, bearer(runner));
  const Headers wanted = {{"Authorization", "Bearer " + runner}, {"Accept", "text/event-stream"}};
  EXPECT_EQ(server.get(events, wanted).status, 429);
  stream.reset();
  EXPECT_TRUE(wait_until([&] {
    ApiConnection again(server.port());
    again.send("GET " + events + " HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n" + "Authorization: Bearer " +
               runner + "\r\n\r\n");
    return again.read_line().starts_with("HTTP/1.1 200");
  }));
}

TEST(ApiDoors, H18_a_start_that_waits_is_taken_from_the_quota_of_runs_and_the_same_one_again_is_not) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "runner", {"--role", "run", "--quota", "runs=4/1h"});
  const std::string author = new_token(dsn, "author", {"--role", "operate"});
  const Server server({"--dsn", dsn});
  const Json graph = {
      {"name", "queued"},
      {"start", "rest"},
      {"limits", {{"steps", 5}}},
      {"singleton", {{"key", "/of"}, {"when", "queue"}}},
      {"nodes",
       {{"rest", {{"do", "py.rest"}, {"labels", {"ok"}}, {"on", {{"ok", "end"}}}}}, {"end", {{"end", "done"}}}}}};
  ASSERT_EQ(server.post("/api/v1/graphs", graph, bearer(author)).status, 201);
  const auto start = [&](const std::string& key) {
    Json body = {{"graph", "queued"}, {"input", {{"of", "a"}}}};
    if (!key.empty()) body["key"] = key;
    return server.post(runs, body, bearer(token)).status;
  };
  EXPECT_EQ(start(""), 201);
  EXPECT_EQ(start("second"), 202);
  EXPECT_EQ(start("second"), 200) << "it waits already";
  EXPECT_EQ(start("third"), 202);
  EXPECT_EQ(start(""), 202);
  EXPECT_EQ(start(""), 429);
}

TEST(ApiDoors, H18_only_an_admin_brings_a_graph_of_very_many_steps_or_attempts) {
  const std::string dsn = new_database();
  const std::string author = new_token(dsn, "author", {"--role", "operate"});
  const std::string admin = new_token(dsn, "admin", {"--role", "admin"});
  const Server server({"--dsn", dsn, "--graph-steps", "1000", "--graph-attempts", "10"});
  const auto graph = [](int steps, int attempts) {
    return Json{{"name", "g"},
                {"start", "set"},
                {"limits", {{"steps", steps}}},
                {"nodes",
                 {{"set",
                   {{"do", "data.set"},
                    {"with", {{"set", {{"x", 1}}}}},
                    {"retry", {{"attempts", attempts}}},
                    {"on", {{"ok", "end"}}}}},
                  {"end", {{"end", "done"}}}}}};
  };
  EXPECT_EQ(server.post(graphs, graph(1'000, 10), bearer(author)).status, 201);
  EXPECT_EQ(server.post(graphs, graph(1'001, 10), bearer(author)).status, 403);
  EXPECT_EQ(server.post(graphs, graph(1'000, 11), bearer(author)).status, 403);
  EXPECT_EQ(server.post(graphs, graph(1'000'000, 11), bearer(admin)).status, 201);
}

// --- TLS -------------------------------------------------------------------------------------------------------------

struct TlsPair {
  std::string certificate;
  std::string key;
};

TlsPair new_pair(const std::string& name) {
  const TlsPair pair{(directory() / (name + ".pem")).string(), (directory() / (name + ".key")).string()};
  const Ran made = run_program("/usr/bin/openssl",
                               {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                                "-keyout", pair.key, "-out", pair.certificate, "-days", "1", "-subj", "/CN=" + name});
  EXPECT_EQ(made.exit, 0) << made.err;
  return pair;
}

// A connection by TLS of at most this version; throws if the server does not take it.
class TlsConnection {
 public:
  explicit TlsConnection(std::uint16_t port, int newest = TLS1_3_VERSION) {
    SSL_CTX_set_max_proto_version(context_.native_handle(), newest);
    SSL_CTX_set_security_level(context_.native_handle(), 0);
    stream_.emplace(io_, context_);
    stream_->next_layer().connect({asio::ip::address_v4::loopback(), port});
    stream_->handshake(asio::ssl::stream_base::client);
  }

  // The name in the server's certificate.
  std::string name() {
    X509* certificate = SSL_get1_peer_certificate(stream_->native_handle());
    char text[100] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
    X509_free(certificate);
    return text;
  }

  int get(const std::string& path, const std::string& token = "") {
    http::request<http::empty_body> request{http::verb::get, path, 11};
    request.set(http::field::host, "localhost");
    if (!token.empty()) request.set(http::field::authorization, "Bearer " + token);
    http::write(*stream_, request);
    http::response<http::string_body> response;
    http::read(*stream_, buffer_, response);
    return static_cast<int>(response.result_int());
  }

  void send(const std::string& text) { asio::write(*stream_, asio::buffer(text)); }
  std::string read_line() {
    std::string text;
    const std::size_t bytes = asio::read_until(*stream_, asio::dynamic_buffer(text), "\r\n");
    return text.substr(0, bytes);
  }

 private:
  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
  std::optional<asio::ssl::stream<asio::ip::tcp::socket>> stream_;
  boost::beast::flat_buffer buffer_;
};

TEST(ApiDoors, H22_the_api_speaks_tls_of_today_by_files_that_are_read_again) {
  const TlsPair pair = new_pair("first");
  const Variable token("CAIRN_TOKEN", "a secret that nobody knows");
  Server server({"--listen", "0.0.0.0:0", "--tls-cert", pair.certificate, "--tls-key", pair.key});
  TlsConnection connection(server.port());
  EXPECT_EQ(connection.name(), "first");
  EXPECT_EQ(connection.get(runs), 401);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connection.get(runs, "a secret that nobody knows"), 200);
  EXPECT_EQ(TlsConnection(server.port(), TLS1_2_VERSION).get("/healthz"), 200);
  EXPECT_THROW(TlsConnection(server.port(), TLS1_1_VERSION), boost::system::system_error);
  EXPECT_EQ(server.get("/healthz").status, 0);  // plain HTTP is no TLS
  const TlsPair other = new_pair("second");
  std::filesystem::rename(other.certificate, pair.certificate);
  std::filesystem::rename(other.key, pair.key);
  server.process().signal(SIGHUP);
  EXPECT_TRUE(wait_until([&] { return TlsConnection(server.port()).name() == "second"; }));
  EXPECT_EQ(connection.get("/healthz"), 200);  // goes on with the first
  std::filesystem::remove(pair.key);
  server.process().signal(SIGHUP);
  EXPECT_EQ(TlsConnection(server.port()).get("/healthz"), 200);
  server.process().signal(SIGTERM);
  EXPECT_EQ(server.process().wait(), 0);
}

TEST(ApiDoors, H22_a_stream_goes_over_tls_and_ends_with_its_client) {
  const TlsPair pair = new_pair("streams");
  const Server server({"--connections", "2", "--tls-cert", pair.certificate, "--tls-key", pair.key});
  const std::string run = cairn_ok({"start", "tool_agent", "--input", R"({"messages": []})", "--json"}).json()["run"];
  const std::string ask =
      "GET " + runs + "/" + run + "/events HTTP/1.1\r\nHost: localhost\r\n" + "Accept: text/event-stream\r\n\r\n";
  auto first = std::make_unique<TlsConnection>(server.port());
  first->send(ask);
  EXPECT_TRUE(first->read_line().starts_with("HTTP/1.1 200"));
  first.reset();
  EXPECT_TRUE(wait_until(
      [&] {
        TlsConnection second(server.port());
        second.send(ask);
        return second.read_line().starts_with("HTTP/1.1 200");
      },
      std::chrono::seconds(10)));
  cairn_ok({"cancel", run});
}

TEST(ApiDoors, H22_plain_http_beyond_this_machine_is_asked_for_by_name) {
  const Variable token("CAIRN_TOKEN", "a secret that nobody knows");
  expect_refused(cairn({"serve", "--listen", "0.0.0.0:0"}), 4, "--plain-http");
  expect_refused(cairn({"up", "--listen", "[::]:0"}), 4, "--plain-http");
  expect_refused(cairn({"serve", "--listen", "0.0.0.0:0", "--tls-cert", "/nowhere", "--tls-key", "/nowhere"}), 4,
                 "Expected a certificate");
  EXPECT_EQ(cairn({"serve", "--tls-cert", "/nowhere"}).exit, 2);
  EXPECT_EQ(cairn({"serve", "--tls-key", "/nowhere", "--listen", "0.0.0.0:0"}).exit, 2);
}

TEST(ApiDoors, H22_doctor_looks_at_the_ways_to_the_database_and_the_model) {
  const auto found = [](const std::string& name) {
    const Json said = cairn({"doctor", "--json"}).json();
    for (const Json& check : said["checks"])
      if (check["name"] == name) return check;
    return Json();
  };
  EXPECT_EQ(found("database_tls"), Json());  // a socket of this machine
  EXPECT_EQ(found("model_tls"), Json());
  const Variable local("CAIRN_MODEL_URL", "http://127.0.0.1:9/v1");
  EXPECT_EQ(found("model_tls")["ok"], true);
  const Variable plain("CAIRN_MODEL_URL", "http://models.example/v1");
  EXPECT_EQ(found("model_tls")["ok"], false);
  const Variable secure("CAIRN_MODEL_URL", "https://models.example/v1");
  EXPECT_EQ(found("model_tls")["ok"], true);
}

}  // namespace
}  // namespace cairn::program
