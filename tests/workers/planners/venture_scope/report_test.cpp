// The end as a report: JSON, Markdown and a page.
#include "workers/planners/venture_scope/report.hpp"

#include "tests/workers/planners/venture_desk.hpp"

namespace cairn {
namespace {

using test::VentureDesk;

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// total = a * b + 10, with a of documents and b said.
VentureDesk calculated_desk() {
  VentureDesk desk;
  desk.data["question"] = "How <large> is it?";
  desk.data["profile"]["fields"]["total"]["formula"] = "a * b + 10";
  desk.outcome("prepare");
  desk.data["observation"] = {{"path", "a"},
                              {"query", "alpha"},
                              {"hits",
                               {{{"title", "T"}, {"source", "docs/a.md"}, {"excerpt", "The alpha was about 7 <b>."}},
                                {{"title", "T"}, {"source", "docs/b.md"}, {"excerpt", "The alpha was 9."}}}}};
  desk.outcome("observe");
  desk.set("b", 10);
  desk.outcome("calculate");
  desk.data["unreadable"] = {{{"source", "docs/x.pdf"}, {"reason", "It is locked."}}};
  EXPECT_EQ(desk.label("calc_gate"), "finish_success");
  EXPECT_EQ(desk.label("finish"), "done");
  return desk;
}

TEST(Report, U1_says_how_far_the_result_moves_with_each_input) {
  VentureDesk desk = calculated_desk();
  const Json report = desk.data["report"];
  EXPECT_EQ(report["result"], 100);
  ASSERT_EQ(report["sensitivity"].size(), 2U);
  for (const Json& row : report["sensitivity"]) {
    EXPECT_NEAR(row["low"].get<double>(), 82, 1e-9) << row;
    EXPECT_NEAR(row["high"].get<double>(), 118, 1e-9) << row;
    EXPECT_NEAR(row["swing"].get<double>(), 0.36, 1e-9) << row;
  }
}

TEST(Report, U1_has_formula_sources_conflicts_and_assumptions) {
  VentureDesk desk = calculated_desk();
  const Json report = desk.data["report"];
  EXPECT_EQ(report["formula"], "total = a * b + 10");
  EXPECT_EQ(report["sources"][0]["path"], "a");
  EXPECT_EQ(report["sources"][0]["readings"].size(), 2U);
  EXPECT_EQ(report["conflicts"][0]["path"], "a");
  EXPECT_TRUE(holds(report["assumptions"].dump(), "No period was named"));
  EXPECT_TRUE(holds(report["assumptions"].dump(), "b: as it was said"));
  EXPECT_TRUE(holds(report["answer"], "Sources disagree on a"));
  EXPECT_TRUE(holds(report["answer"], "Not read: docs/x.pdf: It is locked."));
}

TEST(Report, U1_is_markdown_and_a_page_that_obey_nothing_of_a_document) {
  VentureDesk desk = calculated_desk();
  const std::string markdown = desk.data["report"]["markdown"];
  for (const char* part : {"# How &lt;large&gt; is it?", "## Formula", "## What the sources say",
                           "## If an input is 20 % off", "## Documents that could not be read", "| a |"})
    EXPECT_TRUE(holds(markdown, part)) << part << "\n" << markdown;
  const std::string page = desk.data["report"]["page"];
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(holds(page, "<h1>How &lt;large&gt; is it?</h1>"));
  EXPECT_FALSE(holds(page, "<b>")) << "a passage's markup is text";
  EXPECT_TRUE(holds(page, "<td>docs/b.md</td>"));
}

TEST(Report, a_run_without_a_result_has_a_report_too) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.data.update({{"status", "aborted"}, {"reason", "calc_cap"}});
  desk.outcome("finish");
  EXPECT_EQ(desk.data["report"]["result"], nullptr);
  EXPECT_EQ(desk.data["report"]["missing"], (Json{"a", "b"}));
  EXPECT_EQ(desk.data["report"]["sensitivity"], Json::array());
  EXPECT_TRUE(holds(desk.data["report"]["page"], "<td>missing</td>"));
}

}  // namespace
}  // namespace cairn
