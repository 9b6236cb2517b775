// The page of an auditor's questions: every query of it on real runs, as a login that may only read.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "storage/postgres/connection.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

// By the number of their headings.
std::map<int, std::string> queries_of_the_page() {
  std::ifstream page(testing::source_dir() + "/schema/QUESTIONS.md");
  std::map<int, std::string> queries;
  int question = 0;
  bool is_query = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) question = std::stoi(line.substr(3));
    if (line == "```sql" || line == "```")
      is_query = line == "```sql";
    else if (is_query)
      queries[question] += line + "\n";
  }
  return queries;
}

class AuditorQuestions : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    PgConnection({dsn(), "a test"}).execute("TRUNCATE cairn.run, cairn.event, cairn.job, cairn.question");
    const Json question = {{"question", "How large is the market for e-bikes?"},
                           {"currency", "EUR"},
                           {"fields", {{"core.product", "e-bikes"}}}};
    const Json asking = cairn_ok({"start", "venture_scope", "--input", question.dump(), "--wait", "--json"}).json();
    venture_ = asking["run"];
    ASSERT_EQ(asking["status"], "waiting") << asking;
    open_ = ask(6);
    cairn_ok({"answer", venture_, "--value", "\"Norland\"", "--by", "user:ann"});
    {
      Beside worker({"work"});
      EXPECT_TRUE(wait_until([] { return shown(venture_)["status"] == "done"; })) << shown(venture_);
      worker.signal(SIGTERM);
      EXPECT_EQ(worker.wait(), 0);
    }
    const Json plan = {{"goal", "show it"},
                       {"sub_goals",
                        {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"text", "x"}}}},
                         {{"id", "b"}, {"tool", "fail"}, {"inputs", {{"message", "on purpose"}}}},
                         {{"id", "c"}, {"tool", "echo"}, {"after", {"b"}}, {"inputs", Json::object()}}}}};
    const Ran failed = cairn({"start", "plan_runner", "--input", plan.dump(), "--wait", "--json"});
    EXPECT_EQ(failed.exit, 1);
    planned_ = failed.json()["run"];
  }

  static std::string dsn() { return owner_dsn(); }
  static Json shown(const std::string& run) { return cairn_ok({"show", run, "--json"}).json(); }

  static std::vector<Json> events(const std::string& run, const std::string& type) {
    std::vector<Json> found;
    for (const Json& event : cairn_ok({"events", run, "--json", "--raw"}).lines())
      if (event["type"] == type) found.push_back(event);
    return found;
  }

  static std::vector<Json> ask(int question, const std::string& run = "") {
    std::string query = queries_of_the_page().at(question);
    query.erase(query.rfind(';'));
    for (std::size_t at = query.find(":'run'"); at != std::string::npos; at = query.find(":'run'"))
      query.replace(at, 6, "'" + run + "'");
    PgConnection connection({dsn(), "an auditor", false});
    connection.execute("SET ROLE cairn_read");
    const PgResult rows = connection.query({"", "select to_jsonb(q)::text from (" + query + ") q"});
    std::vector<Json> found;
    for (int row = 0; row < rows.rows(); ++row) found.push_back(Json::parse(rows.text(row, 0)));
    return found;
  }

  static Json row_with(const std::vector<Json>& rows, const std::string& column, const Json& value) {
    for (const Json& row : rows)
      if (row.at(column) == value) return row;
    ADD_FAILURE() << "no row with " << column << " = " << value;
    return Json::object();
  }

  static inline std::string venture_;
  static inline std::string planned_;
  static inline std::vector<Json> open_;
};

TEST_F(AuditorQuestions, are_ten) {
  const std::map<int, std::string> queries = queries_of_the_page();
  EXPECT_EQ(queries.size(), 10u);
  EXPECT_EQ(queries.begin()->first, 1);
  EXPECT_EQ(queries.rbegin()->first, 10);
}

TEST_F(AuditorQuestions, what_was_decided_and_what_changed_it) {
  const std::vector<Json> decided = ask(1, venture_);
  const std::vector<Json> proposed = events(venture_, "decision_proposed");
  const std::vector<Json> enforced = events(venture_, "decision_enforced");
  ASSERT_EQ(decided.size(), proposed.size());
  ASSERT_EQ(enforced.size(), proposed.size());
  for (std::size_t at = 0; at < decided.size(); ++at) {
    EXPECT_EQ(decided[at]["seq"], proposed[at]["seq"]);
    EXPECT_EQ(decided[at]["proposed"], proposed[at]["action"]);
    EXPECT_EQ(decided[at]["source"], proposed[at]["source"]);
    EXPECT_EQ(decided[at]["enforced"], enforced[at]["action"]);
    EXPECT_EQ(decided[at]["rewrites"], Json::array());
  }
}

// A model that says it is done and names results that there are not: it is asked once more, then it has failed.
TEST_F(AuditorQuestions, which_rules_overrule_it) {
  const Json done = {{"action", "done"},
                     {"reasoning", "It is all there."},
                     {"synthesis_inputs", {{"r", {{"from_sub_goal", "ghost"}, {"slot", "v"}}}}}};
  const Json understood = {{"kind", "count"}, {"references", {"orders"}}, {"reason", "Clear."}};
  const Json script = {{"replies",
                        {{{"node", "understand_goal"}, {"value", understood}},
                         {{"node", "plan_round"}, {"value", done}},
                         {{"node", "plan_round"}, {"value", done}},
                         {{"node", "synthesize"}, {"value", {{"answer", "Sorry."}}}}}}};
  setenv("CAIRN_MODEL_SCRIPT", write_file("overruled.json", script.dump()).c_str(), 1);
  const Ran ran =
      cairn({"start", "round_planner", "--input", R"({"question": "How many orders?"})", "--wait", "--json"});
  unsetenv("CAIRN_MODEL_SCRIPT");
  const std::string run = ran.json()["run"];
  const std::vector<Json> rewritten = events(run, "decision_rewritten");
  ASSERT_EQ(rewritten.size(), 2u) << ran.out;
  std::vector<Json> decided = ask(1, run);
  std::erase_if(decided, [](const Json& one) { return one["rewrites"].empty(); });
  ASSERT_EQ(decided.size(), 2u);
  for (std::size_t at = 0; at < decided.size(); ++at) {
    EXPECT_EQ(decided[at]["proposed"], "done");
    ASSERT_EQ(decided[at]["rewrites"].size(), 1u);
    EXPECT_EQ(decided[at]["rewrites"][0]["to"], rewritten[at]["to"]);
  }
  EXPECT_EQ(decided[1]["enforced"], "failed");
  const Json rule = row_with(ask(2), "rule", rewritten[0]["rule"]);
  EXPECT_EQ(rule["times"], 2);
  EXPECT_EQ(rule["runs"], 1);
}

TEST_F(AuditorQuestions, what_became_of_the_sub_goals) {
  const std::vector<Json> goals = ask(3, planned_);
  ASSERT_EQ(goals.size(), 3u);
  EXPECT_EQ(row_with(goals, "sub_goal", "a")["status"], "succeeded");
  EXPECT_EQ(row_with(goals, "sub_goal", "b")["status"], "failed");
  EXPECT_EQ(row_with(goals, "sub_goal", "b")["message"], "on purpose");
  EXPECT_EQ(row_with(goals, "sub_goal", "c")["status"], "skipped");
  EXPECT_TRUE(row_with(goals, "sub_goal", "c")["duration"].is_null());
  EXPECT_FALSE(row_with(goals, "sub_goal", "a")["duration"].is_null());
}

TEST_F(AuditorQuestions, what_it_cost) {
  const std::vector<Json> called = events(venture_, "model_called");
  ASSERT_FALSE(called.empty());
  std::size_t calls = 0;
  for (const Json& node : ask(4, venture_)) {
    EXPECT_TRUE(node["node"].is_string()) << node;
    calls += node["calls"].get<std::size_t>();
  }
  EXPECT_EQ(calls, called.size());
  const Json all = row_with(ask(5), "graph", "venture_scope");
  EXPECT_EQ(all["runs"], 1);
  EXPECT_EQ(all["cost"], all["cost_per_run"]);
}

TEST_F(AuditorQuestions, who_was_waited_for_and_who_answered) {
  ASSERT_EQ(open_.size(), 1u);
  EXPECT_EQ(open_[0]["run_id"], venture_);
  EXPECT_TRUE(open_[0]["waited"].is_string());
  EXPECT_TRUE(ask(6).empty());
  const std::vector<Json> answered = ask(7, venture_);
  ASSERT_EQ(answered.size(), 1u);
  EXPECT_EQ(answered[0]["question"], open_[0]["question"]);
  EXPECT_EQ(answered[0]["answer"], "Norland");
  EXPECT_EQ(answered[0]["answered_by"], "user:ann");
}

TEST_F(AuditorQuestions, what_is_slow_and_what_failed) {
  const std::vector<Json> slow = ask(8);
  EXPECT_EQ(row_with(slow, "node", "echo")["attempts"], 1);
  EXPECT_EQ(row_with(slow, "node", "fail")["failed"], row_with(slow, "node", "fail")["attempts"]);
  const Json failed = row_with(ask(9), "run_id", planned_);
  EXPECT_EQ(failed["tool"], "fail");
  EXPECT_EQ(failed["message"], "on purpose");
}

TEST_F(AuditorQuestions, what_people_did_and_when_it_was_signed) {
  const std::vector<Json> done = ask(10, venture_);
  EXPECT_EQ(row_with(done, "type", "run_started")["seq"], 1);
  EXPECT_EQ(row_with(done, "type", "question_answered")["who"], "user:ann");
  for (const Json& one : done) EXPECT_TRUE(one["signed_at"].is_string()) << one;
}

}  // namespace
}  // namespace cairn::program
