// `cairn dataset measure` on a folder of its own: what it counts offline and with a model, its exit, and what it
// refuses.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>

#include "tests/ops/program.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/rule_book.hpp"

namespace cairn::program {
namespace {

using testing::LoopbackServer;

constexpr const char* library = R"sql(
create table books (book_id int primary key, title text, pages int, author_id int);
create table authors (author_id int primary key, name text, country text);
insert into authors values (1, 'Ada', 'Norway'), (2, 'Bo', 'Chile');
insert into books values (1, 'Rivers', 210, 1), (2, 'Hills', 340, 1), (3, 'Coasts', 160, 2);
)sql";

Json question(const std::string& text, const std::string& query) {
  return {{"db_name", "library"}, {"query_category", "count"}, {"question", text}, {"query", query}};
}
const Json books = question("How many books are there?", "select count(*) from books");
const Json pages = question("What is the average number of pages?", "select avg(pages) from books");
const Json unicorns = question("How many unicorns are there?", "select count(*) from authors");

std::string folder_of(const std::string& name, const std::vector<Json>& questions, const std::string& sql = library) {
  std::filesystem::create_directories(directory() / name);
  std::string lines;
  for (const Json& one : questions) lines += one.dump() + "\n";
  write_file(name + "/questions.jsonl", lines);
  if (!sql.empty()) write_file(name + "/library.sql", sql);
  return (directory() / name).string();
}

Ran measured(const std::string& folder, const Arguments& more = {}) {
  cairn_ok({"dataset", "load"});
  Arguments arguments = {"dataset", "measure", folder};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn(arguments);
}

// An endpoint behind which the rule book sits, or one that says nothing of use.
LoopbackServer::Reply model_reply(const LoopbackServer::Request& http, bool is_of_use) {
  const Json body = Json::parse(http.body());
  ModelRequest request;
  request.messages = body["messages"];
  request.schema_name = body["response_format"]["json_schema"]["name"];
  Json message = {{"role", "assistant"}, {"content", "I would rather not."}};
  if (is_of_use) message = answer_by_rules(request).reply.message;
  return {.body = Json{{"model", "loopback"},
                       {"choices", {{{"message", message}, {"finish_reason", "stop"}}}},
                       {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 1}}}}
                      .dump()};
}

struct WithModel {
  explicit WithModel(bool is_of_use)
      : server([is_of_use](const LoopbackServer::Request& http) { return model_reply(http, is_of_use); }) {
    setenv("CAIRN_MODEL_URL", server.url("/v1").c_str(), 1);
    setenv("CAIRN_MODEL", "loopback", 1);
  }
  ~WithModel() {
    unsetenv("CAIRN_MODEL_URL");
    unsetenv("CAIRN_MODEL");
  }
  LoopbackServer server;
};

TEST(DatasetMeasure, issue_20_2_counts_what_is_linked_right_and_failed_offline) {
  const Ran ran = measured(folder_of("counted", {books, pages, unicorns}), {"--json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const std::vector<Json> lines = ran.lines();
  ASSERT_EQ(lines.size(), 4U) << ran.out;
  EXPECT_EQ(lines[0]["outcome"], "right") << lines[0];
  EXPECT_EQ(lines[0]["doubted"], false);
  EXPECT_EQ(lines[0]["linked"], true);
  EXPECT_EQ(lines[1]["outcome"], "right") << lines[1];
  EXPECT_NE(lines[2]["outcome"], "right");
  EXPECT_EQ(lines[2]["linked"], false) << "a lookup of a name that is not there shows nothing";
  EXPECT_EQ(lines[3]["answers"], "offline");
  const Json& figures = lines[3]["figures"];
  EXPECT_EQ(figures["questions"], 3);
  EXPECT_EQ(figures["linked"], 2);
  EXPECT_EQ(figures["right"], 2);
  EXPECT_EQ(figures["wrong_without_doubt"], 0);
  EXPECT_EQ(figures["asked_back"].get<int>() + figures["failed"].get<int>(), 1);
  const Ran table = measured(folder_of("counted", {books, pages}), {"--only", "library", "--no-comments"});
  EXPECT_NE(table.out.find("Answers offline:"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("2 (100 %)"), std::string::npos) << table.out;
  EXPECT_NE(measured(folder_of("counted", {books}), {"--only", "other"}).out.find("all"), std::string::npos);
}

TEST(DatasetMeasure, issue_20_2_a_wrong_answer_without_a_doubt_is_an_exit_of_one) {
  const Ran ran = measured(folder_of("wrong", {question("How many books are there?", "select 7")}), {"--json"});
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_EQ(ran.lines().back()["figures"]["wrong_without_doubt"], 1);
}

TEST(DatasetMeasure, issue_20_2_asks_once_more_with_a_model_where_one_is_configured) {
  const std::string folder = folder_of("modelled", {books, pages});
  {
    const WithModel model(true);
    const Ran ran = measured(folder, {"--json"});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    const std::vector<Json> lines = ran.lines();
    ASSERT_EQ(lines.size(), 6U) << ran.out;
    EXPECT_EQ(lines[2]["answers"], "offline");
    EXPECT_EQ(lines[5]["answers"], "with the model");
    EXPECT_EQ(lines[5]["figures"]["right"], 2);
    EXPECT_FALSE(model.server.requests().empty());
  }
  const WithModel model(false);
  const std::vector<Json> lines = measured(folder_of("modelled", {books}), {"--json"}).lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1]["figures"]["right"], 1) << "offline asks no model";
  EXPECT_EQ(lines[3]["figures"]["failed"], 1) << lines[3];
}

TEST(DatasetMeasure, bad_input_is_one_sentence) {
  expect_refused(measured((directory() / "nowhere").string()), 3, "the questions");
  const std::string torn = folder_of("torn", {books});
  write_file("torn/questions.jsonl", "{\"db_name\": \n");
  expect_refused(measured(torn), 4, "a line of the questions");
  expect_refused(measured(folder_of("nameless", {{{"db_name", "library"}, {"question", "How many?"}}})), 4,
                 "Expected a question with db_name, question and query");
  expect_refused(measured(folder_of("bare", {books}, "")), 3, "the database library");
  expect_refused(measured(folder_of("broken", {books}, "create tabel books (x int);")), 4, "the database library");
  expect_refused(cairn({"dataset", "measure"}), 2, "FOLDER");
}

}  // namespace
}  // namespace cairn::program
