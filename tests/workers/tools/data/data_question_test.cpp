// From a question to a query and from rows to words, without a database.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "workers/tools/data/metadata.hpp"
#include "workers/tools/data/query.hpp"
#include "workers/tools/data/query_language.hpp"
#include "workers/tools/data/question.hpp"
#include "workers/tools/data/results.hpp"

namespace cairn {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// kind, references, and whatever else is not empty, in one line.
std::string reading(const std::string& question) {
  const Json read = read_data_question(question, "");
  std::string line = read["kind"].get<std::string>();
  for (const Json& reference : read["references"]) line += " " + reference.get<std::string>();
  for (const char* name : {"measure", "group_by"})
    if (read[name] != "") line += std::string(" ") + name + "=" + read[name].get<std::string>();
  if (read["order"] != "none") line += " " + read["order"].get<std::string>();
  for (const char* name : {"month", "year", "limit", "page"})
    if (read[name] != 0) line += std::string(" ") + name + "=" + read[name].dump();
  return line + (read["wants_analysis"] == true ? " analysis" : "");
}

TEST(DataQuestion, is_read_by_word_rules) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"How many orders were there in Berlin in March?", "count orders Berlin month=3"},
      {"Which product sold best?", "sum product sold measure=sold group_by=product descending limit=1"},
      {"Show the ten largest orders", "list orders descending limit=10"},
      {"What does the column net_price mean?", "meaning net_price"},
      {"Why did sales fall in May?", "change sales measure=sales month=5 analysis"},
      {"What were the total sales in Berlin in June 2025?", "sum sales Berlin measure=sales month=6 year=2025"},
      {"Top 3 shops by sales", "sum shops sales measure=sales group_by=shops descending limit=3"},
      {"What is the average amount of orders in the south?", "average amount orders south measure=amount"},
      {"How many orders per city?", "count orders city group_by=city"},
      {"Show the orders in Hamburg, page 2", "list orders Hamburg page=2"},
      {"How many Trail Lamp were sold?", "count Trail Lamp sold"},
      {"How many \"old town\" are there?", "count old town"},
      {"What about Berlin?", "ambiguous Berlin"},
      {"Show me", "ambiguous"},
      {"Hello!", "general"},
      {"What can you do?", "general"}};
  for (const auto& [question, expected] : cases) EXPECT_EQ(reading(question), expected) << question;
}

TEST(DataQuestion, a_clarification_stands_alone_or_completes_it) {
  EXPECT_EQ(read_data_question("What about Berlin?", "How many orders were there?")["kind"], "count");
  EXPECT_EQ(read_data_question("How many orders were there?", "Berlin")["references"],
            Json::parse(R"(["orders", "Berlin"])"));
}

// --- names -----------------------------------------------------------------------------------------------------------
DataCatalog catalog() {
  return {{{"book", "What is lent.", "book_id", "integer", "The number.", true},
           {"book", "What is lent.", "title", "text", "What it is called.", false},
           {"loan", "Who has what.", "loan_id", "integer", "The number.", true},
           {"loan", "Who has what.", "book_id", "integer", "The book.", false},
           {"loan", "Who has what.", "lent_on", "date", "The day.", false},
           {"loan", "Who has what.", "days", "integer", "How long, the duration in days.", false}},
          {{"loan", "book_id", "book", "book_id"}}};
}

Json found(const std::vector<std::string>& references) {
  return metadata_results(references, catalog(), {{"book", "title", "Emma"}});
}

TEST(DataMetadata, a_name_goes_before_a_value_and_a_value_before_a_comment) {
  const Json metadata = found({"books", "emma", "duration", "nonsense", "book_id"});
  ASSERT_EQ(metadata["found"].size(), 5U) << metadata["found"];
  EXPECT_EQ(metadata["found"][0]["as"], "table");
  EXPECT_EQ(metadata["found"][1]["as"], "value");
  EXPECT_EQ(metadata["found"][1]["value"], "Emma");
  EXPECT_EQ(metadata["found"][2]["column"], "days");
  EXPECT_EQ(metadata["unresolved"], Json::array({"nonsense"}));
  EXPECT_TRUE(has_rival_places(metadata)) << "book_id is in two tables";
  EXPECT_FALSE(has_rival_places(found({"books", "emma"})));
  EXPECT_TRUE(has(explain_metadata(metadata), "days is a column of the table loan, of the type integer. How long"));
  EXPECT_TRUE(has(explain_metadata(metadata), "nothing that is called nonsense"));
}

// --- queries ---------------------------------------------------------------------------------------------------------
std::string query(const Json& analysis, const std::vector<std::string>& references) {
  const Result<Json> made = sql_query(analysis, found(references));
  return made ? (*made)["text"].get<std::string>() : made.error().message;
}

TEST(DataQuery, tables_are_joined_by_their_keys_and_values_are_quoted) {
  EXPECT_EQ(
      query({{"kind", "count"}}, {"loans", "emma"}),
      "select count(*) as \"count\"\nfrom \"loan\"\njoin \"book\" on \"loan\".\"book_id\" = \"book\".\"book_id\"\n"
      "where \"book\".\"title\" in ('Emma')");
  EXPECT_EQ(
      query({{"kind", "sum"}, {"measure", "duration"}, {"group_by", "book"}, {"order", "descending"}, {"limit", 1}},
            {"duration", "book"}),
      "select \"book\".\"title\", sum(\"loan\".\"days\") as \"sum\"\nfrom \"loan\"\njoin \"book\" on "
      "\"loan\".\"book_id\" = \"book\".\"book_id\"\ngroup by \"book\".\"title\"\norder by 2 desc, 1\nlimit 1");
}

TEST(DataQuery, what_makes_no_query_is_refused_with_a_sentence) {
  EXPECT_TRUE(has(query({{"kind", "count"}, {"month", 3}}, {"books"}), "Expected book to have a date"));
  EXPECT_TRUE(has(query({{"kind", "sum"}, {"measure", "title"}}, {"title"}), "Expected a figure to add up"));
  EXPECT_TRUE(
      has(query({{"kind", "count"}, {"group_by", "lent_on"}}, {"books", "lent_on"}), "to be linked to loan by a key"));
  EXPECT_TRUE(has(query({{"kind", "change"}, {"measure", "duration"}}, {"duration"}), "Expected a month"));
  EXPECT_EQ(sql_query({{"kind", "count"}}, {{"made", "up"}}).error().code, Code::invalid);
}

TEST(QueryLanguages, an_unknown_one_is_refused_by_name) {
  EXPECT_TRUE(find_query_language("sql").ok());
  const auto unknown = find_query_language("elastic");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::unsupported);
  EXPECT_TRUE(has(unknown.error().message, "elastic") && has(unknown.error().message, "sql"));
}

// --- results ---------------------------------------------------------------------------------------------------------
TEST(DataResults, are_shown_as_a_value_or_a_table) {
  const Json one = Json::parse(R"({"columns": [{"name": "count", "type": "number"}], "rows": [[7]], "more": false,
                                   "says": "the number of loans"})");
  EXPECT_EQ(show_results(one), "The number of loans: 7.");
  const Json many = Json::parse(R"({"columns": [{"name": "title", "type": "text"}, {"name": "n", "type": "number"}],
                                    "rows": [["Émile", 2.5], [null, 10]], "more": true})");
  EXPECT_EQ(show_results(many), "title     n\nÉmile  2.50\n–        10\nThere are more rows.");
  Json none = one;
  none["rows"] = Json::array();
  EXPECT_EQ(show_results(none), "The number of loans: there is nothing.");
}

TEST(DataResults, show_the_figures_that_the_rows_have) {
  const auto shown = [](const std::string& value) {
    return show_results(
        Json::parse(R"({"columns": [{"name": "n", "type": "number"}], "more": false, "rows": [[)" + value + "]]}"));
  };
  EXPECT_EQ(shown("1234567890123456789"), "n: 1234567890123456789.");
  EXPECT_EQ(shown("0.003"), "n: 0.003.");
  EXPECT_EQ(shown("-0.00012"), "n: -0.00012.");
  EXPECT_EQ(shown("0.25"), "n: 0.25.");
}

TEST(DataResults, an_unknown_figure_is_not_counted_as_zero) {
  const ResultAnalysis analysis =
      analyze_results(Json::parse(R"({"columns": [{"name": "shop", "type": "text"}, {"name": "n", "type": "number"}],
                      "rows": [["a", null], ["b", 4], ["c", 6]], "more": false})"));
  EXPECT_EQ(analysis.text, "Over 2 rows, n comes to 10, 5 on average; the largest is 6 (c), the smallest 4 (b).");
}

TEST(DataResults, a_change_whose_whole_was_cut_off_is_not_taken_for_none) {
  const ResultAnalysis analysis =
      analyze_results(Json::parse(R"({"columns": [{"name": "part", "type": "text"}, {"name": "value", "type": "text"},
      {"name": "before", "type": "number"}, {"name": "now", "type": "number"}], "more": true, "rows": [
      ["account.name", "A", 100, 60]]})"));
  EXPECT_FALSE(analysis.is_sure);
  EXPECT_FALSE(has(analysis.text, "Nothing changed")) << analysis.text;
}

TEST(DataResults, a_change_is_told_by_the_parts_that_made_it) {
  const Json change = Json::parse(R"({"columns": [{"name": "part", "type": "text"}, {"name": "value", "type": "text"},
      {"name": "before", "type": "number"}, {"name": "now", "type": "number"}], "more": false, "rows": [
      ["all", "all", 100, 60], ["city", "A", 50, 15], ["city", "B", 50, 45], ["shop", "Alpha", 50, 15],
      ["kind", "x", 90, 70], ["kind", "y", 10, -10]]})");
  const ResultAnalysis analysis = analyze_results(change);
  EXPECT_FALSE(analysis.is_sure) << "where, not why";
  EXPECT_TRUE(has(analysis.text, "It fell by 40 (40 %), from 100 to 60.")) << analysis.text;
  EXPECT_TRUE(has(analysis.text, "- city A: from 50 to 15, 88 % of the fall.")) << analysis.text;
  EXPECT_FALSE(has(analysis.text, "Alpha")) << "the same rows under another name";
  EXPECT_TRUE(has(analysis.text, "- kind y: from 10 to -10, 50 % of the fall.")) << analysis.text;
  EXPECT_FALSE(has(analysis.text, "kind x")) << "it fell by less than the whole";
}

}  // namespace
}  // namespace cairn
