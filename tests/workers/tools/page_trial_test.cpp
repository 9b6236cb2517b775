// page_agent on pages that judge themselves: pages of the shape of real sites, and a folder of pages that others wrote.
#include "tests/workers/tools/page_trial.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

#include "tests/paths.hpp"
#include "workers/ports/secrets.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using test::PageTrial;
using test::PageVerdict;

const fs::path own_pages = fs::path(testing::source_dir()) / "tests/workers/tools/pages";
const fs::path plans = fs::path(testing::source_dir()) / "tests/workers/tools/plans";

Json read_plans(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const Result<Json> read = parse_json(std::string(std::istreambuf_iterator<char>(file), {}), "the plans");
  if (!read || !read->is_object() || !read->value("tasks", Json()).is_array())
    throw std::runtime_error("Expected {\"tasks\": [...]} in " + path.string() + ".");
  return (*read)["tasks"];
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Runs each task whose name has the text of CAIRN_TEST_PAGE_TASK, if that is set, and prints each verdict.
void expect_verdicts(PageTrial& trial, const Json& tasks) {
  const std::string only = from_environment("CAIRN_TEST_PAGE_TASK");
  for (const Json& task : tasks) {
    const std::string name = task.at("name");
    if (name.find(only) == std::string::npos) continue;
    const PageVerdict judged = trial.run(task);
    const std::string wanted = canonical(task.value("verdict", Json(1)));
    std::cout << "[ verdict  ] " << name << ": " << judged.value.value_or("none") << std::endl;
    EXPECT_EQ(judged.value.value_or("none"), wanted) << name << ": " << judged.reason << "\n"
                                                     << judged.page.value("fault", Json()) << "\n"
                                                     << judged.page.value("dom", "");
    if (!only.empty()) std::cout << judged.page.value("dom", "") << std::endl;
  }
}

PageToolOptions with_files() {
  PageToolOptions options;
  options.uploads = own_pages.string();
  return options;
}

TEST(PageTrials, pages_of_the_shape_of_real_sites_judge_themselves) {
  PageTrial trial(own_pages, 0, with_files());
  expect_verdicts(trial, read_plans(plans / "own_pages.json"));
}

// The value is in the page and nowhere else: not in an event, a prompt, or what the page shows of it.
TEST(PageTrials, U7_a_secret_is_filled_in_by_its_name_and_never_told) {
  const std::string value = "correct-horse-battery";
  ::setenv("CAIRN_TEST_SHOP_PASSWORD", value.c_str(), 1);
  for (const bool is_bound : {true, false}) {
    const std::string place = is_bound ? "http://127.0.0.1" : "https://elsewhere.example";
    PageTrial trial(own_pages, 0);
    Json source = {{"env", "CAIRN_TEST_SHOP_PASSWORD"}, {"urls", {is_bound ? trial.url("/") : place}}};
    PageToolOptions options;
    options.secrets = *Secrets::open(*parse_secrets({{"shop_password", source}}));
    trial.use(std::move(options));
    const PageVerdict judged = trial.run(
        {{"name", "sign in"},
         {"page", "login.html"},
         {"input", {{"secrets", {"shop_password"}}}},
         {"actions",
          {"setValue(\"User\", \"ann\")", "setSecret(\"Password\", \"shop_password\")", "click(\"Sign in\")"}}});
    EXPECT_EQ(judged.history.find(value), std::string::npos);
    EXPECT_NE(judged.history.find("shop_password"), std::string::npos);
    if (is_bound) {
      EXPECT_EQ(judged.value.value_or("none"), "1") << judged.reason << judged.page;
      EXPECT_NE(judged.page.value("dom", "").find("Signed in with ***"), std::string::npos) << judged.page;
    } else {
      EXPECT_FALSE(judged.value) << "it is not bound to this page";
      EXPECT_EQ(judged.history.find("Signed in"), std::string::npos);
    }
  }
}

TEST(PageTrials, U4_a_question_has_an_answer_with_the_passage_it_rests_on) {
  PageTrial trial(own_pages, 0);
  Json task = {{"name", "What does the oak chair cost?"},
               {"page", "question.html"},
               {"actions", {"click(\"Chairs\")", "extract(\"the price of the oak chair\")"}},
               {"extracts", {{{"value", {{"price", 149}, {"currency", "EUR"}}}, {"quotes", {"149.00 EUR"}}}}},
               {"input",
                {{"answer_schema",
                  {{"type", "object"},
                   {"required", {"price", "currency"}},
                   {"properties", {{"price", {{"type", "number"}}}, {"currency", {{"type", "string"}}}}}}}}}};
  const PageVerdict judged = trial.run(task);
  EXPECT_EQ(judged.value.value_or("none"), "1") << judged.reason;
  EXPECT_EQ(judged.output["answer"], (Json{{"price", 149}, {"currency", "EUR"}})) << judged.output;
  EXPECT_EQ(judged.output["extracted"][0]["quotes"][0], "149.00 EUR");
  task["extracts"] = Json::array({{{"value", {{"price", 9}, {"currency", "EUR"}}}, {"quotes", {"9.00 EUR only"}}}});
  const PageVerdict invented = trial.run(task);
  EXPECT_NE(invented.history.find("Expected quotes that stand in the page"), std::string::npos) << invented.history;
  EXPECT_NE(invented.output.value("outcome", ""), "achieved");
}

// Such pages are not part of this project. CAIRN_TEST_PAGES is their folder, CAIRN_TEST_PAGE_PLANS the file of their
// plans (page_trial.hpp says its form), CAIRN_TEST_PAGE_MS a limit of time in place of their own.
TEST(PageTrials, pages_that_others_wrote_judge_themselves) {
  const std::string folder = from_environment("CAIRN_TEST_PAGES");
  if (folder.empty()) {
    std::cout << "[ skipped  ] CAIRN_TEST_PAGES names no folder of pages." << std::endl;
    return;
  }
  const std::string file = from_environment("CAIRN_TEST_PAGE_PLANS");
  const std::string limit = from_environment("CAIRN_TEST_PAGE_MS");
  PageTrial trial(folder, limit.empty() ? 0 : std::stoll(limit));
  expect_verdicts(trial, read_plans(file.empty() ? plans / "miniwob.json" : fs::path(file)));
}

}  // namespace
}  // namespace cairn
