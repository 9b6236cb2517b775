// page_agent on pages that judge themselves: pages of the shape of real sites, and a folder of pages that others wrote.
#include "tests/workers/tools/page/page_trial.hpp"

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

const fs::path own_pages = fs::path(testing::source_dir()) / "tests/workers/tools/page/pages";
const fs::path plans = fs::path(testing::source_dir()) / "tests/workers/tools/page/plans";

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

// Pages that change for ever, or whose network is never quiet, are looked at after a while all the same: a run on such
// a page ends.
TEST(PageTrials, U6_a_page_that_never_rests_is_acted_upon_all_the_same) {
  for (const char* page : {"clock.html", "animation.html", "hanging_request.html"}) {
    PageTrial trial(own_pages, 0);
    const PageVerdict judged = trial.run({{"name", page}, {"page", page}, {"actions", {"click(\"Count\")"}}});
    EXPECT_EQ(judged.value.value_or("none"), "1") << page << ": " << judged.reason << judged.page;
  }
}

TEST(PageTrials, U4_a_picture_is_a_blob_of_a_channel_and_in_no_prompt) {
  PageTrial trial(own_pages, 0);
  Json task = {{"name", "banner"}, {"page", "pictures.html"}, {"actions", {"click(\"Reject all\")"}}};
  task["input"] = {{"settings", {{"screenshots", true}}}};
  const PageVerdict judged = trial.run(task);
  EXPECT_EQ(judged.value.value_or("none"), "1") << judged.reason;
  EXPECT_TRUE(judged.screenshot.contains("$blob")) << judged.screenshot.dump().substr(0, 200);
  const std::string jpeg = judged.picture.at("jpeg");
  EXPECT_TRUE(jpeg.starts_with("/9j/")) << "JPEG in base64";
  ASSERT_GT(jpeg.size(), 32U * 1024);
  EXPECT_EQ(judged.prompts.find(jpeg.substr(0, 100)), std::string::npos);
  EXPECT_EQ(judged.prompts.find("/9j/"), std::string::npos);
  EXPECT_EQ(judged.history.find(jpeg.substr(jpeg.size() / 2, 200)), std::string::npos) << "no event has its bytes";
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

// Such pages are not part of this project. They are in the folder of samples next to it, or CAIRN_TEST_PAGES is their
// folder, CAIRN_TEST_PAGE_PLANS the file of their plans (page_trial.hpp says its form), CAIRN_TEST_PAGE_MS a limit of
// time in place of their own (10 s, which a busy machine passes).
TEST(PageTrials, pages_that_others_wrote_judge_themselves) {
  const fs::path samples = fs::path(testing::samples()) / "miniwob" / "html";
  const std::string named = from_environment("CAIRN_TEST_PAGES");
  const fs::path folder = named.empty() ? samples : fs::path(named);
  if (!fs::is_directory(folder)) GTEST_SKIP() << "There is no folder of pages, and CAIRN_TEST_PAGES names none.";
  const std::string file = from_environment("CAIRN_TEST_PAGE_PLANS");
  const std::string limit = from_environment("CAIRN_TEST_PAGE_MS");
  PageTrial trial(folder, limit.empty() ? 120'000 : std::stoll(limit));
  expect_verdicts(trial, read_plans(file.empty() ? plans / "miniwob.json" : fs::path(file)));
}

}  // namespace
}  // namespace cairn
