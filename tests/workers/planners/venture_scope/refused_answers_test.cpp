// A person's answer that venture_scope cannot take: it is asked for again at once, with the reason, and that spends no
// ask, as long as it does not go on and on.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/planners/venture_desk.hpp"
#include "workers/models/models.hpp"

namespace cairn {
namespace {

using test::PlannerRun;

// A run that asks for `b`, an amount of money, whatever is known.
class AskedForB {
 public:
  explicit AskedForB(std::int64_t asks) : planner(make_rule_model("asks", ask)) {
    Json input = {{"question", "How much?"}, {"region", "Norland"}, {"currency", "EUR"}};
    input["profile"] = test::tiny_profile();
    input["profile"]["fields"]["b"]["type"] = "money";
    input["fields"] = {{"a", 2}};
    Options options;
    options.budgets = {{"ask", asks}};
    run = planner.start("venture_scope", input, {}, std::move(options));
    planner.work(run);
  }

  void answer(const Json& value) {
    const auto answered = planner.client().command(run, Answer{"", value, "user:ann", {}});
    ASSERT_TRUE(answered) << answered.error().message;
    planner.work(run);
  }
  auto times_at(const std::string& node) {
    const std::vector<std::string> path = planner.path(run);
    return std::count(path.begin(), path.end(), node);
  }

  PlannerRun planner;
  RunId run;

 private:
  static ModelAnswer ask(const ModelRequest&) {
    ModelReply reply;
    reply.model = "asks";
    reply.value = {
        {"action", "ask_user"}, {"target_path", "b"}, {"query", ""}, {"question", ""}, {"reason", "Because."}};
    reply.message = {{"role", "assistant"}, {"content", canonical(reply.value)}};
    return reply;
  }
};

TEST(VentureScope, S0_09_an_answer_that_was_refused_is_asked_for_again_with_the_reason) {
  AskedForB asking(5);
  asking.answer("2.850");
  const std::vector<Json> asked = asking.planner.events(asking.run, "question_asked");
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0]["prompt"]["unit"], "EUR");
  EXPECT_FALSE(asked[0]["prompt"].contains("fault"));
  EXPECT_EQ(asked[1]["prompt"]["field"], "b");
  const auto fault = asked[1]["prompt"].value("fault", "");
  EXPECT_NE(fault.find("one number that can be read in one way only"), std::string::npos) << asked[1]["prompt"];
  EXPECT_TRUE(asking.planner.channel(asking.run, "refusals").contains("b"));
  asking.answer("2850 EUR");
  EXPECT_EQ(asking.planner.channel(asking.run, "fields")["b"]["value"], 2850);
  EXPECT_FALSE(asking.planner.channel(asking.run, "refusals").contains("b"));
}

TEST(VentureScope, S0_09_a_refused_answer_spends_no_further_ask) {
  AskedForB asking(1);
  for (const char* said : {"2.850", "some", "2850 EUR"}) asking.answer(said);
  EXPECT_EQ(asking.planner.channel(asking.run, "fields")["b"]["value"], 2850);
  EXPECT_EQ(asking.planner.state(asking.run).budgets.at("ask").used, 1);
  EXPECT_EQ(asking.times_at("ask_user"), 1);
  EXPECT_EQ(asking.times_at("ask_again"), 2);
}

TEST(VentureScope, S0_09_answers_that_are_refused_on_and_on_are_bounded) {
  AskedForB asking(2);
  int answers = 0;
  for (; answers < 20 && asking.planner.state(asking.run).questions.size() == 1; ++answers) asking.answer("some");
  EXPECT_EQ(answers, 8) << "to each ask, and three times again";
  EXPECT_EQ(asking.planner.state(asking.run).budgets.at("ask").used, 2);
  EXPECT_EQ(asking.planner.state(asking.run).status, RunStatus::aborted);
}

}  // namespace
}  // namespace cairn
