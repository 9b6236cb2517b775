// Planning in rounds by its rule book, with the nine tools over the sample data, and with a model over HTTP.
#include "engine/run_json.hpp"
#include "tests/workers/planners/round_planner/round_planner_trial.hpp"
#include "workers/models/http_model.hpp"

namespace cairn::test::rounds {
namespace {

// --- the nine tools over the sample, by rules ------------------------------------------------------------------------
std::string asked_of_database(const std::string& sql) { return test::ask_text(*sample().dsn, sql); }

TEST(RoundPlanner, rules_count_what_was_asked_for) {
  const Json output = ask_rules("How many orders were there in Berlin in March?");
  const std::string expected = asked_of_database(
      "select count(*)::text from sample_shop.orders join sample_shop.shops using (shop_id) where city = 'Berlin' and "
      "extract(month from ordered_on) = 3");
  EXPECT_EQ(output["outcome"], "answered") << output;
  EXPECT_TRUE(has(output["answer"], ": " + expected + ".")) << output["answer"];
  EXPECT_TRUE(has(output["answer"], "rule book")) << output["answer"];
  EXPECT_EQ(output["rounds"], 3);
}

TEST(RoundPlanner, rules_find_what_is_best) {
  const Json output = ask_rules("Which product sold best?");
  const std::string expected = asked_of_database(
      "select p.name || '  ' || sum(quantity) from sample_shop.orders join sample_shop.products p using (product_id) "
      "group by "
      "p.name order by sum(quantity) desc limit 1");
  EXPECT_TRUE(has(output["answer"], expected)) << output["answer"] << expected;
}

TEST(RoundPlanner, rules_list_the_largest) {
  const Json output = ask_rules("Show the ten largest orders");
  const std::string answer = output["answer"];
  const std::string largest = asked_of_database("select max(net_amount)::float8::text from sample_shop.orders");
  EXPECT_TRUE(has(answer, largest)) << answer << largest;
  const std::string rows = answer.substr(0, answer.find("Taken for granted"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2 + 10) << answer;
}

TEST(RoundPlanner, rules_say_what_a_column_means) {
  const Json output = ask_rules("What does the column net_price mean?");
  EXPECT_TRUE(has(output["answer"], "without value added tax")) << output["answer"];
  EXPECT_TRUE(has(output["answer"], "numeric(8,2)")) << output["answer"];
}

TEST(RoundPlanner, rules_find_where_sales_fell_and_doubt_why) {
  const Json output = ask_rules("Why did sales fall in May?");
  const std::string answer = output["answer"];
  EXPECT_TRUE(has(answer, "against the month before: it fell by ")) << answer;
  EXPECT_TRUE(has(answer, "products.name Touring Saddle: from 1512 to 0")) << answer;
  EXPECT_TRUE(has(answer, "not certain")) << "the tone of the analysis: " << answer;
}

TEST(RoundPlanner, rules_give_one_page_of_many_rows) {
  const Json output = ask_rules("Show the orders in Hamburg, page 2");
  EXPECT_TRUE(has(output["answer"], "Page 2, with 20 rows")) << output["answer"];
  const std::string row = asked_of_database(
      "select order_id::text from sample_shop.orders join sample_shop.shops using (shop_id) where city = 'Hamburg' "
      "order by order_id "
      "offset 20 limit 1");
  EXPECT_TRUE(has(output["answer"], row)) << output["answer"];
}

TEST(RoundPlanner, rules_send_common_questions_to_the_helpdesk) {
  for (const char* question : {"Hello!", "What can you do?"}) {
    const Json output = ask_rules(question);
    EXPECT_TRUE(has(output["answer"], "I answer questions on the data")) << output["answer"];
    EXPECT_EQ(output["rounds"], 2);
  }
}

TEST(RoundPlanner, rules_ask_back_what_a_name_they_do_not_find_means) {
  const Json output = ask_rules("How many orders were there in Springfield?");
  EXPECT_EQ(output["outcome"], "clarification");
  EXPECT_TRUE(has(output["answer"], "nothing called Springfield")) << output["answer"];
}

TEST(RoundPlanner, rules_say_that_nothing_was_found) {
  const Json output = ask_rules("How many unicorns were there?");
  EXPECT_EQ(output["run_status"], "failed");
  EXPECT_TRUE(has(output["answer"], "unicorns")) << output["answer"];
  EXPECT_TRUE(has(output["answer"], "It has the tables orders, products, shops")) << output["answer"];
}

TEST(RoundPlanner, rules_retry_what_may_pass_and_give_up_after_two_retries) {
  Dataset unreachable;
  unreachable.dsn = "host=/nowhere";
  PlannerRun planner(rules(), make_tools(nine_tools(unreachable), 2));
  const Json output = ask_rules(planner, "How many orders were there?");
  EXPECT_EQ(output["run_status"], "failed");
  EXPECT_TRUE(has(output["answer"], "after 2 retries")) << output["answer"];
}

// A query that a model drafted reaches the database through the same bounds.
TEST(RoundPlanner, a_drafted_query_that_would_write_fails_and_changes_nothing) {
  const std::string before = asked_of_database("select count(*)::text from sample_shop.orders");
  for (const char* draft : {"drop table orders", "select 1; delete from orders", "select pg_read_file('/etc/passwd')",
                            "select * from cairn.run"}) {
    Scripted scripted(
        {understood, goes_on({goal("m", "metadata_lookup")}),
         goes_on({goal("g", "es_query_gen", {{"metadata_results", from("m", "metadata_results")}, {"draft", draft}}),
                  goal("x", "es_query_exec", {{"es_query", from("g", "es_query")}}),
                  goal("s", "show_results", {{"es_results", from("x", "es_results")}})}),
         gives_up("The query was refused."), answers("Sorry.")},
        nine_tools(sample()));
    const RunId run = scripted.run();
    const Json plan = state_json(scripted->state(run))["plan"];
    EXPECT_EQ(plan[2]["status"], "failed") << draft;
    EXPECT_EQ(plan[3]["status"], "skipped") << draft;
  }
  EXPECT_EQ(asked_of_database("select count(*)::text from sample_shop.orders"), before);
}

// --- over HTTP -------------------------------------------------------------------------------------------------------
using testing::LoopbackServer;

// A chat-completions endpoint behind which the rule book sits.
LoopbackServer::Reply rules_over_http(const LoopbackServer::Request& http) {
  const Json body = Json::parse(http.body());
  ModelRequest request;
  request.messages = body["messages"];
  request.schema_name = body["response_format"]["json_schema"]["name"];
  const ModelAnswer answer = answer_round_prompt(request);
  const Json reply = {{"model", "loopback"},
                      {"choices", {{{"message", answer.reply.message}, {"finish_reason", "stop"}}}},
                      {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 10}}}};
  return {200, reply.dump()};
}

Json ask_over_http(LoopbackServer::Answers serve, std::string* reason = nullptr) {
  const LoopbackServer server(std::move(serve));
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  endpoint.model = "loopback";
  endpoint.timeout_ms = 400;
  PlannerRun planner(make_http_model(endpoint), nine());
  const RunId run = planner.run("round_planner", {{"question", "How many orders were there in Berlin in March?"}});
  if (reason != nullptr) *reason = planner.state(run).reason;
  Json output = planner.output(run);
  output["failed_attempts"] = planner.events(run, "step_failed").size();
  output["calls"] = server.requests().size();
  return output;
}

// The server does `fault` on every third request.
Json ask_with(const std::function<LoopbackServer::Reply(LoopbackServer::Reply)>& fault) {
  int requests = 0;
  return ask_over_http([&requests, fault](const LoopbackServer::Request& request) {
    LoopbackServer::Reply reply = rules_over_http(request);
    return ++requests % 3 == 1 ? fault(std::move(reply)) : reply;
  });
}

TEST(RoundPlannerOverHttp, a_model_that_is_well_answers) {
  const Json output = ask_over_http(rules_over_http);
  EXPECT_EQ(output["outcome"], "answered") << output;
  EXPECT_EQ(output["model_calls"], output["calls"]);
  EXPECT_EQ(output["tokens_in"], 100 * output["calls"].get<int>());
  EXPECT_EQ(output["failed_attempts"], 0);
}

TEST(RoundPlannerOverHttp, a_model_that_is_slow_malformed_limited_or_cut_off_is_asked_again) {
  using Reply = LoopbackServer::Reply;
  const std::map<std::string, std::function<Reply(Reply)>> faults = {
      {"slow",
       [](Reply reply) {
         std::this_thread::sleep_for(std::chrono::milliseconds(900));
         return reply;
       }},
      {"no JSON",
       [](Reply) {
         return Reply{200, "<html>busy</html>"};
       }},
      {"half a document",
       [](Reply reply) {
         return Reply{200, reply.body.substr(0, reply.body.size() / 2)};
       }},
      {"another form",
       [](Reply) {
         return Reply{200, R"({"choices": [{"message": {"role": "assistant", "content": "{\"action\": 5}"}}]})"};
       }},
      {"429",
       [](Reply) {
         return Reply{429, R"({"error": {"message": "Slow down."}})"};
       }},
      {"503",
       [](Reply) {
         return Reply{503, "busy"};
       }},
      {"cut off", [](Reply reply) {
         reply.cut = true;
         return reply;
       }}};
  for (const auto& [name, fault] : faults) {
    const Json output = ask_with(fault);
    EXPECT_EQ(output["outcome"], "answered") << name << ": " << output;
    EXPECT_GE(output["failed_attempts"].get<int>(), 1) << name;
  }
}

TEST(RoundPlannerOverHttp, a_model_that_stays_bad_is_given_up_and_never_hung_on) {
  using Reply = LoopbackServer::Reply;
  for (const Reply& bad : {Reply{429, "{}"}, Reply{200, "no"}, Reply{401, "{}"}}) {
    std::string reason;
    const Json output = ask_over_http([bad](const LoopbackServer::Request&) { return bad; }, &reason);
    EXPECT_EQ(output["outcome"], "failed") << output;
    EXPECT_TRUE(has(reason, "The step understand_goal failed")) << reason;
    EXPECT_LE(output["calls"].get<int>(), 3);
  }
}

}  // namespace
}  // namespace cairn::test::rounds
