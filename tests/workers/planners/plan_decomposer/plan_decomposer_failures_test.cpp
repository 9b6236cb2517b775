// The plan decomposer when something fails: the model, a reply, a write, the process, the endpoint.
#include "tests/workers/planners/plan_decomposer/plan_decomposer_trial.hpp"
#include "workers/models/http_model.hpp"

namespace cairn::test::decomposing {
namespace {

// --- failures --------------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_19_a_call_that_fails_twice_leaves_its_task_out_and_the_rest_goes_on) {
  PlannerRun planner(script({fails, fails, reply("2", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  const Json result = result_of(planner, run);
  EXPECT_EQ(asked(planner), (Names{"1", "1", "2"}));
  EXPECT_EQ(result["failed_nodes"], (Json{"1"}));
  EXPECT_EQ(result["processed_nodes"], (Json{"2"}));
  EXPECT_EQ(result["stopped_reason"], nullptr);
  EXPECT_EQ(planner.events(run, "model_called").size(), 3U);
}

TEST(PlanDecomposer, S1_19_the_limit_of_retries_is_a_setting) {
  for (const int limit : {0, 1, 3}) {
    PlannerRun planner(script({fails, fails, fails, fails, fails}));
    const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"retry_limit", limit}}));
    EXPECT_EQ(planner.model().requests.size(), static_cast<std::size_t>(limit + 1));
    EXPECT_EQ(result_of(planner, run)["stats"]["llm_calls"], limit + 1);
  }
}

TEST(PlanDecomposer, S1_20_a_reply_of_a_wrong_form_is_told_to_the_next_attempt_and_then_given_up) {
  const Json good = reply("1", {child("a")});
  const auto with_child = [&good](Json one) { return with(good, "children", Json::array({std::move(one)})); };
  const std::vector<std::pair<std::string, Json>> cases = {
      {"no JSON", {{"reply", {{"role", "assistant"}, {"content", "Node:\n1: Check.\nEdge: (START,1) (1,END)"}}}}},
      {"no object", value({1, 2})},
      {"a field missing", value(without(good, "should_stop"))},
      {"an unknown field", value(with(good, "thoughts", "hm"))},
      {"another task", value(with(good, "target_node_id", "2"))},
      {"another mode", value(with(good, "mode", "single_node"))},
      {"no mode at all", value(with(good, "mode", "dfs"))},
      {"a priority", value(with_child(with(child("a"), "priority", 1)))},
      {"a status", value(with_child(with(child("a"), "status", "done")))},
      {"no name", value(with_child(child("")))},
      {"a blank name", value(with_child(child(" \n ")))},
      {"children that are no list", value(with(good, "children", "a, b"))},
      {"a child that is a text", value(with_child("a"))},
      {"dependencies that are no ids", value(with_child(child("a", true, {Json::object()})))}};
  for (const auto& [what, faulty] : cases) {
    PlannerRun planner(script({faulty, faulty}));
    const RunId run = planner.run("plan_decomposer",
                                  input(plan_of({{"1"}, {"2"}}), {{"total_node_budget", 50}, {"max_llm_calls", 2}}));
    EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1"})) << what;
    EXPECT_EQ(result_of(planner, run)["created_tasks"], Json::array()) << what;
    const std::vector<Json> failed = planner.events(run, "decomposition_failed");
    ASSERT_EQ(failed.size(), 2U) << what;
    for (int attempt = 1; attempt <= 2; ++attempt) {
      const Json& event = failed[static_cast<std::size_t>(attempt) - 1];
      EXPECT_EQ(event["target"], "1") << what;
      EXPECT_EQ(event["error"], "format") << what;
      EXPECT_EQ(event["attempt"], attempt) << what;
    }
    const Json again = prompt_of(planner.model().requests.at(1));
    EXPECT_EQ(again.value("last_attempt_failed", ""), failed[0]["reason"]) << what;
    EXPECT_FALSE(prompt_of(planner.model().requests.at(0)).contains("last_attempt_failed")) << what;
  }
}

TEST(PlanDecomposer, S1_20_ids_may_come_as_numbers) {
  Json plan = {{"plan_id", 8}, {"roots", {12}}, {"nodes", {{"12", {{"name", "Twelve"}}}}}};
  Json numbered = single("12", {child("a", true, {4})});
  numbered["target_node_id"] = 12;
  PlannerRun planner(script({numbered}));
  Json asked_for = input(plan);
  asked_for["node_id"] = 12;
  const RunId run = planner.run("plan_decomposer", asked_for);
  EXPECT_EQ(result_of(planner, run)["created_tasks"][0]["id"], "12.1");
  EXPECT_EQ(planner.events(run, "task_decomposed").at(0)["dropped"], (Json{"4"}));
}

// Works event by event until it is so.
void work_until(PlannerRun& planner, const RunId& run, const std::function<bool()>& is_so) {
  for (int pieces = 0; pieces < 200 && !is_so(); ++pieces) planner.work_until(run, planner.state(run).seq + 1);
  EXPECT_TRUE(is_so());
}

// A write that the engine refuses: what it adds to a count does not fit 64 bits any more.
TEST(PlanDecomposer, S1_21_a_refused_write_leaves_nothing_of_its_task_and_stops_or_goes_on) {
  for (const std::string after : {"stop", "continue"}) {
    PlannerRun planner(
        script({reply("1", children("a", 1)), reply("2", children("b", 3)), reply("3", children("c", 1))}));
    const RunId run = planner.start(
        "plan_decomposer", input(plan_of({{"1"}, {"2"}, {"3"}}), {{"on_write_error", after}, {"max_children", 2}}));
    work_until(planner, run, [&] { return planner.events(run, "task_decomposed").size() == 1; });
    const Json full = {{"truncated", std::numeric_limits<std::int64_t>::max()}};
    ASSERT_TRUE(planner.client().command(run, EditChannels{full}).ok());
    planner.work(run);
    ASSERT_EQ(planner.events(run, "step_failed").size(), 1U);
    EXPECT_EQ(planner.events(run, "step_failed")[0]["node"], "write");
    EXPECT_EQ(planner.events(run, "step_failed")[0]["error"], "invalid");
    const Json result = result_of(planner, run);
    EXPECT_EQ(result["failed_nodes"], (Json{"2"}));
    EXPECT_EQ(below(planner.state(run), "1"), (Names{"1.1"}));
    EXPECT_TRUE(below(planner.state(run), "2").empty());
    EXPECT_EQ(result["stopped_reason"], after == "stop" ? Json("write_error") : Json(nullptr));
    EXPECT_EQ(result["processed_nodes"], after == "stop" ? (Json{"1"}) : (Json{"1", "3"}));
    ASSERT_EQ(planner.events(run, "decomposition_failed").size(), 1U);
    EXPECT_EQ(planner.events(run, "decomposition_failed")[0]["error"], "write");
  }
}

TEST(PlanDecomposer, S1_22_a_tasks_children_are_seen_all_or_none_whoever_looks_and_whenever) {
  PlannerRun planner(generous(4));
  const RunId run =
      planner.start("plan_decomposer", input(plan_of({{"1"}, {"2"}}), {{"max_depth", 2}, {"total_node_budget", 40}}));
  std::set<std::size_t> seen;
  work_until(planner, run, [&] {
    for (const char* task : {"1", "2", "1.1", "2.4"}) seen.insert(below(planner.state(run), task).size());
    return is_ended(planner.state(run).status);
  });
  EXPECT_EQ(seen, (std::set<std::size_t>{0, 4}));
}

// --- crashes ---------------------------------------------------------------------------------------------------------
// A new session without any memory after every event.
void work_in_pieces(PlannerRun& planner, const RunId& run, const std::function<void()>& between) {
  work_until(planner, run, [&] {
    between();
    return is_ended(planner.state(run).status);
  });
}

TEST(PlanDecomposer, S1_36_a_recorded_reply_is_used_by_whoever_goes_on) {
  PlannerRun planner(generous(2));
  const RunId run = planner.start("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 2}}));
  int between_reply_and_write = 0;
  work_in_pieces(planner, run, [&] {
    const Names path = planner.path(run);
    if (!path.empty() && path.back() == "expand") ++between_reply_and_write;
  });
  EXPECT_EQ(between_reply_and_write, 3) << "a session ended there each time";
  EXPECT_EQ(asked(planner), (Names{"1", "1.1", "1.2"}));
  EXPECT_EQ(result_of(planner, run)["stats"]["llm_calls"], 3);
}

TEST(PlanDecomposer, S1_37_budgets_count_on_whoever_goes_on) {
  PlannerRun planner(generous(6));
  const RunId run = planner.start("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 10}}));
  std::int64_t sessions = 0;
  work_in_pieces(planner, run, [&] { ++sessions; });
  EXPECT_GT(sessions, 20);
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 50U);
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "node_budget");
  EXPECT_EQ(planner.events(run, "budget_exhausted").size(), 1U);
}

// --- over real HTTP --------------------------------------------------------------------------------------------------
Json completion(const std::string& content, const std::string& finish_reason = "stop") {
  return {
      {"model", "served"},
      {"choices",
       {{{"index", 0}, {"message", {{"role", "assistant"}, {"content", content}}}, {"finish_reason", finish_reason}}}},
      {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 20}}}};
}

std::unique_ptr<Model> http_model(const std::string& url) {
  ModelEndpoint endpoint;
  endpoint.url = url;
  endpoint.model = "served";
  endpoint.timeout_ms = 300;
  return make_http_model(endpoint);
}

Json sent_prompt(const LoopbackServer::Request& request) {
  return Json::parse(Json::parse(request.body())["messages"].back()["content"].get<std::string>());
}

// Answers each task by its name: what is said of it the first time, and a good reply afterwards.
class Endpoint {
 public:
  explicit Endpoint(std::map<std::string, LoopbackServer::Reply> first) : first_(std::move(first)) {}
  LoopbackServer::Reply operator()(const LoopbackServer::Request& request) {
    const Json prompt = sent_prompt(request);
    const std::string target = prompt["target_task"]["id"];
    if (const auto found = first_.find(target); found != first_.end()) {
      const LoopbackServer::Reply first = found->second;
      first_.erase(found);
      return first;
    }
    return {200, completion(reply(target, children("of " + target + " ", 2)).dump()).dump()};
  }

 private:
  std::map<std::string, LoopbackServer::Reply> first_;
};

TEST(PlanDecomposerOverHttp, a_malformed_limited_cut_or_broken_answer_costs_a_retry) {
  const std::string good = reply("cut", children("x", 2)).dump();
  const Endpoint endpoint(
      {{"malformed", {200, completion("Sure! Here is the plan: 1. Check.").dump()}},
       {"limited", {429, R"({"error": "slow down"})"}},
       {"cut", {200, completion(good.substr(0, good.size() / 2), "length").dump()}},
       {"half", {200, completion(good).dump().substr(0, 100)}},
       {"broken", {500, "oops"}},
       {"fenced", {200, completion("```json\n" + reply("fenced", children("f", 1)).dump() + "\n```").dump()}}});
  const auto server = std::make_shared<LoopbackServer>(endpoint);
  PlannerRun planner(http_model(server->url("/v1")));
  const std::vector<Task> tasks = {{"malformed"}, {"limited"}, {"cut"}, {"half"}, {"broken"}, {"fenced"}};
  const RunId run = planner.run("plan_decomposer", input(plan_of(tasks)));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["failed_nodes"], Json::array());
  EXPECT_EQ(result["created_tasks"].size(), 11U);
  EXPECT_EQ(result["stats"]["llm_calls"], 11) << "one retry each, and none for the fenced one";
  EXPECT_EQ(result["stats"]["tokens_out"], 6 * 20);
  std::map<std::string, std::string> errors;
  for (const Json& failed : planner.events(run, "decomposition_failed")) errors[failed["target"]] = failed["error"];
  EXPECT_EQ(errors, (std::map<std::string, std::string>{{"malformed", "format"},
                                                        {"limited", "refused"},
                                                        {"cut", "format"},
                                                        {"half", "format"},
                                                        {"broken", "refused"}}));
  const Json schema = Json::parse(server->requests().at(0).body())["response_format"]["json_schema"];
  EXPECT_EQ(schema["name"], "decomposition");
  EXPECT_EQ(schema["schema"], decomposition_reply_schema());
}

TEST(PlanDecomposerOverHttp, an_endpoint_that_is_away_or_slow_leaves_the_tasks_out_and_the_run_ends) {
  const LoopbackServer server([](const LoopbackServer::Request&) { return LoopbackServer::Reply{200, "", true}; });
  PlannerRun planner(http_model("http://127.0.0.1:" + std::to_string(testing::closed_port()) + "/v1"));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1", "2"}));
  EXPECT_EQ(planner.output(run)["feedback"]["en"],
            "Plan #8: 0 sub-tasks created; nodes 1 and 2 not processed because the LLM did not answer.");
  EXPECT_EQ(planner.state(run).reason, planner.output(run)["feedback"]["en"]);

  PlannerRun slow(http_model(server.url("/v1")));
  const RunId waited = slow.run("plan_decomposer", input(plan_of({{"1"}}), {{"retry_limit", 0}}));
  EXPECT_EQ(result_of(slow, waited)["failed_nodes"], (Json{"1"}));
  EXPECT_EQ(slow.events(waited, "decomposition_failed").at(0)["error"], "unreachable");
}

// Says the beginning of an answer, and hangs up.
TEST(PlanDecomposerOverHttp, a_connection_that_breaks_off_is_tried_again_and_given_up) {
  namespace asio = boost::asio;
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  std::thread server([&] {
    for (int call = 0; call < 2; ++call) {
      asio::ip::tcp::socket socket(io);
      std::string request;
      boost::system::error_code ignored;
      acceptor.accept(socket, ignored);
      asio::read_until(socket, asio::dynamic_buffer(request), "mode_hint", ignored);
      asio::write(socket, asio::buffer(std::string("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"choices\": [{")),
                  ignored);
    }
  });
  PlannerRun planner(http_model("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/v1"));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
  server.join();
  EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1"}));
  EXPECT_EQ(planner.events(run, "model_called").size(), 2U);
}

// --- faulty plans that models wrote ----------------------------------------------------------------------------------
// The first two texts are shortened from the answers of WorfBench and of GNN4TaskPlan's TaskBench runs (both MIT).
TEST(PlanDecomposer, plans_in_somebody_elses_form_are_refused_and_told_why) {
  const std::vector<std::string> texts = {
      "Node:\n1: Check the availability of the domain 'example.com'.\n2: Attempt to create a new short link.\nGraph:\n"
      "Edge: (START,1) (1,2) (2,END)",
      R"({"task_steps": ["Step 1: Use Object Detection", "Step 2: Use Image Editing"],
          "task_nodes": [{"task": "Object Detection", "arguments": ["example.jpg"]}],
          "task_links": [{"source": "Object Detection", "target": "Image Editing"}]})",
      R"([{"name": "a"}, {"name": "b"}])",
      "",
      "null",
      "{\"target_node_id\": \"1\", \"mode\": \"plan_bfs\", \"children\": [{\"name\": \"a\""};
  for (const std::string& text : texts) {
    const Json said = {{"reply", {{"role", "assistant"}, {"content", text}}}};
    PlannerRun planner(script({said, said}));
    const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
    EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1"})) << text;
    EXPECT_TRUE(has(planner.output(run)["feedback"]["en"], "because the LLM's reply could not be used")) << text;
  }
}

// The tool loop of a plan that CodeLlama wrote, with a link to no step and a step twice: as sub-tasks it can be done.
TEST(PlanDecomposer, a_plan_with_a_cycle_a_dangling_link_and_a_double_is_repaired) {
  PlannerRun planner(
      script({single("1", {child("Object Detection", true, {"1.3"}), child("Image Editing", true, {"1.1"}),
                           child("Object Detection", true, {"1.2"}),
                           child("Text Summarization", true, {"1.9", "<node-3>", "1.3"})})}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of({{"1"}}), "1"));
  const Json created = result_of(planner, run)["created_tasks"];
  ASSERT_EQ(created.size(), 4U);
  EXPECT_EQ(created[0]["dependencies"], (Json{"1.3"}));
  EXPECT_EQ(created[1]["dependencies"], (Json{"1.1"}));
  EXPECT_EQ(created[2]["dependencies"], Json::array()) << "it would close the circle";
  EXPECT_EQ(created[3]["dependencies"], (Json{"1.3"}));
  EXPECT_EQ(result_of(planner, run)["stats"]["dropped"], 3);
}

TEST(PlanDecomposer, a_model_that_never_comes_to_an_end_is_bounded) {
  PlannerRun planner(make_rule_model("echo", [](const ModelRequest& request) -> ModelAnswer {
    const Json data = Json::parse(request.messages.back()["content"].get<std::string>());
    ModelReply made;  // itself again, many times, each waiting for all others
    Json all = Json::array();
    for (int i = 0; i < 500; ++i) {
      Json others = Json::array();
      for (int other = 1; other <= 500; ++other)
        others.push_back(data["target_task"]["id"].get<std::string>() + "." + std::to_string(other));
      all.push_back(child(data["target_task"]["name"], false, std::move(others)));
    }
    made.value = reply(data["target_task"]["id"], std::move(all));
    return made;
  }));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 50}}));
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 50U);
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "node_budget");
}

}  // namespace
}  // namespace cairn::test::decomposing
