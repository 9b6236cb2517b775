// The page agent by its rule book, and with a model over HTTP.
#include "tests/workers/planners/page_agent/page_agent_turns.hpp"
#include "workers/models/http_model.hpp"

namespace cairn::test::paging {
namespace {

// --- the rule book ---------------------------------------------------------------------------------------------------
TEST(PageAgent, the_rules_read_a_goal) {
  const FormGoal goal =
      read_goal("Add a new patient with name Jas, the date of birth 1990-01-02 and ward \"Children and youth\".");
  EXPECT_EQ(goal.words, (std::vector<std::string>{"add", "a", "new", "patient"}));
  EXPECT_EQ(goal.values, (std::vector<std::pair<std::string, std::string>>{
                             {"name", "Jas"}, {"date of birth", "1990-01-02"}, {"ward", "Children and youth"}}));
}

// The register as a client sees it, which performs the actions it is given.
class Register {
 public:
  std::string dom() const {
    std::string rows;
    for (const std::string& name : names) rows += "<tr><td>" + name + "</td></tr>";
    const std::string form = "<form label=\"New patient\"><input id=2 name=\"name\" value=\"" + typed +
                             "\"><button id=3>Save</button><button id=4>Cancel</button></form>";
    return "<h1>Patients</h1><button id=1>New patient</button><table>" + rows + "</table>" + (is_open ? form : "");
  }
  void perform(const std::string& text) {
    const Result<PageAction> action = parse_action(text);
    ASSERT_TRUE(action) << text;
    if (action->number == 1) is_open = true;
    if (action->number == 2) typed = action->value;
    if (action->number == 3 && !typed.empty()) {
      names.push_back(typed);
      is_open = false;
    }
  }
  std::vector<std::string> names = {"Ada"};
  std::string typed;
  bool is_open = false;
};

TEST(PageAgent, the_rules_add_a_patient_for_a_client_that_brings_its_page) {
  Register page;
  Turns task(Json{{"dom", page.dom()}}, make_rule_model("rules", answer_page_prompt));
  for (int turn = 0; turn < 10 && task.status() == "running"; ++turn) {
    page.perform(task.channel("prompt")["action"]);
    task.turn(page.dom());
  }
  EXPECT_EQ(task.status(), "done");
  EXPECT_EQ(page.names, (std::vector<std::string>{"Ada", "Jas"}));
  EXPECT_EQ(task.channel("actions").size(), 3U);
  EXPECT_TRUE(has(task.planner.output(task.run)["answer"], "rule book"));
  for (const Json& call : task.events("model_called")) EXPECT_EQ(call["model"], "rules");
}

TEST(PageAgent, the_rules_divide_a_long_form) {
  std::map<int, std::string> typed;
  bool is_open = false;
  const auto dom = [&] {
    std::string text = "<button id=1>New patient</button>";
    if (!is_open) return typed.empty() ? text : text + "<p>a1 b2 c3 d4 e5</p>";
    text += "<form>";
    for (int i = 0; i < 5; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      text += "<input id=" + std::to_string(i + 2) + " name=" + name + " value=\"" + typed[i] + "\">";
    }
    return text + "<button id=9>Save</button></form>";
  };
  Turns task(Json{{"goal", "Add a new patient with a a1, b b2, c c3, d d4 and e e5"}, {"dom", dom()}},
             make_rule_model("rules", answer_page_prompt));
  for (int turn = 0; turn < 12 && task.status() == "running"; ++turn) {
    const Result<PageAction> action = parse_action(task.channel("prompt")["action"].get<std::string>());
    if (action->kind == PageAction::Kind::set_value) typed[static_cast<int>(action->number) - 2] = action->value;
    if (action->kind == PageAction::Kind::click) is_open = action->number == 1;
    task.turn(dom());
  }
  EXPECT_EQ(task.status(), "done") << task.planner.state(task.run).reason;
  EXPECT_EQ(task.events("task_decomposed")[0]["children"].size(), 3U);
  EXPECT_EQ(task.channel("actions").size(), 7U);
}

// --- over HTTP -------------------------------------------------------------------------------------------------------
using testing::LoopbackServer;

LoopbackServer::Reply completion(const std::string& content) {
  const Json body = {
      {"model", "served"},
      {"choices",
       {{{"index", 0}, {"message", {{"role", "assistant"}, {"content", content}}}, {"finish_reason", "stop"}}}}};
  return {200, body.dump(), false};
}

// The rule book behind an endpoint, which first answers each kind of question as `broken` says.
class Endpoint {
 public:
  explicit Endpoint(std::vector<LoopbackServer::Reply> broken, bool is_slow = false)
      : broken_(std::move(broken)),
        timeout_ms_(is_slow ? 1'000 : 20'000),
        is_slow_(is_slow),
        server_([this](const LoopbackServer::Request& request) { return answer(request); }) {}

  std::unique_ptr<Model> model() const {
    ModelEndpoint endpoint;
    endpoint.url = server_.url("/v1");
    endpoint.model = "served";
    endpoint.timeout_ms = timeout_ms_;
    return make_http_model(endpoint);
  }

 private:
  LoopbackServer::Reply answer(const LoopbackServer::Request& request) {
    const Json body = Json::parse(request.body());
    ModelRequest asked;
    asked.schema_name = body["response_format"]["json_schema"]["name"].get<std::string>();
    asked.messages = body["messages"];
    if (std::exchange(is_slow_, false)) std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
    const int before = asked_[asked.schema_name]++;
    if (static_cast<std::size_t>(before) < broken_.size()) return broken_[static_cast<std::size_t>(before)];
    return completion(canonical(answer_page_prompt(asked).reply.value));
  }

  std::vector<LoopbackServer::Reply> broken_;
  std::int64_t timeout_ms_;
  bool is_slow_;
  std::map<std::string, int> asked_;
  LoopbackServer server_;
};

void expect_done(const Endpoint& endpoint) {
  Register page;
  Turns task(Json{{"dom", page.dom()}}, endpoint.model());
  for (int turn = 0; turn < 10 && task.status() == "running"; ++turn) {
    page.perform(task.channel("prompt")["action"]);
    task.turn(page.dom());
  }
  EXPECT_EQ(task.status(), "done") << task.planner.state(task.run).reason;
  EXPECT_EQ(page.names, (std::vector<std::string>{"Ada", "Jas"}));
}

TEST(PageAgent, over_http_a_sound_endpoint_does_the_job) { expect_done(Endpoint({})); }
TEST(PageAgent, over_http_a_slow_endpoint_is_asked_again) { expect_done(Endpoint({}, true)); }
TEST(PageAgent, over_http_a_rate_limited_endpoint_is_asked_again) { expect_done(Endpoint({{429, "slow", false}})); }
TEST(PageAgent, over_http_a_malformed_reply_is_survived) { expect_done(Endpoint({completion("Sure! I click.")})); }
TEST(PageAgent, over_http_a_cut_off_reply_is_survived) {
  expect_done(Endpoint({{200, R"({"choices": [{"message": {"rol)", false}}));
}

TEST(PageAgent, over_http_an_endpoint_that_is_down_ends_in_one_sentence) {
  const LoopbackServer server([](const LoopbackServer::Request&) { return LoopbackServer::Reply{503, "down", false}; });
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  Turns task(Json::object(), make_http_model(endpoint));
  EXPECT_EQ(task.status(), "failed");
  EXPECT_TRUE(has(task.planner.state(task.run).reason, "Step action_generation failed"))
      << task.planner.state(task.run).reason;
}

}  // namespace
}  // namespace cairn::test::paging
