// Requests that are not what they seem: whose end or whose host is unclear, whose texts are none, and those that are
// well made though rare.
#include <cstdlib>
#include <gtest/gtest.h>

#include "ops/http/transport/message.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

const std::string hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

// The first answer to `head` with another request as its body; and that there is no second.
Reply only_reply(const Server& server, const std::string& head) {
  ApiConnection connection(server.port());
  connection.send(head + "\r\n" + hidden);
  Reply first = connection.read_reply();
  EXPECT_EQ(connection.read_reply().status, 0) << head;
  return first;
}

TEST(ApiProtocol, a_request_without_a_clear_end_is_the_last_and_its_body_no_request) {
  const Server server;
  const std::string get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(only_reply(server, get + "Transfer-Encoding: gzip\r\n").status, 501);
  EXPECT_EQ(only_reply(server, get + "Transfer-Encoding: gzip, chunked\r\n").status, 501);
  EXPECT_EQ(only_reply(server, get + "Transfer-Encoding: xchunked\r\n").status, 501);
  EXPECT_EQ(only_reply(server, get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n").status, 400);
  EXPECT_EQ(only_reply(server, get + "Transfer-Encoding: gzip\r\nContent-Length: 4\r\n").status, 400);
  EXPECT_EQ(only_reply(server, get + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n").status, 400);
  EXPECT_EQ(only_reply(server, get + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n").status, 400);
  EXPECT_EQ(only_reply(server, get + "Host: localhost\r\n").status, 400);
}

TEST(ApiProtocol, chunked_is_taken_in_any_case_and_a_bad_chunk_is_told) {
  const Server server;
  const std::string head = "POST " + runs + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  ApiConnection good(server.port());
  good.send(head + "Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden);
  EXPECT_EQ(good.read_reply().status, 400);  // it names no graph
  EXPECT_EQ(good.read_reply().status, 200);
  ApiConnection bad(server.port());
  bad.send(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n");
  EXPECT_EQ(bad.read_reply().status, 400);
  EXPECT_TRUE(bad.is_ended());
}

TEST(ApiProtocol, paths_and_queries_are_texts) {
  const Server server;
  for (const char* target : {"/%00", "/%FF", "/api/v1/graphs/a%00b", "/api/v1/graphs/%C3", "/api/v1/runs?graph=a%00b",
                             "/api/v1/runs?graph=%FF", "/api/v1/runs?tag=a%3D%00", "/api/v1/runs?%00=1"}) {
    const Reply reply = server.get(target);
    EXPECT_EQ(reply.status, 400) << target << reply.body;
    EXPECT_NE(reply.message().find("UTF-8 without NUL"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(server.get("/api/v1/graphs/%C3%A9").status, 404);
}

TEST(ApiProtocol, a_query_that_is_written_is_read_as_it_was) {
  std::vector<std::pair<std::string, std::string>> query;
  for (const char* text : {"a+b", "a,b", "a;b", "a b", "a&b=c", "a%2Bb", "a'b", "<a>", "#?/", "\u00e9", ""})
    query.emplace_back(text, text);
  const Result<ApiRequest> request = request_of("GET", "/" + query_of(query));
  ASSERT_TRUE(request) << query_of(query);
  EXPECT_EQ(request->query, query);
  EXPECT_EQ(query_of({{"tag", "says=a,b;c"}}).find_first_of(",;"), std::string::npos) << "a header's own marks";
}

TEST(ApiProtocol, an_empty_query_is_none) {
  const Server server;
  EXPECT_EQ(server.get(runs + "?").status, 200);
  EXPECT_EQ(server.get("/api/v1/graphs?").status, 200);
  EXPECT_EQ(server.get(runs + "?=").status, 400);
}

TEST(ApiProtocol, sentences_name_what_they_mean) {
  const Server server;
  const std::string events = runs + "/01890000-0000-7000-8000-000000000000/events";
  EXPECT_EQ(server.get(events + "?from=x").message().find("Expected a number from 0 to "), 0U);
  EXPECT_EQ(server.get("/api/v1/graphs/").status, 404);
  EXPECT_EQ(server.get("/api/v1/graphs/").message().find("graph named"), std::string::npos);
  EXPECT_EQ(ApiConnection(server.port()).ask("DELETE", runs).message(),
            "Expected one of the methods POST, GET, HEAD, OPTIONS, but found DELETE.");
  EXPECT_EQ(ApiConnection(server.port()).ask("DELETE", "/api/v1/queues").message(),
            "Expected one of the methods GET, HEAD, OPTIONS, but found DELETE.");
}

TEST(ApiProtocol, names_have_a_length) {
  const Server server;
  const std::string most(1'000, 'x');
  const auto status = [&server](const Json& body) { return server.post(runs, body).status; };
  EXPECT_EQ(status({{"graph", most}}), 404);
  EXPECT_EQ(status({{"graph", most + "x"}}), 400);
  EXPECT_EQ(status({{"graph", "none"}, {"key", most + "x"}}), 400);
  EXPECT_EQ(status({{"graph", "none"}, {"tags", {{most + "x", ""}}}}), 400);
  EXPECT_EQ(status({{"graph", "none"}, {"tags", {{"a", most + "x"}}}}), 400);
  Json tags = Json::object();
  for (int i = 0; i < 100; ++i) tags[std::to_string(i)] = most;
  EXPECT_EQ(status({{"graph", "none"}, {"key", most}, {"tags", tags}}), 404);
  tags["one more"] = "";
  EXPECT_EQ(status({{"graph", "none"}, {"tags", tags}}), 400);
  EXPECT_EQ(server.post("/api/v1/graphs", {{"name", most + "x"}}).status, 400);
  const std::string signals = runs + "/01890000-0000-7000-8000-000000000000/signals";
  EXPECT_EQ(server.post(signals, {{"name", most}, {"value", 1}}).status, 404);
  EXPECT_EQ(server.post(signals, {{"name", most + "x"}, {"value", 1}}).status, 400);
}

TEST(ApiProtocol, head_is_get_without_a_body_where_probes_ask) {
  const Server server;
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) {
    ApiConnection connection(server.port());
    connection.send("HEAD " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const std::string got = connection.read_all();
    EXPECT_TRUE(got.starts_with("HTTP/1.1 200 ")) << got;
    EXPECT_TRUE(got.ends_with("\r\n\r\n")) << got;
    EXPECT_NE(got.find("Content-Length: "), std::string::npos) << got;
    EXPECT_EQ(got.find("Content-Length: 0\r"), std::string::npos) << got;
  }
  EXPECT_EQ(ApiConnection(server.port()).ask("PUT", "/healthz").header("Allow"), "GET, HEAD, OPTIONS");
}

TEST(ApiProtocol, a_host_is_this_machine_in_any_spelling_and_nothing_beside) {
  const Server server;
  const auto status = [&server](const std::string& host) { return server.get(runs, {{"Host", host}}).status; };
  for (const char* host : {"LOCALHOST", "LocalHost.:80", "localhost.", "127.0.0.1.:8080", "[::1]", "127.0.0.1:"})
    EXPECT_EQ(status(host), 200) << host;
  for (const char* host : {"[::1", "::1", "[127.0.0.1]", "127.0.0.1:80@evil", "127.0.0.1:abc", "127.0.0.1:80:90",
                           "[::1]evil", "[::1]:80:90", "localhost..", "."})
    EXPECT_EQ(status(host), 403) << host;
}

TEST(ApiProtocol, a_refusal_after_a_wait_hides_no_run) {
  const ApiResponse refused = error_response(409, "limit", "Expected less.");
  ApiLater later;
  EXPECT_EQ(answer_after(later, refused).status, 409u);
  later.otherwise = json_response({{"run", "r"}}, 201);
  EXPECT_EQ(answer_after(later, refused).status, 201u);
  EXPECT_EQ(answer_after(later, refused).body, later.otherwise->body);
  EXPECT_EQ(answer_after(later, json_response({{"status", "done"}})).status, 200u);
}

TEST(ApiProtocol, an_address_has_one_port) {
  for (const char* address : {"127.0.0.1:80:90", "[::1]:80:90", "[::1]x:80", "127.0.0.1:+80"})
    expect_refused(cairn({"serve", "--listen", address}), 2, "Expected an address");
}

TEST(ApiProtocol, the_word_bearer_has_any_case) {
  setenv("CAIRN_TOKEN", "secret", 1);
  const Server server;
  unsetenv("CAIRN_TOKEN");
  for (const char* given : {"Bearer secret", "bearer secret", "BEARER secret"})
    EXPECT_EQ(server.get(runs, {{"Authorization", given}}).status, 200) << given;
  for (const char* given : {"Bearer Secret", "Bearersecret", "bearer", "Bearer ", "Bearer  secret"})
    EXPECT_EQ(server.get(runs, {{"Authorization", given}}).status, 401) << given;
}

}  // namespace
}  // namespace cairn::program
