#include "workers/ports/http_client.hpp"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <thread>

#include "tests/workers/ports/loopback.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using testing::TemporaryFolder;
using Reply = LoopbackServer::Reply;

HttpRequest request_to(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.body = "{}";
  request.timeout_ms = 10'000;
  return request;
}

HttpResult post(const HttpRequest& request) {
  HttpClient client;
  return testing::run(client.send(request));
}

HttpFault fault_of(const HttpResult& result) {
  if (!result) return result.error();
  ADD_FAILURE() << "it answered " << result->status << " " << result->body;
  return {};
}

TEST(HttpClient, posts_body_and_headers_and_returns_the_answer) {
  const LoopbackServer server([](const LoopbackServer::Request& request) {
    return Reply{201, "got " + request.body()};
  });
  HttpRequest request = request_to(server.url("/a/b?c=d"));
  request.headers = {{"x-word", "one"}};
  const HttpResult result = post(request);
  ASSERT_TRUE(result.ok()) << fault_of(result).message;
  EXPECT_EQ(result->status, 201);
  EXPECT_EQ(result->body, "got {}");
  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.target(), "/a/b?c=d");
  EXPECT_EQ(seen["x-word"], "one");
  EXPECT_EQ(seen["host"], "127.0.0.1:" + std::to_string(server.port()));
}

TEST(HttpClient, a_closed_port_is_unreachable) {
  const HttpFault fault =
      fault_of(post(request_to("http://127.0.0.1:" + std::to_string(testing::closed_port()) + "/")));
  EXPECT_EQ(fault.kind, HttpFault::Kind::unreachable);
  EXPECT_NE(fault.message.find("127.0.0.1"), std::string::npos);
}

TEST(HttpClient, a_name_that_does_not_exist_is_unreachable) {
  EXPECT_EQ(fault_of(post(request_to("http://nowhere.invalid/"))).kind, HttpFault::Kind::unreachable);
}

TEST(HttpClient, a_server_that_says_nothing_is_left_at_the_deadline) {
  const LoopbackServer server([](const LoopbackServer::Request&) { return Reply{200, "", true}; });
  HttpRequest request = request_to(server.url("/?secret=s3cret"));
  request.timeout_ms = 50;
  const auto began = std::chrono::steady_clock::now();
  const HttpFault fault = fault_of(post(request));
  EXPECT_EQ(fault.kind, HttpFault::Kind::timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(fault.message.find("s3cret"), std::string::npos) << fault.message;
}

TEST(HttpClient, an_answer_beyond_the_limit_is_too_big_and_its_status_is_known) {
  const LoopbackServer server([](const LoopbackServer::Request&) { return Reply{202, std::string(2'000, 'x')}; });
  HttpRequest request = request_to(server.url("/"));
  request.answer_bytes_max = 1'999;
  const HttpFault fault = fault_of(post(request));
  EXPECT_EQ(fault.kind, HttpFault::Kind::too_big);
  EXPECT_EQ(fault.status, 202);
  EXPECT_EQ(fault_of(post(request_to("http://nowhere.invalid/"))).status, 0);
  request.answer_bytes_max = 2'000;
  EXPECT_TRUE(post(request).ok());
}

TEST(HttpClient, what_is_no_url_is_refused) {
  for (const char* url : {"", "no url", "ftp://host/x", "http://", "http:///x", "/path", "http://u:p@host/",
                          "http://host:0/", "http://host:99999/", "http://a b/"}) {
    EXPECT_FALSE(check_url(url).ok()) << url;
    EXPECT_EQ(fault_of(post(request_to(url))).kind, HttpFault::Kind::invalid) << url;
  }
  for (const char* url : {"http://host", "https://host:8443/v1?x=y", "http://[::1]:80/x", "http://127.0.0.1/"}) {
    EXPECT_TRUE(check_url(url).ok()) << url;
  }
}

TEST(HttpClient, a_header_cannot_bring_another_line) {
  HttpRequest request = request_to("http://127.0.0.1:1/");
  request.headers = {{"idempotency-key", "a\r\nx-evil: 1"}};
  EXPECT_EQ(fault_of(post(request)).kind, HttpFault::Kind::invalid);
}

TEST(HttpClient, sends_each_method_and_no_other) {
  const LoopbackServer server([](const LoopbackServer::Request& request) {
    Reply reply{200, std::string(request.method_string())};
    reply.headers = {{"X-Word", "One"}};
    return reply;
  });
  HttpRequest request = request_to(server.url("/"));
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}) {
    request.method = method;
    request.body = request.method == "GET" || request.method == "HEAD" ? "" : "{}";
    const HttpResult result = post(request);
    ASSERT_TRUE(result.ok()) << fault_of(result).message;
    EXPECT_EQ(result->body, request.method == "HEAD" ? "" : method);
    const std::pair<std::string, std::string> word{"x-word", "One"};
    EXPECT_NE(std::find(result->headers.begin(), result->headers.end(), word), result->headers.end()) << method;
  }
  for (const char* method : {"", "get", "TRACE", "CONNECT", "GET / HTTP/1.1\r\nx: y\r\n"}) {
    request.method = method;
    EXPECT_EQ(fault_of(post(request)).kind, HttpFault::Kind::invalid) << method;
  }
  EXPECT_EQ(server.requests().size(), 6U);
}

TEST(HttpClient, a_headers_name_is_a_token) {
  for (const char* name : {"", "a b", "a:", "a\r\nb", "\xC3\xA9"}) {
    HttpRequest request = request_to("http://127.0.0.1:1/");
    request.headers = {{name, "x"}};
    EXPECT_EQ(fault_of(post(request)).kind, HttpFault::Kind::invalid) << name;
  }
}

// The answers in turn; the last one again and again.
LoopbackServer::Answers in_turn(std::vector<Reply> replies) {
  return [replies = std::move(replies), next = std::size_t{0}](const LoopbackServer::Request&) mutable {
    return replies[std::min(next++, replies.size() - 1)];
  };
}

Reply kept(const std::string& body) {
  Reply reply{200, body};
  reply.kept = true;
  return reply;
}

Reply gone() {
  Reply reply;
  reply.gone = true;
  return reply;
}

std::string body_of(const HttpResult& result) { return result ? result->body : result.error().message; }

TEST(HttpClient, a_connection_that_the_server_keeps_is_used_again) {
  const LoopbackServer server(in_turn({kept("one"), kept("two"), Reply{200, "three"}, Reply{200, "four"}}));
  boost::asio::io_context io;
  HttpClient client;
  for (const char* expected : {"one", "two", "three"})
    EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), expected);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), "four");
  EXPECT_EQ(server.connections(), 2) << "the server had closed the first with its third answer";
}

TEST(HttpClient, a_kept_connection_ends_with_its_thread_not_with_its_client) {
  const LoopbackServer server(in_turn({kept("one"), kept("two")}));
  HttpClient client;
  for (const char* expected : {"one", "two"}) {
    boost::asio::io_context io;
    EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), expected);
  }
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpClient, a_request_whose_kept_connection_ends_without_a_word_is_sent_over_a_new_one) {
  const LoopbackServer server(in_turn({kept("one"), gone(), Reply{200, "two"}}));
  boost::asio::io_context io;
  HttpClient client;
  EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), "one");
  EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), "two");
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST(HttpClient, what_a_server_says_unasked_over_a_kept_connection_is_nobodys_answer) {
  for (const bool apart : {false, true}) {
    Reply first = kept("one");
    first.unasked = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";  // as some do before they close
    first.apart = apart;
    const LoopbackServer server(in_turn({first, Reply{200, "two"}}));
    boost::asio::io_context io;
    HttpClient client;
    EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), "one");
    while (apart && server.ended_connections() == 0) std::this_thread::yield();
    EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), "two") << apart;
  }
}

TEST(HttpClient, a_new_connection_that_ends_without_a_word_is_not_tried_again) {
  const LoopbackServer server(in_turn({gone(), Reply{200, "never asked"}}));
  EXPECT_EQ(fault_of(post(request_to(server.url("/")))).kind, HttpFault::Kind::unreachable);
  EXPECT_EQ(server.requests().size(), 1U);
}

// It was an answer with status 200 and no body.
TEST(HttpClient, an_answer_that_is_read_in_parts_and_never_begins_is_none) {
  const LoopbackServer server(in_turn({gone(), kept("one"), gone(), Reply{200, "two"}}));
  boost::asio::io_context io;
  HttpClient client;
  HttpRequest request = request_to(server.url("/"));
  request.on_part = [](int, std::string_view) {};
  EXPECT_EQ(fault_of(testing::run(io, client.send(request))).kind, HttpFault::Kind::unreachable);
  EXPECT_EQ(body_of(testing::run(io, client.send(request))), "one");
  EXPECT_EQ(body_of(testing::run(io, client.send(request))), "two") << "a kept connection had ended without a word";
}

TEST(HttpClient, an_address_that_may_not_be_connected_to_is_left_alone) {
  const LoopbackServer server(in_turn({Reply{200, "one"}}));
  std::vector<std::string> asked;
  bool may = false;
  HttpRequest request = request_to(server.url("/"));
  request.may_connect = [&](const std::string& address) {
    asked.push_back(address);
    return may;
  };
  const HttpFault fault = fault_of(post(request));
  EXPECT_EQ(fault.kind, HttpFault::Kind::unreachable);
  EXPECT_NE(fault.message.find("an address that may not be connected to"), std::string::npos) << fault.message;
  EXPECT_EQ(server.connections(), 0);
  may = true;
  EXPECT_EQ(body_of(post(request)), "one");
  EXPECT_EQ(asked, (std::vector<std::string>{"127.0.0.1", "127.0.0.1"}));
}

TEST(HttpClient, an_answer_that_is_cut_off_over_a_kept_connection_is_not_asked_for_again) {
  Reply cut{200, "half of this"};
  cut.cut = true;
  const LoopbackServer server(in_turn({kept("one"), cut, Reply{200, "never asked"}}));
  boost::asio::io_context io;
  HttpClient client;
  EXPECT_EQ(body_of(testing::run(io, client.send(request_to(server.url("/"))))), "one");
  EXPECT_EQ(fault_of(testing::run(io, client.send(request_to(server.url("/"))))).kind, HttpFault::Kind::unreachable);
  EXPECT_EQ(server.requests().size(), 2U);
}

class TrustedCertificates {
 public:
  explicit TrustedCertificates(const std::string& file) { ::setenv("SSL_CERT_FILE", file.c_str(), 1); }
  TrustedCertificates(const TrustedCertificates&) = delete;
  TrustedCertificates& operator=(const TrustedCertificates&) = delete;
  ~TrustedCertificates() { ::unsetenv("SSL_CERT_FILE"); }
};

class HttpsClient : public ::testing::Test {
 protected:
  std::string url(const std::string& host) const { return "https://" + host + ":" + std::to_string(server_.port()); }

  TemporaryFolder folder_;
  testing::Certificate certificate_ = testing::make_certificate(folder_);
  LoopbackServer server_{[](const LoopbackServer::Request&) { return Reply{200, "secure"}; }, certificate_};
};

TEST_F(HttpsClient, an_unknown_certificate_is_refused) {
  const HttpFault fault = fault_of(post(request_to(url("localhost"))));
  EXPECT_EQ(fault.kind, HttpFault::Kind::unreachable);
  EXPECT_NE(fault.message.find("certificate verify failed"), std::string::npos) << fault.message;
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(HttpsClient, a_certificate_of_a_configured_authority_is_accepted) {
  const TrustedCertificates trusted(certificate_.certificate_file);
  const HttpResult result = post(request_to(url("localhost")));
  ASSERT_TRUE(result.ok()) << fault_of(result).message;
  EXPECT_EQ(result->body, "secure");
}

TEST_F(HttpsClient, a_kept_connection_is_used_again) {
  const TrustedCertificates trusted(certificate_.certificate_file);
  const LoopbackServer server(in_turn({kept("one"), Reply{200, "two"}}), certificate_);
  const HttpRequest request = request_to("https://localhost:" + std::to_string(server.port()));
  boost::asio::io_context io;
  HttpClient client;
  EXPECT_EQ(body_of(testing::run(io, client.send(request))), "one");
  EXPECT_EQ(body_of(testing::run(io, client.send(request))), "two");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpsClient, a_certificate_for_another_name_is_refused) {
  const TrustedCertificates trusted(certificate_.certificate_file);
  EXPECT_EQ(fault_of(post(request_to(url("127.0.0.1")))).kind, HttpFault::Kind::unreachable);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(HttpsClient, a_server_without_tls_is_unreachable) {
  const LoopbackServer plain([](const LoopbackServer::Request&) { return Reply{200, "plain"}; });
  const std::string plain_url = "https://localhost:" + std::to_string(plain.port());
  EXPECT_EQ(fault_of(post(request_to(plain_url))).kind, HttpFault::Kind::unreachable);
}

TEST(HttpClient, a_request_under_way_may_outlive_its_client_and_die_with_the_thread) {
  const LoopbackServer server([](const LoopbackServer::Request&) { return Reply{200, "", true}; });
  boost::asio::io_context io;
  auto client = std::make_unique<HttpClient>();
  auto work = client->send(request_to(server.url("/")));
  boost::asio::co_spawn(io, std::move(work), boost::asio::detached);
  while (server.requests().empty()) io.run_one_for(std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace cairn
