// URLs as tools.
#include <gtest/gtest.h>

#include "tests/workers/ports/tool_trial.hpp"

namespace cairn {
namespace {

using namespace testing;
using Reply = LoopbackServer::Reply;

ToolAnswer call_url(const std::string& url, std::int64_t timeout_ms = 20'000) {
  ToolSpec spec;
  spec.name = "remote";
  spec.does = ToolSpec::Http{url};
  spec.timeout_ms = timeout_ms;
  const auto tools = make_tools({spec}, 1);
  return testing::run(tools->call(call_of("remote", {{"x", 1}})));
}

ToolAnswer call_server(const Reply& reply, std::int64_t timeout_ms = 20'000) {
  const LoopbackServer server([reply](const LoopbackServer::Request&) { return reply; });
  return call_url(server.url("/tool"), timeout_ms);
}

TEST(UrlTools, get_the_document_as_body_and_the_key_as_header) {
  const LoopbackServer server([](const LoopbackServer::Request& request) { return Reply{200, request.body()}; });
  const Json document = outputs_of(call_url(server.url("/tool")));
  EXPECT_EQ(document["inputs"], (Json{{"x", 1}}));
  EXPECT_EQ(document["step"], 3);
  const auto request = server.requests().at(0);
  EXPECT_EQ(request["content-type"], "application/json");
  EXPECT_EQ(request["idempotency-key"], "0198c3f2-0000-7000-8000-000000000001/3");
  EXPECT_EQ(request.method_string(), "POST");
}

TEST(UrlTools, a_status_of_400_or_more_fails_with_the_body) {
  struct Row {
    unsigned status;
    bool retryable;
  };
  for (const Row& row : {Row{400, false}, Row{404, false}, Row{429, true}, Row{500, true}, Row{503, true}}) {
    const Failure failure = failure_of(call_server({row.status, "no\nluck", false}));
    EXPECT_EQ(failure.error, "error");
    EXPECT_EQ(failure.message, "no luck");
    EXPECT_EQ(failure.retryable, row.retryable) << row.status;
  }
  EXPECT_EQ(failure_of(call_server({500, "", false})).message, "status 500");
}

TEST(UrlTools, F29_the_pause_that_the_server_asks_for_comes_along) {
  const auto pause_of = [](unsigned status, const std::string& retry_after) {
    Reply reply{status, "busy", false};
    reply.retry_after = retry_after;
    return failure_of(call_server(reply)).pause_ms;
  };
  EXPECT_EQ(pause_of(503, "3"), 3'000);
  EXPECT_EQ(pause_of(429, "0"), 0);
  EXPECT_EQ(pause_of(429, "1.25"), 1'250) << "as some servers give it";
  EXPECT_EQ(pause_of(429, "0.0004"), 1) << "not at once";
  EXPECT_EQ(pause_of(503, ""), 0);
  EXPECT_EQ(pause_of(503, "soon"), 0);
  EXPECT_EQ(pause_of(503, "-5"), 0);
  EXPECT_EQ(pause_of(503, "99999999999999999999"), 0) << "no number of 64 bits";
  EXPECT_EQ(pause_of(503, "86400"), pause_ms_max) << "an hour at most";
  EXPECT_EQ(pause_of(503, "Wed, 21 Oct 2015 07:28:00 GMT"), 0) << "that is past";
  EXPECT_EQ(pause_of(503, "Wed, 21 Oct 2199 07:28:00 GMT"), pause_ms_max);
}

TEST(UrlTools, garbage_is_bad_output) {
  for (const char* body : {"", "garbage", "[]", "{} {}", "{\"a\":\"\xFF\"}"}) {
    const Failure failure = failure_of(call_server({200, body, false}));
    EXPECT_EQ(failure.error, "bad_output") << body;
    EXPECT_FALSE(failure.retryable);
  }
}

TEST(UrlTools, a_body_beyond_the_limit_is_bad_output) {
  EXPECT_EQ(failure_of(call_server({200, std::string(json_bytes_max + 1, 'x'), false})).error, "bad_output");
}

TEST(UrlTools, a_slow_one_times_out) {
  const Failure failure = failure_of(call_server({200, "", true}, 50));
  EXPECT_EQ(failure.error, "timeout");
  EXPECT_TRUE(failure.retryable);
}

TEST(UrlTools, one_that_nobody_serves_is_unreachable) {
  const Failure failure = failure_of(call_url("http://127.0.0.1:" + std::to_string(testing::closed_port()) + "/x"));
  EXPECT_EQ(failure.error, "unreachable");
  EXPECT_TRUE(failure.retryable);
}

}  // namespace
}  // namespace cairn
