// Corpora in PostgreSQL: what a load leaves, what a search finds, and what happens when the database is away.
#include "storage/data/corpus.hpp"

#include <gtest/gtest.h>
#include <map>

#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace test;

Document document(const std::string& source, const std::string& title, std::vector<std::string> passages) {
  return {source, title, std::move(passages)};
}

const std::vector<Document> two = {
    document("docs/people.md", "Norland", {"The population was 5.2 million people.", "Households are small."}),
    document("docs/bikes.md", "Bicycles", {"E-bikes cost EUR 2,850 in Norland, and o'clock \\ says 'x'."})};

class CorpusTest : public ::testing::Test {
 protected:
  std::vector<std::string> found(const std::string& words, std::int32_t limit = 5) {
    const Result<std::vector<FoundPassage>> passages = corpora.search({"c", words, limit});
    if (!passages) return {passages.error().message};
    std::vector<std::string> sources;
    for (const FoundPassage& passage : *passages) sources.push_back(passage.source);
    return sources;
  }
  std::int64_t rows() { return ask_number(dsn, "select count(*) from cairn.passage"); }

  std::string dsn = new_database(1);
  Corpora corpora{[this]() -> Result<std::string> { return dsn; }};
};

using Sources = std::vector<std::string>;

TEST_F(CorpusTest, the_same_folder_again_leaves_nothing_twice) {
  const Result<CorpusLoad> first = corpora.load("c", "docs", two);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->added, 2);
  EXPECT_EQ(rows(), 3);
  const Result<CorpusLoad> again = corpora.load("c", "docs", two);
  EXPECT_EQ(again->unchanged, 2);
  EXPECT_EQ(again->added + again->changed + again->removed, 0);
  EXPECT_EQ(rows(), 3);
}

TEST_F(CorpusTest, what_changed_in_the_folder_is_changed_and_other_folders_stay) {
  ASSERT_TRUE(corpora.load("c", "docs", two));
  ASSERT_TRUE(corpora.load("c", "docs2", {document("docs2/more.md", "More", {"Wind turbines turn."})}));
  std::vector<Document> next = {two[0], document("docs/new.md", "New", {"Something else entirely."})};
  next[0].passages.pop_back();
  const Result<CorpusLoad> loaded = corpora.load("c", "docs", next);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->added, 1);
  EXPECT_EQ(loaded->changed, 1);
  EXPECT_EQ(loaded->removed, 1);
  EXPECT_EQ(found("e-bikes"), Sources{});
  EXPECT_EQ(found("wind turbines"), Sources{"docs2/more.md"});
  EXPECT_EQ(corpora.list()->at(0).documents, 3);
  EXPECT_EQ(corpora.list()->at(0).passages, 3);
}

TEST_F(CorpusTest, a_search_finds_by_word_stems_those_with_most_of_the_words) {
  ASSERT_TRUE(corpora.load("c", "docs", two));
  EXPECT_EQ(found("populations"), Sources{"docs/people.md"});
  EXPECT_EQ(found("cost of an e-bike in Norland"), Sources{"docs/bikes.md"});
  EXPECT_EQ(found("people Norland")[0], "docs/people.md") << "a title's words count";
  EXPECT_EQ(found("Norland").size(), 3U);
  EXPECT_EQ(found("Norland", 1).size(), 1U);
  EXPECT_EQ(found("price elasticity of whale oil in Norland"), Sources{}) << "one word of five is not enough";
  EXPECT_EQ(found("the of and"), Sources{});
  EXPECT_EQ(found(""), Sources{});
}

TEST_F(CorpusTest, any_text_may_be_asked) {
  ASSERT_TRUE(corpora.load("c", "docs", two));
  for (const char* words : {"'", "\\", "a' | b", "!:*&(", "o'clock", "C:\\temp\\x.txt", "<->", "日本", "1.5.2 -- drop"})
    EXPECT_TRUE(corpora.search({"c", words, 5})) << words;
}

TEST_F(CorpusTest, a_corpus_that_is_not_there_is_told_and_one_may_be_dropped) {
  EXPECT_EQ(corpora.search({"c", "x", 5}).error().code, Code::not_found);
  EXPECT_EQ(corpora.drop("c").error().code, Code::not_found);
  ASSERT_TRUE(corpora.load("c", "docs", two));
  ASSERT_TRUE(corpora.load("d", "docs", two));
  EXPECT_TRUE(corpora.drop("c"));
  EXPECT_EQ(corpora.list()->size(), 1U);
  EXPECT_EQ(rows(), 3);
}

TEST_F(CorpusTest, a_load_that_fails_leaves_nothing_and_the_next_call_goes_on) {
  ASSERT_TRUE(corpora.load("c", "docs", two));
  const std::vector<Document> bad = {document("docs/good.md", "Good", {"Good."}),
                                     document("docs/bad.md", "Bad", {"\xff is no UTF-8"})};
  EXPECT_EQ(corpora.load("c", "docs", bad).error().code, Code::unavailable);
  EXPECT_EQ(rows(), 3);
  EXPECT_EQ(found("populations"), Sources{"docs/people.md"});
}

TEST_F(CorpusTest, a_lost_connection_is_opened_again) {
  ASSERT_TRUE(corpora.load("c", "docs", two));
  ask(dsn, "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'cairn corpus'");
  EXPECT_EQ(corpora.search({"c", "populations", 5}).error().code, Code::unavailable);
  EXPECT_EQ(found("populations"), Sources{"docs/people.md"});
}

TEST_F(CorpusTest, the_search_uses_its_index) {
  ask(dsn,
      "insert into cairn.passage (corpus, source, position, title, text) "
      "select 'c', 'big/' || n, 1, 'Title ' || n, 'word' || n || ' and more' from generate_series(1, 20000) n");
  ask(dsn, "analyze cairn.passage");
  std::string sql(statement("corpus_search").text);
  for (const auto& [parameter, value] : std::map<std::string, std::string>{
           {"$1::text", "'c'"}, {"$2::text", "'word77'"}, {"$3::int", "5"}, {"$4::text", "''"}})
    sql.replace(sql.find(parameter), parameter.size(), value);
  const PgResult rows = ask(dsn, "explain " + sql);
  std::string plan;
  for (int row = 0; row < rows.rows(); ++row) plan += std::string(rows.text(row, 0)) + "\n";
  EXPECT_NE(plan.find("passage_words"), std::string::npos) << plan;
  EXPECT_EQ(found("word77"), Sources{"big/77"});
}

}  // namespace
}  // namespace cairn
