// Pauses after "not now" (429, 503): those that the endpoint asks for in one of the known headers, and the client's
// own.
#include "workers/models/rate_limit.hpp"

#include <chrono>
#include <gtest/gtest.h>

#include "tests/workers/ports/loopback.hpp"
#include "workers/models/http_model.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using Served = LoopbackServer::Reply;
using Headers = std::vector<std::pair<std::string, std::string>>;

std::int64_t asked_by(Headers headers, std::int64_t retry_after_ms = 0) {
  return asked_pause_ms({429, "", retry_after_ms, std::move(headers)});
}

TEST(RateLimit, the_pause_is_read_from_each_of_the_headers) {
  EXPECT_EQ(asked_by({}), 0);
  EXPECT_EQ(asked_by({}, 2'000), 2'000);
  EXPECT_EQ(asked_by({{"retry-after-ms", "350"}}, 1'000), 350) << "it is the finer one";
  EXPECT_EQ(asked_by({{"retry-after-ms", "12.4"}}), 13);
  EXPECT_EQ(asked_by({{"retry-after-ms", "soon"}}, 1'000), 1'000);
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-requests", "1s"}}), 1'000);
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-tokens", "6m0s"}}), 360'000);
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-tokens", "20ms"}}), 20);
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-tokens", "1h2m3.5s"}}), 3'723'500);
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-tokens", "7.66"}}), 7'660);
  for (const char* strange : {"", "-1s", "1x", "s", "1s2", "nan", "tomorrow"})
    EXPECT_EQ(asked_by({{"x-ratelimit-reset-tokens", strange}}), 0) << strange;
  EXPECT_EQ(asked_by({{"retry-after-ms", "1e99"}, {"x-ratelimit-reset-tokens", "99999999d"}}), 86'400'000);
}

TEST(RateLimit, a_time_of_the_clock_is_no_pause) {
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-requests", "1764412800"}}), 0);
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-requests", "1764412800"}, {"x-ratelimit-reset-tokens", "2s"}}), 2'000);
  EXPECT_EQ(asked_by({{"x-ratelimit-reset-requests", "86400"}}), 86'400'000);
}

TEST(RateLimit, the_pause_is_read_from_the_details_of_an_error_too) {
  const std::string body = R"({"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED", "details": [
      {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
      {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}]}})";
  EXPECT_EQ(asked_pause_ms({429, body, 0, {}}), 13'500);
  EXPECT_EQ(asked_pause_ms({429, "[" + body + "]", 0, {}}), 13'500) << "as it comes in a list, too";
  EXPECT_EQ(asked_pause_ms({429, body, 2'000, {}}), 2'000) << "a header goes first";
  for (const char* strange : {R"({"error": {"details": "retryDelay"}})", R"({"retryDelay": 1)", R"(["retryDelay"])",
                              R"({"error": {"details": [7, {"retryDelay": "soon"}]}, "x": "\"retryDelay\""})"})
    EXPECT_EQ(asked_pause_ms({429, strange, 0, {}}), 0) << strange;
}

TEST(RateLimit, the_limit_that_is_used_up_says_how_long) {
  const Headers resets = {{"x-ratelimit-reset-requests", "9s"}, {"x-ratelimit-reset-tokens", "2s"}};
  Headers tokens = resets;
  tokens.emplace_back("x-ratelimit-remaining-requests", "4");
  tokens.emplace_back("x-ratelimit-remaining-tokens", "0");
  EXPECT_EQ(asked_by(tokens), 2'000);
  Headers both = resets;
  both.emplace_back("x-ratelimit-remaining-requests", "0");
  both.emplace_back("x-ratelimit-remaining-tokens", "0");
  EXPECT_EQ(asked_by(both), 9'000);
  EXPECT_EQ(asked_by(resets), 2'000) << "none is known to be used up";
}

TEST(RateLimit, own_pauses_double_and_differ_between_requests) {
  for (int pauses = 0; pauses < own_pauses_max; ++pauses) {
    const std::int64_t whole = 500LL << pauses;
    EXPECT_GT(own_pause_ms(pauses, "run/1"), whole * 4 / 5 - 1);
    EXPECT_LE(own_pause_ms(pauses, "run/1"), whole);
    EXPECT_EQ(own_pause_ms(pauses, "run/1"), own_pause_ms(pauses, "run/1"));
  }
  EXPECT_NE(own_pause_ms(2, "run/1"), own_pause_ms(2, "run/2"));
}

struct Busy {
  Busy(int times, Served refusal, std::int64_t timeout_ms)
      : server([this, times, refusal](const LoopbackServer::Request&) {
          if (++asked <= times) return refusal;
          return Served{.body = R"({"choices": [{"message": {"role": "assistant", "content": "yes"}}]})"};
        }) {
    ModelEndpoint endpoint;
    endpoint.url = server.url("/v1");
    endpoint.model = "m";
    endpoint.timeout_ms = timeout_ms;
    ModelRequest request;
    request.messages = {{{"role", "user"}, {"content", "?"}}};
    request.key = "run/1";
    answer = testing::run(make_http_model(endpoint)->ask(request));
  }

  std::atomic<int> asked = 0;
  LoopbackServer server;
  ModelAnswer answer;
};

TEST(RateLimit, an_endpoint_that_does_not_say_when_is_asked_again_within_the_requests_time) {
  for (const unsigned status : {429U, 503U}) {
    const Busy busy(2, {.status = status, .body = "busy"}, 10'000);
    EXPECT_EQ(busy.answer.reply.value, "yes");
    EXPECT_EQ(busy.asked, 3);
  }
}

TEST(RateLimit, an_endpoint_that_stays_busy_is_asked_a_few_times_only) {
  const Busy busy(100, {.status = 429, .body = "busy"}, 60'000);
  EXPECT_EQ(busy.asked, 1 + own_pauses_max);
  ASSERT_TRUE(busy.answer.failure);
  EXPECT_EQ(busy.answer.failure->error, "refused");
  EXPECT_TRUE(busy.answer.failure->retryable);
  EXPECT_EQ(busy.answer.failure->pause_ms, 0);
}

TEST(RateLimit, no_pause_goes_beyond_the_requests_time) {
  const Busy busy(100, {.status = 429, .body = "busy"}, 300);
  EXPECT_EQ(busy.asked, 1) << "the first pause would be longer";
}

TEST(RateLimit, milliseconds_that_the_endpoint_asks_for_are_waited) {
  const Busy busy(5, {.status = 429, .body = "busy", .headers = {{"retry-after-ms", "20"}}}, 10'000);
  EXPECT_EQ(busy.answer.reply.value, "yes");
  EXPECT_EQ(busy.asked, 6) << "more often than the client would by itself";
}

TEST(RateLimit, a_reset_that_is_too_far_is_told_as_the_pause) {
  const Busy busy(100, {.status = 429, .body = "busy", .headers = {{"x-ratelimit-reset-requests", "2m"}}}, 5'000);
  EXPECT_EQ(busy.asked, 1);
  ASSERT_TRUE(busy.answer.failure);
  EXPECT_EQ(busy.answer.failure->pause_ms, 120'000);
}

TEST(RateLimit, another_refusal_is_not_waited_after) {
  for (const unsigned status : {400U, 401U, 500U}) {
    const Busy busy(100, {.status = status, .body = "no", .headers = {{"retry-after-ms", "20"}}}, 10'000);
    EXPECT_EQ(busy.asked, 1) << status;
  }
}

}  // namespace
}  // namespace cairn
