// The handler model.extract: one reply, one repair, and what is on record.
#include "workers/handlers/model_extract.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "engine/graph_review.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/models/http_model.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/rule_book.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

const Json invoice = Json::parse(R"({"type": "object", "required": ["customer", "total"], "properties": {
  "customer": {"type": "string"}, "total": {"type": "number"}, "due_date": {"type": "string"},
  "paid": {"type": "boolean"}, "items": {"type": "array"}, "count": {"type": "integer"}}})");

class Extracts : public ::testing::Test {
 protected:
  StepResult run(Json with, std::unique_ptr<Model> model) {
    const auto tools = make_tools(builtin_tools(), 1);
    std::unique_ptr<Model> asked = make_rule_model("rules", [&](const ModelRequest& request) {
      requests_.push_back(request);
      return testing::run(model->ask(request));
    });
    Ports ports(*asked, *tools);
    input_.node = "read";
    input_.key = "run/7";
    input_.with = std::move(with);
    const Handler handler = model_extract_handler();
    return testing::run(std::get<EffectHandler>(handler.run)(input_, ports));
  }

  StepResult scripted(Json with, const char* replies) {
    return run(std::move(with), make_scripted_model({{"replies", Json::parse(replies)}}));
  }

  // An endpoint whose first reply comes after `first_ms` and misses the schema, and whose second never comes.
  StepResult answered_late(std::int64_t first_ms) {
    std::atomic<int> asked = 0;
    const testing::LoopbackServer server([&](const testing::LoopbackServer::Request&) {
      if (++asked > 1) return testing::LoopbackServer::Reply{.body = "", .never = true};
      std::this_thread::sleep_for(std::chrono::milliseconds(first_ms));
      return testing::LoopbackServer::Reply{.body = R"({"model": "served", "choices": [{"finish_reason": "stop",
          "message": {"role": "assistant", "content": "{\"customer\": \"Ann\"}"}}],
          "usage": {"prompt_tokens": 7, "completion_tokens": 5}})"};
    });
    ModelEndpoint endpoint;
    endpoint.url = server.url("/v1");
    const auto began = std::chrono::steady_clock::now();
    StepResult result = run({{"text", "x"}, {"schema", invoice}}, make_http_model(endpoint));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(input_.timeout_ms));
    return result;
  }

  static Json fact(const std::vector<Fact>& facts, std::size_t at) {
    return Json::parse(std::get<Record>(facts.at(at)).fields);
  }

  StepInput input_;
  std::vector<ModelRequest> requests_;
};

TEST_F(Extracts, values_of_the_schema_into_channels) {
  const Json with = {{"text", "Dear Ann, 5 EUR."},
                     {"schema", invoice},
                     {"about", "An invoice."},
                     {"set", {{"who", "/customer"}, {"when", "/due_date"}}}};
  const StepResult result = scripted(with, R"([{"value": {"customer": "Ann", "total": 5}}])");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->label, "ok");
  EXPECT_EQ(result->patch,
            Json::parse(R"({"extracted": {"customer": "Ann", "total": 5}, "who": "Ann", "when": null})"));
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].schema, invoice);
  EXPECT_EQ(requests_[0].messages.at(1), Json::parse(R"({"role": "user", "content": "Dear Ann, 5 EUR."})"));
  EXPECT_NE(requests_[0].messages.at(0)["content"].get<std::string>().find("An invoice."), std::string::npos);
  ASSERT_EQ(result->facts.size(), 1u);
  EXPECT_EQ(fact(result->facts, 0)["ok"], true);
  EXPECT_EQ(fact(result->facts, 0)["node"], "read");
}

TEST_F(Extracts, a_miss_of_the_schema_is_repaired_once_and_both_calls_are_on_record) {
  const Json with = {{"text", "x"}, {"schema", invoice}};
  const StepResult result =
      scripted(with, R"([{"value": {"customer": "Ann"}}, {"value": {"customer": "Ann", "total": 5}}])");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->patch["extracted"]["total"], 5);
  ASSERT_EQ(requests_.size(), 2u);
  const Json& messages = requests_[1].messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[2], Json::parse(R"({"role": "assistant", "content": "{\"customer\":\"Ann\"}"})"));
  EXPECT_NE(messages[3]["content"].get<std::string>().find("total"), std::string::npos) << messages[3];
  EXPECT_EQ(requests_[0].key, "run/7");
  EXPECT_EQ(requests_[1].key, "run/7/repair");
  ASSERT_EQ(result->facts.size(), 2u);
  EXPECT_EQ(fact(result->facts, 0)["ok"], false);
  EXPECT_EQ(fact(result->facts, 1)["ok"], true);
}

TEST_F(Extracts, a_second_miss_is_a_bad_reply_that_may_be_tried_again) {
  const StepResult result = scripted({{"text", "x"}, {"schema", invoice}},
                                     R"([{"value": {}}, {"reply": {"content": "no JSON"}}, {"value": 1}])");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().error, "bad_reply");
  EXPECT_TRUE(result.error().retryable);
  EXPECT_EQ(result.error().facts.size(), 2u);
  EXPECT_EQ(requests_.size(), 2u);
}

TEST_F(Extracts, a_repair_has_the_time_that_is_left_and_both_calls_are_on_record_before_the_step_is_given_up) {
  input_.timeout_ms = 4'000;
  const StepResult result = answered_late(300);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().error, "unreachable");
  EXPECT_TRUE(result.error().retryable);
  ASSERT_EQ(result.error().facts.size(), 2u);
  EXPECT_EQ(fact(result.error().facts, 0)["error"], "bad_reply");
  EXPECT_EQ(fact(result.error().facts, 0)["tokens_out"], 5);
  EXPECT_EQ(fact(result.error().facts, 1)["error"], "unreachable");
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[0].timeout_ms, 3'600) << "less than the step's";
  const auto first_ms = fact(result.error().facts, 0)["latency_ms"].get<std::int64_t>();
  EXPECT_GE(first_ms, 300);
  EXPECT_EQ(requests_[1].timeout_ms, 3'600 - first_ms);
}

TEST_F(Extracts, too_little_time_for_a_repair_leaves_a_bad_reply_that_may_be_tried_again) {
  input_.timeout_ms = 3'000;
  const StepResult result = answered_late(2'000);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().error, "bad_reply");
  EXPECT_TRUE(result.error().retryable);
  ASSERT_EQ(result.error().facts.size(), 1u);
  EXPECT_EQ(fact(result.error().facts, 0)["tokens_in"], 7);
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(Extracts, another_failure_is_not_repaired) {
  const StepResult result = scripted({{"text", "x"}, {"schema", invoice}},
                                     R"([{"error": {"error": "refused", "message": "No.", "retryable": false}}])");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().error, "refused");
  EXPECT_FALSE(result.error().retryable);
  EXPECT_EQ(result.error().facts.size(), 1u);
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(Extracts, the_next_attempt_has_a_key_of_its_own) {
  input_.attempt = 2;
  input_.fault_error = "bad_reply";
  EXPECT_TRUE(scripted({{"text", "x"}, {"schema", invoice}}, R"([{"value": {"customer": "Ann", "total": 5}}])").ok());
  EXPECT_EQ(requests_.at(0).key, "run/7/2");
}

TEST_F(Extracts, faulty_settings_fail_without_a_call) {
  for (const char* with :
       {"{}", R"({"text": "x"})", R"({"schema": {}})", R"({"text": "x", "schema": {"type": 5}})",
        R"({"text": "x", "schema": {}, "set": {"a": "b"}})", R"({"text": "x", "schema": {}, "set": []})",
        R"({"text": "x", "schema": {}, "into": 5})", R"({"text": "x", "schema": {}, "about": 5})"}) {
    const StepResult result = scripted(Json::parse(with), "[]");
    ASSERT_FALSE(result.ok()) << with;
    EXPECT_EQ(result.error().error, "invalid") << with;
  }
  EXPECT_EQ(scripted({{"text", std::string(1024 * 1024 + 1, 'x')}, {"schema", Json::object()}}, "[]").error().error,
            "invalid");
  EXPECT_TRUE(requests_.empty());
}

TEST_F(Extracts, the_rule_book_reads_names_and_colons) {
  const Json with = {{"text",
                      "Invoice\n- Customer: Ann Lee \nTotal: 12.5\nDue date: 2026-01-02\nPaid: yes\n"
                      "items: cup, pot\nCount: 3"},
                     {"schema", invoice}};
  const StepResult result = run(with, make_rule_model(rule_book_name, answer_by_rules));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->patch["extracted"], Json::parse(R"({"customer": "Ann Lee", "total": 12.5,
      "due_date": "2026-01-02", "paid": true, "items": ["cup", "pot"], "count": 3})"));
  EXPECT_EQ(
      run({{"text", "nothing"}, {"schema", invoice}}, make_rule_model(rule_book_name, answer_by_rules)).error().error,
      "bad_reply");
}

TEST_F(Extracts, the_check_of_a_graph_knows_each_setting_and_what_is_written) {
  const auto review = [](const char* with) {
    Json graph = Json::parse(R"({"name": "g", "start": "read", "limits": {"steps": 5},
      "input": {"properties": {"letter": {"type": "string"}}, "additionalProperties": false}, "nodes": {
      "read": {"do": "model.extract", "on": {"ok": "over"}},
      "over": {"end": {"status": "done", "output": ["$extracted", "$who"]}}}})");
    graph["nodes"]["read"]["with"] = Json::parse(with);
    HandlerTable table;
    add_builtin_handlers(table);
    Surroundings around;
    around.handlers = table.labels();
    around.check_schema = check_schema;
    return review_graph(graph, around).faults;
  };
  EXPECT_TRUE(review(R"({"text": "$letter", "schema": {}, "set": {"who": "/customer"}})").empty());
  for (const char* with : {R"({"text": "$letter", "schema": {}})", R"({"text": "$letter", "set": {"who": "/c"}})",
                           R"({"text": "x", "schema": {"type": 5}, "set": {"who": "/c"}})",
                           R"({"text": "x", "schema": {}, "set": {"who": "c"}})",
                           R"({"text": "x", "schema": {}, "set": {"who": "/c"}, "prompt": "x"})",
                           R"({"text": "x", "schema": {}, "set": {"who": "/c"}, "model": 5})"})
    EXPECT_EQ(review(with).size(), 1u) << with;
}

}  // namespace
}  // namespace cairn
