// `http.call` at its port, against a real server: what is sent, what comes back, and what is refused.
#include "workers/ports/http_calls.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "storage/ground/base64.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using Reply = LoopbackServer::Reply;

constexpr const char* token = "s3cret/with+\"all\" 100%";

class HttpCalls : public ::testing::Test {
 protected:
  HttpCalls() {
    ::setenv("HTTP_CALLS_TOKEN", token, 1);
    auto opened = Secrets::open(*parse_secrets(Json::parse(
        R"({"TOKEN": {"env": "HTTP_CALLS_TOKEN"}, "ELSEWHERE": {"env": "HTTP_CALLS_TOKEN", "urls": ["https://h"]}})")));
    ::unsetenv("HTTP_CALLS_TOKEN");
    secrets_ = *std::move(opened);
  }

  static Reply json(const Json& body) {
    Reply reply{200, body.dump()};
    reply.headers = {{"Content-Type", "application/json; charset=utf-8"}};
    return reply;
  }

  ToolAnswer call(const LoopbackServer& server, Json with, const std::string& path = "/api/x") {
    if (!with.contains("url")) with["url"] = server.url(path);
    ToolsAround around{secrets_, *UrlList::of({server.url("/api")})};
    const auto tools = make_tools({}, 1, std::move(around));
    ToolCall call;
    call.step = 7;
    call.key = "run/7";
    call.tool = http_call_name;
    call.inputs = std::move(with);
    return testing::run(tools->call_http(std::move(call)));
  }

  Json outputs(const LoopbackServer& server, Json with) {
    ToolAnswer answer = call(server, std::move(with));
    if (!answer) ADD_FAILURE() << answer.error().error << ": " << answer.error().message;
    return answer ? *std::move(answer) : Json();
  }

  Failure failure(const LoopbackServer& server, Json with) {
    ToolAnswer answer = call(server, std::move(with));
    if (answer) ADD_FAILURE() << *answer;
    return answer ? Failure() : answer.error();
  }

  Secrets secrets_;
};

LoopbackServer::Answers always(const Reply& reply) {
  return [reply](const LoopbackServer::Request&) { return reply; };
}

TEST_F(HttpCalls, get_a_body_as_json_or_text_by_its_content_type) {
  const LoopbackServer server(always(json({{"n", 5}})));
  EXPECT_EQ(outputs(server, Json::object()), Json::parse(R"({"status": 200, "body": {"n": 5}})"));
  EXPECT_EQ(outputs(server, {{"as", "text"}})["body"], R"({"n":5})");
  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.method_string(), "GET");
  EXPECT_EQ(seen["idempotency-key"], "") << "a safe method has none";
  const LoopbackServer plain(always({200, "5"}));
  EXPECT_EQ(outputs(plain, Json::object())["body"], "5");
  EXPECT_EQ(outputs(plain, {{"as", "json"}})["body"], 5);
}

TEST_F(HttpCalls, send_query_headers_and_each_kind_of_body_with_the_steps_key) {
  const LoopbackServer server(always({204, ""}));
  const Json query = Json::parse(R"({"q": "a b&c=d/é", "n": 5, "on": true, "tags": ["x", "y"], "none": null})");
  outputs(server, {{"method", "POST"}, {"query", query}, {"headers", {{"X-Word", "one"}}}, {"body", {{"a", 1}}}});
  outputs(server, {{"method", "PUT"}, {"form", {{"a b", "c+d"}}}});
  outputs(server, {{"method", "PATCH"}, {"text", "plain"}, {"headers", {{"content-type", "text/csv"}}}});
  outputs(server, {{"method", "DELETE"}});
  const auto seen = server.requests();
  EXPECT_EQ(seen.at(0).target(), "/api/x?n=5&on=true&q=a%20b%26c%3Dd%2F%C3%A9&tags=x&tags=y");
  EXPECT_EQ(seen[0].body(), R"({"a":1})");
  EXPECT_EQ(seen[0]["content-type"], "application/json");
  EXPECT_EQ(seen[0]["x-word"], "one");
  EXPECT_EQ(seen[1].body(), "a%20b=c%2Bd");
  EXPECT_EQ(seen[1]["content-type"], "application/x-www-form-urlencoded");
  EXPECT_EQ(seen[2].body(), "plain");
  EXPECT_EQ(seen[2]["content-type"], "text/csv");
  EXPECT_EQ(seen[3].method_string(), "DELETE");
  for (const auto& request : seen) EXPECT_EQ(request["idempotency-key"], "run/7") << request.method_string();
}

TEST_F(HttpCalls, head_brings_the_headers_that_were_asked_for) {
  Reply reply{200, std::string(3'000, 'x')};
  reply.headers = {{"ETag", "\"v1\""}, {"X-Other", "no"}};
  const LoopbackServer server(always(reply));
  const Json outputs = this->outputs(server, {{"method", "HEAD"}, {"keep", {"etag", "Missing"}}, {"max_bytes", 10}});
  EXPECT_EQ(outputs, Json::parse(R"({"status": 200, "body": "", "headers": {"etag": "\"v1\""}})"));
}

TEST_F(HttpCalls, any_status_is_an_answer_with_the_time_to_come_again) {
  Reply busy{503, "busy"};
  busy.retry_after = "3";
  const LoopbackServer server(always(busy));
  EXPECT_EQ(outputs(server, Json::object()), Json::parse(R"({"status": 503, "body": "busy", "retry_after_ms": 3000})"));
}

TEST_F(HttpCalls, redirects_are_not_followed) {
  const LoopbackServer other(always({200, "secret place"}));
  Reply moved{302, ""};
  moved.headers = {{"Location", other.url("/")}};
  const LoopbackServer server(always(moved));
  EXPECT_EQ(outputs(server, {{"auth", {{"bearer", "TOKEN"}}}})["status"], 302);
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(HttpCalls, slow_cut_huge_and_silent_servers_are_failures) {
  Reply silent;
  silent.never = true;
  const LoopbackServer slow(always(silent));
  const auto began = std::chrono::steady_clock::now();
  const Failure late = failure(slow, {{"timeout_ms", 50}});
  EXPECT_EQ(late.error, "timeout");
  EXPECT_TRUE(late.retryable);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));

  Reply half{200, "a body that ends too early"};
  half.cut = true;
  const Failure cut = failure(LoopbackServer(always(half)), Json::object());
  EXPECT_EQ(cut.error, "unreachable");
  EXPECT_TRUE(cut.retryable);

  const LoopbackServer large(always({200, std::string(2'000'000, 'x')}));
  const Failure huge = failure(large, Json::object());
  EXPECT_EQ(huge.error, "bad_output");
  EXPECT_FALSE(huge.retryable);
  EXPECT_EQ(outputs(large, {{"max_bytes", 2'000'000}})["body"].get_ref<const std::string&>().size(), 2'000'000u);

  Reply none;
  none.gone = true;
  EXPECT_EQ(failure(LoopbackServer(always(none)), Json::object()).error, "unreachable");
}

TEST_F(HttpCalls, a_body_of_another_form_is_told) {
  const LoopbackServer server(always({200, "<html>"}));
  EXPECT_EQ(outputs(server, {{"as", "json"}}),
            Json::parse(R"({"status": 200, "body": "<html>", "fault": "The body is no JSON."})"));
  const Json binary = outputs(LoopbackServer(always({200, "a\xFF\x01z"})), Json::object());
  EXPECT_EQ(binary["fault"], "The body is no text in UTF-8.");
  EXPECT_NO_THROW(binary.dump());
}

TEST_F(HttpCalls, a_url_outside_the_list_is_refused_before_anything_is_sent) {
  const LoopbackServer server(always({200, "never"}));
  const LoopbackServer other(always({200, "never"}));
  for (const std::string& url : {other.url("/api/x"), server.url("/apis"), server.url("/api/../admin"),
                                 server.url("/api/..%2fadmin"), std::string("http://169.254.169.254/latest")}) {
    const Failure refused = failure(server, {{"url", url}});
    EXPECT_EQ(refused.error, "refused") << url;
    EXPECT_FALSE(refused.retryable);
  }
  EXPECT_TRUE(server.requests().empty());
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(HttpCalls, settings_that_would_change_the_message_are_refused) {
  const LoopbackServer server(always({200, "never"}));
  const std::string at = server.url("/api");
  for (const char* with : {R"({"url": "@ HTTP/1.1\r\nx: y"})",
                           R"({"url": "@\r\nx: y"})",
                           R"({"url": "http://u:p@127.0.0.1/api"})",
                           R"({"url": "file:///etc/passwd"})",
                           R"({"url": "@#part"})",
                           R"({"url": 5})",
                           R"({"url": "@", "method": "TRACE"})",
                           R"({"url": "@", "method": "get"})",
                           R"({"url": "@", "method": "GET / HTTP/1.1\r\nx: y\r\n"})",
                           R"({"url": "@", "headers": {"x": "a\r\ny: b"}})",
                           R"({"url": "@", "headers": {"x\r\ny": "b"}})",
                           R"({"url": "@", "headers": {"x": "a\u0000b"}})",
                           R"({"url": "@", "headers": {"": "b"}})",
                           R"({"url": "@", "headers": {"Host": "other"}})",
                           R"({"url": "@", "headers": {"content-length": "5"}})",
                           R"({"url": "@", "headers": {"Transfer-Encoding": "chunked"}})",
                           R"({"url": "@", "headers": {"x": {"a": 1}}})",
                           R"({"url": "@", "headers": {"Authorization": "Bearer x"}})",
                           R"({"url": "@", "headers": {"Connection": "x"}})",
                           R"({"url": "@", "headers": {"idempotency-key": "x"}})",
                           R"({"url": "@", "headers": ["x"]})",
                           R"({"url": "@", "query": {"a": {"b": 1}}})",
                           R"({"url": "@", "query": "a=b"})",
                           R"({"url": "@", "body": {}})",
                           R"({"url": "@", "method": "POST", "body": {}, "text": "x"})",
                           R"({"url": "@", "method": "HEAD", "text": "x"})",
                           R"({"url": "@", "method": "POST", "text": 5})",
                           R"({"url": "@", "ok": [42]})",
                           R"({"url": "@", "ok": ["9xx"]})",
                           R"({"url": "@", "keep": ["a b"]})",
                           R"({"url": "@", "as": "xml"})",
                           R"({"url": "@", "timeout_ms": 0})",
                           R"({"url": "@", "max_bytes": 99999999999})",
                           R"({"url": "@", "auth": {"bearer": 5}})",
                           R"({"url": "@", "auth": {"bearer": "A B"}})",
                           R"({"url": "@", "auth": {"header": {"Host": "TOKEN"}}})",
                           R"({"url": "@", "auth": {"basic": {"user": "a:b", "password": "TOKEN"}}})",
                           R"({"url": "@", "auth": {}})",
                           R"({"url": "@", "auth": {"bearer": "TOKEN", "query": {"a": "TOKEN"}}})"}) {
    Json settings = Json::parse(with);
    if (settings["url"].is_string()) {
      std::string url = settings["url"];
      if (url[0] == '@') settings["url"] = at + url.substr(1);
    }
    const Failure refused = failure(server, settings);
    EXPECT_EQ(refused.error, "invalid") << with;
    EXPECT_FALSE(refused.retryable) << with;
  }
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpCalls, a_url_or_a_query_beyond_the_bound_is_refused) {
  const LoopbackServer server(always({200, "never"}));
  EXPECT_EQ(failure(server, {{"query", {{"q", std::string(20'000, 'x')}}}}).error, "invalid");
  EXPECT_EQ(failure(server, {{"headers", {{"x", std::string(9'000, 'x')}}}}).error, "invalid");
  EXPECT_TRUE(server.requests().empty());
}

// --- secrets --------------------------------------------------------------------------------------------------------

TEST_F(HttpCalls, each_kind_of_auth_carries_its_secret) {
  const LoopbackServer server(always({200, "ok"}));
  outputs(server, {{"auth", {{"bearer", "TOKEN"}}}});
  outputs(server, {{"auth", {{"basic", {{"user", "ann"}, {"password", "TOKEN"}}}}}});
  outputs(server, {{"auth", {{"header", {{"X-Api-Key", "TOKEN"}}}}}});
  outputs(server, {{"query", {{"a", 1}}}, {"auth", {{"query", {{"key", "TOKEN"}}}}}});
  const auto seen = server.requests();
  EXPECT_EQ(seen.at(0)["authorization"], std::string("Bearer ") + token);
  EXPECT_EQ(seen[1]["authorization"], "Basic " + base64(std::string("ann:") + token));
  EXPECT_EQ(seen[2]["x-api-key"], token);
  EXPECT_EQ(seen[3].target(), "/api/x?a=1&key=s3cret%2Fwith%2B%22all%22%20100%25");
}

TEST_F(HttpCalls, a_secret_that_is_not_there_or_may_not_go_there_is_refused) {
  const LoopbackServer server(always({200, "never"}));
  for (const char* name : {"OTHER", "ELSEWHERE"}) {
    const Failure refused = failure(server, {{"auth", {{"bearer", name}}}});
    EXPECT_EQ(refused.error, "refused") << name;
    EXPECT_FALSE(refused.retryable);
    EXPECT_NE(refused.message.find(name), std::string::npos) << refused.message;
  }
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpCalls, what_a_server_echoes_of_a_secret_is_redacted) {
  const std::string value = token;
  const Json echo = {{"plain", value},
                     {"basic", base64("ann:" + value)},
                     {value, "as a key"},
                     {"in_json", Json(value).dump()},
                     {"url", "https://h/?key=s3cret%2Fwith%2B%22all%22%20100%25&a=1"}};
  for (const bool is_text : {false, true}) {
    Reply reply = is_text ? Reply{200, echo.dump()} : json(echo);
    reply.headers.emplace_back("X-Echo", "Bearer " + value);
    const LoopbackServer server(always(reply));
    const std::string came = outputs(server, {{"auth", {{"bearer", "TOKEN"}}}, {"keep", {"x-echo"}}}).dump();
    for (const char* part : {"s3cret", "all", "czNjcmV0"}) EXPECT_EQ(came.find(part), std::string::npos) << came;
    EXPECT_NE(came.find("***"), std::string::npos);
  }
}

// Both are cut, the one to 2,000 bytes, the other to 8 KiB: a half of a secret would not be found.
TEST_F(HttpCalls, a_secret_at_the_place_where_a_text_is_cut_is_redacted_whole) {
  Reply reply{200, "\xFF" + std::string(1'989, 'x') + token};
  reply.headers.emplace_back("X-Echo", std::string(8'180, 'x') + token);
  const LoopbackServer server(always(reply));
  const Json came = outputs(server, {{"auth", {{"bearer", "TOKEN"}}}, {"keep", {"x-echo"}}});
  for (const Json& text : {came["body"], came["headers"]["x-echo"]}) {
    EXPECT_EQ(text.get<std::string>().find("s3c"), std::string::npos) << text;
    EXPECT_NE(text.get<std::string>().find("xxx***"), std::string::npos) << text;
  }
}

TEST_F(HttpCalls, a_fault_of_the_connection_says_nothing_of_a_secret) {
  Reply none;
  none.gone = true;
  const Failure failed = failure(LoopbackServer(always(none)), {{"auth", {{"query", {{"key", "TOKEN"}}}}}});
  EXPECT_EQ(failed.message.find("s3cret"), std::string::npos) << failed.message;
  EXPECT_EQ(failed.message.find("key="), std::string::npos) << failed.message;
}

// --- tools of the file ----------------------------------------------------------------------------------------------

TEST_F(HttpCalls, a_url_of_the_tools_file_may_have_a_secret_and_what_it_echoes_is_redacted) {
  const LoopbackServer server([](const LoopbackServer::Request& request) {
    const bool fails = request.target() == "/fails";
    const std::string said(request["authorization"]);
    return Reply{fails ? 400U : 200U, fails ? std::string(490, 'x') + said : Json{{"said", said}}.dump()};
  });
  for (const char* path : {"/works", "/fails"}) {
    ToolSpec spec;
    spec.name = "api";
    spec.does = ToolSpec::Http{server.url(path), *parse_http_auth({{"bearer", "TOKEN"}})};
    const auto tools = make_tools({spec}, 1, {secrets_, {}});
    ToolCall call;
    call.tool = "api";
    const ToolAnswer answer = testing::run(tools->call(call));
    const std::string came = answer ? answer->dump() : answer.error().message;
    EXPECT_EQ(answer.ok(), std::string(path) == "/works") << came;
    EXPECT_EQ(came.find("s3c"), std::string::npos) << came;
  }
  EXPECT_EQ(server.requests().at(0)["authorization"], std::string("Bearer ") + token);
}

TEST_F(HttpCalls, a_program_of_the_tools_file_may_have_a_secret_and_what_it_says_is_redacted) {
  for (const char* script : {R"x(printf '{"length": %s, "all": "%s"}' ${#KEY} "$(printf %s "$KEY" | base64 -w0)")x",
                             R"(echo "no $KEY" >&2; exit 1)", R"(echo "$KEY")"}) {
    ToolSpec spec;
    spec.name = "program";
    ToolSpec::Exec exec{{"/bin/sh", "-c", script}};
    exec.secrets = {{"KEY", "TOKEN"}};
    spec.does = std::move(exec);
    const auto tools = make_tools({spec}, 1, {secrets_, {}});
    ToolCall call;
    call.tool = "program";
    const ToolAnswer answer = testing::run(tools->call(call));
    const std::string came = answer ? answer->dump() : answer.error().message;
    EXPECT_NE(came.find("***"), std::string::npos) << came;
    EXPECT_EQ(came.find("s3cret"), std::string::npos) << came;
    if (answer) {
      EXPECT_EQ((*answer)["length"], std::string(token).size());
    }
  }
}

// Only the end of what a program says is kept, and only the beginning of what it writes too much is shown.
TEST_F(HttpCalls, a_secret_at_the_place_where_what_a_program_says_is_cut_is_not_shown_by_half) {
  const std::string again_and_again = R"(; i=0; while [ $i -lt 2000 ]; do printf %s "$KEY"; i=$((i+1)); done; exit 1)";
  for (const std::string& script : {"exec >&2" + again_and_again, "printf 12345" + again_and_again}) {
    ToolSpec spec;
    spec.name = "program";
    ToolSpec::Exec exec{{"/bin/sh", "-c", script}};
    exec.secrets = {{"KEY", "TOKEN"}};
    exec.limits.output_bytes_max = 20'000;
    spec.does = std::move(exec);
    const auto tools = make_tools({spec}, 1, {secrets_, {}});
    ToolCall call;
    call.tool = "program";
    const ToolAnswer answer = testing::run(tools->call(call));
    ASSERT_FALSE(answer);
    for (const char* part : {"s3c", "cret", "with", "all", "100%"})
      EXPECT_EQ(answer.error().message.find(part), std::string::npos) << answer.error().message;
  }
}

TEST_F(HttpCalls, there_is_none_without_urls_and_no_sub_goal_can_make_one) {
  const auto tools = make_tools(builtin_tools(), 1, {secrets_, {}});
  ToolCall call;
  call.tool = http_call_name;
  call.inputs = {{"url", "http://127.0.0.1/"}};
  EXPECT_EQ(testing::run(tools->call_http(call)).error().error, "refused");
  const auto with_urls = make_tools(builtin_tools(), 1, {secrets_, *UrlList::of({"http://127.0.0.1"})});
  EXPECT_EQ(testing::run(with_urls->call(call)).error().error, "unknown_tool");
  EXPECT_FALSE(with_urls->table().contains(http_call_name));
}

}  // namespace
}  // namespace cairn
