// Folders as documents, and the tool that searches them.
#include "workers/tools/corpus/corpus_tool.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "tests/storage/test_database.hpp"
#include "workers/tools/corpus/documents.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

TEST(Documents, are_titled_and_cut_into_passages_under_their_headings) {
  const Document document = document_of("docs/a.md",
                                        "\xEF\xBB\xBF# Norland\n\nIt has 5.2 million\ninhabitants.\n\nIt rains.\n\n"
                                        "## Prices\r\n\r\n- bread: EUR 3\n- milk: EUR 2\n");
  EXPECT_EQ(document.title, "Norland");
  EXPECT_EQ(document.passages, (std::vector<std::string>{"It has 5.2 million inhabitants.\n\nIt rains.",
                                                         "Prices\n\n- bread: EUR 3\n\n- milk: EUR 2"}));
  EXPECT_EQ(document_of("docs/plain.txt", "no heading").title, "plain");
  EXPECT_TRUE(document_of("docs/empty.md", " \n\n").passages.empty());
}

TEST(Documents, long_paragraphs_are_cut_between_sentences) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "Sentence number " + std::to_string(i) + " says nothing. ";
  const Document document = document_of("a.txt", text);
  EXPECT_GT(document.passages.size(), 5U);
  for (const std::string& passage : document.passages) {
    EXPECT_LE(passage.size(), passage_bytes_max);
    EXPECT_TRUE(passage.ends_with("nothing.")) << passage;
  }
  for (const std::string& passage : document_of("b.txt", std::string(100'000, 'x')).passages)
    EXPECT_LE(passage.size(), passage_bytes_max + 10);
}

class Folders : public ::testing::Test {
 protected:
  Folders() { fs::create_directories(root / "deep" / ".hidden"); }
  ~Folders() override { fs::remove_all(root); }
  void write(const std::string& name, const std::string& text) { std::ofstream(root / name) << text; }

  fs::path root = fs::path(test::scratch_directory()) / "folder";
};

TEST_F(Folders, are_read_whole_but_for_what_is_hidden_or_no_text) {
  write("b.md", "# B\n\nSomething.");
  write("deep/a.txt", "Deep.");
  write("deep/.hidden/x.md", "Hidden.");
  write(".y.md", "Hidden.");
  write("c.odt", "Not text.");
  write("empty.md", "\n");
  for (const std::string& path : {root.string(), root.string() + "/", (root / "deep" / "..").string()}) {
    const Result<Folder> folder = read_documents(path);
    ASSERT_TRUE(folder) << folder.error().message;
    EXPECT_EQ(folder->name, "folder") << path;
    ASSERT_EQ(folder->documents.size(), 2U);
    EXPECT_EQ(folder->documents[0].source, "folder/b.md");
    EXPECT_EQ(folder->documents[1].source, "folder/deep/a.txt");
  }
}

TEST_F(Folders, H20_links_that_lead_out_of_the_folder_are_not_followed) {
  write("a.md", "Inside.");
  const fs::path outside = root.parent_path() / (root.filename().string() + "_outside.txt");
  std::ofstream(outside) << "secret";
  fs::create_symlink(outside, root / "notes.txt");
  fs::create_symlink("/etc/hostname", root / "host.md");
  fs::create_symlink("a.md", root / "b.md");
  const Result<Folder> folder = read_documents(root.string());
  fs::remove(outside);
  ASSERT_TRUE(folder) << folder.error().message;
  std::vector<std::string> sources;
  for (const Document& document : folder->documents) sources.push_back(document.source);
  EXPECT_EQ(sources, (std::vector<std::string>{"folder/a.md", "folder/b.md"}));
}

TEST_F(Folders, what_is_no_folder_or_has_nothing_to_read_is_refused) {
  EXPECT_EQ(read_documents((root / "nothing").string()).error().code, Code::not_found);
  EXPECT_EQ(read_documents(root.string()).error().code, Code::invalid) << "no documents";
  write("good.md", "Good.");
  EXPECT_EQ(read_documents((root / "good.md").string()).error().code, Code::not_found) << "no folder";
  fs::remove(root / "good.md");
  write("bad.md", "\xff\xfe");
  EXPECT_EQ(read_documents(root.string()).error().code, Code::invalid);
  EXPECT_NE(read_documents(root.string()).error().message.find("folder/bad.md: Expected UTF-8"), std::string::npos);
}

TEST_F(Folders, U1_what_cannot_be_read_is_passed_over_and_named) {
  write("good.md", "Good.");
  write("bytes.md", "\xff\xfe");
  write("nul.md", std::string("a\0b", 3));
  write("large.md", std::string(document_bytes_max + 1, 'x'));
  write("broken.pdf", "no PDF");
  write("broken.docx", "no archive");
  const Result<Folder> folder = read_documents(root.string());
  ASSERT_TRUE(folder) << folder.error().message;
  ASSERT_EQ(folder->documents.size(), 1U);
  EXPECT_EQ(folder->documents[0].source, "folder/good.md");
  std::vector<std::string> unread;
  for (const UnreadFile& file : folder->unread) {
    unread.push_back(file.source);
    EXPECT_TRUE(file.reason.starts_with("Expected ")) << file.reason;
  }
  EXPECT_EQ(unread, (std::vector<std::string>{"folder/broken.docx", "folder/broken.pdf", "folder/bytes.md",
                                              "folder/large.md", "folder/nul.md"}));
}

TEST(Documents, H4_a_worker_may_be_bound_to_some_corpora) {
  ToolCall call;
  call.inputs = {{"corpus", "secret"}, {"query", "word"}};
  const ToolSpec bound = corpus_tool(corpora_in_memory({{"secret", {document_of("a.md", "A word.")}}}), {{"other"}});
  const ToolAnswer answer = std::get<NativeTool>(bound.does)(call);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().error, "refused");
  EXPECT_FALSE(answer.error().retryable);
}

TEST(Documents, a_corpus_has_a_plain_name) {
  EXPECT_TRUE(check_corpus_name("markets_2-a").ok());
  for (const char* name : {"", "A", "1a", "a b", "a/b", "ä"}) EXPECT_FALSE(check_corpus_name(name).ok()) << name;
  EXPECT_FALSE(check_corpus_name(std::string(64, 'a')).ok());
}

ToolAnswer call(const ToolSpec& tool, const Json& inputs) {
  ToolCall call;
  call.tool = tool.name;
  call.inputs = inputs;
  return std::get<NativeTool>(tool.does)(call);
}

// In memory and in PostgreSQL alike.
class CorpusTool : public ::testing::TestWithParam<bool> {
 protected:
  static SearchCorpus corpora() {
    if (!GetParam()) return corpora_in_memory({{"example", example_documents()}});
    return corpora_in_database([dsn = test::new_database(1)]() -> Result<std::string> { return dsn; });
  }
  ToolSpec tool = corpus_tool(corpora());
};
INSTANTIATE_TEST_SUITE_P(Where, CorpusTool, ::testing::Bool());

TEST_P(CorpusTool, finds_titled_excerpts_with_their_source) {
  const auto answer = call(tool, {{"corpus", "example"}, {"query", "average price of e-bikes in Norland"}});
  const Json& outputs = *answer;
  ASSERT_FALSE(outputs["hits"].empty());
  const Json& best = outputs["hits"][0];
  EXPECT_EQ(best["title"], "Bicycles in Norland");
  EXPECT_EQ(best["source"], "example/bicycles.md");
  EXPECT_NE(best["excerpt"].get<std::string>().find("EUR 2,850"), std::string::npos);
}

TEST_P(CorpusTool, no_hits_is_an_answer_and_no_corpus_is_a_failure) {
  const auto none = call(tool, {{"corpus", "example"}, {"query", "submarine cables of Atlantis"}});
  EXPECT_EQ((*none)["hits"], Json::array());
  const auto failed = call(tool, {{"corpus", "nowhere"}, {"query", "x"}});
  EXPECT_EQ(failed.error().error, "not_found");
  EXPECT_FALSE(failed.error().retryable);
}

TEST_P(CorpusTool, wrong_inputs_are_told) {
  for (const Json& inputs : {Json::object(), Json{{"corpus", "example"}}, Json{{"corpus", 1}, {"query", "x"}},
                             Json{{"corpus", "example"}, {"query", "x"}, {"limit", 0}},
                             Json{{"corpus", "example"}, {"query", "x"}, {"limit", 21}},
                             Json{{"corpus", "example"}, {"query", std::string(1001, 'x')}}, Json::array()}) {
    const auto answer = call(tool, inputs);
    ASSERT_TRUE(!answer.ok()) << inputs;
    EXPECT_EQ(answer.error().error, "invalid");
  }
}

// By words alone the last one is the best.
std::vector<Document> of_two_regions() {
  return {document_of("docs/nor.md", "# Norland\n\nA bicycle costs 900 EUR."),
          document_of("docs/far.md", "# Far away\n\nThe price of a bicycle in the north of Norland is 950 EUR."),
          document_of("docs/sud.md", "# Sudland\n\nPrice of a bicycle: the average price of a bicycle is 500 EUR.")};
}

std::vector<std::string> sources_of(const ToolAnswer& answer) {
  std::vector<std::string> sources;
  for (const Json& hit : answer->at("hits")) sources.push_back(hit["source"]);
  return sources;
}

TEST(Corpora, issue_20_3_passages_of_the_asked_region_come_before_those_of_another_and_none_is_lost) {
  const std::string dsn = test::new_database(1);
  const auto place = [dsn]() -> Result<std::string> { return dsn; };
  ASSERT_TRUE(Corpora(place).load("cycles", "docs", of_two_regions()));
  using Sources = std::vector<std::string>;
  for (const ToolSpec& tool :
       {corpus_tool(corpora_in_memory({{"cycles", of_two_regions()}})), corpus_tool(corpora_in_database(place))}) {
    Json inputs = {{"corpus", "cycles"}, {"query", "price bicycle"}, {"limit", 3}};
    EXPECT_EQ(sources_of(call(tool, inputs)).size(), 2U) << "one has no more than half of the words";
    inputs["query"] = "bicycle";
    EXPECT_EQ(sources_of(call(tool, inputs)).size(), 3U);
    inputs["region"] = "NORLAND";
    EXPECT_EQ(sources_of(call(tool, inputs)).back(), "docs/sud.md");
    EXPECT_EQ(sources_of(call(tool, inputs)).size(), 3U);
    EXPECT_EQ(call(tool, inputs)->at("hits")[2]["names_region"], false);
    inputs["region"] = "Sudland";
    inputs["limit"] = 1;
    EXPECT_EQ(sources_of(call(tool, inputs)), Sources{"docs/sud.md"});
    inputs["region"] = "Atlantis";
    EXPECT_EQ(sources_of(call(tool, inputs)).size(), 1U);
    inputs["region"] = 5;
    EXPECT_EQ(call(tool, inputs).error().error, "invalid");
  }
}

TEST(Corpora, U1_files_that_could_not_be_read_are_named_in_every_answer_and_never_found) {
  const std::string dsn = test::new_database(1);
  const auto place = [dsn]() -> Result<std::string> { return dsn; };
  const std::vector<UnreadFile> unread = {{"docs/x.pdf", "Expected heat pumps, but it is locked."}};
  ASSERT_TRUE(Corpora(place).load("energy", "docs", {document_of("docs/a.md", "Heat pumps last.")}, unread));
  const ToolSpec tool = corpus_tool(corpora_in_database(place));
  for (const auto& [words, hits] : {std::pair{"heat pumps", 1}, std::pair{"locked", 0}, std::pair{"submarine", 0}}) {
    const Json outputs = *call(tool, {{"corpus", "energy"}, {"query", words}});
    EXPECT_EQ(outputs["hits"].size(), static_cast<std::size_t>(hits)) << words;
    EXPECT_EQ(outputs["unreadable"], (Json{{{"source", "docs/x.pdf"}, {"reason", unread[0].reason}}}));
  }
  ASSERT_TRUE(Corpora(place).load("energy", "docs", {document_of("docs/a.md", "Heat pumps last.")}));
  EXPECT_FALSE((*call(tool, {{"corpus", "energy"}, {"query", "heat"}})).contains("unreadable")) << "it is gone";
}

TEST(Corpora, rows_of_unread_files_take_no_place_of_a_hit) {
  const std::string dsn = test::new_database(1);
  const auto place = [dsn]() -> Result<std::string> { return dsn; };
  std::vector<UnreadFile> unread;
  for (int i = 0; i < 6; ++i)
    unread.push_back({"docs/" + std::to_string(i) + ".pdf", "Expected heat, but it is cold."});
  ASSERT_TRUE(Corpora(place).load("energy", "docs", {document_of("docs/a.md", "Heat pumps last.")}, unread));
  const Json outputs =
      *call(corpus_tool(corpora_in_database(place)), {{"corpus", "energy"}, {"query", "heat"}, {"limit", 5}});
  EXPECT_EQ(outputs["hits"].size(), 1U) << outputs;
}

TEST(Corpora, a_database_that_is_away_is_worth_another_attempt) {
  const ToolSpec tool =
      corpus_tool(corpora_in_database([]() -> Result<std::string> { return std::string("host=/nowhere dbname=x"); }));
  const auto answer = call(tool, {{"corpus", "example"}, {"query", "x"}});
  EXPECT_EQ(answer.error().error, "unavailable");
  EXPECT_TRUE(answer.error().retryable);
}

}  // namespace
}  // namespace cairn
