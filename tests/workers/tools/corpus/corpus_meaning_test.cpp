// The second ranking of a corpus, by meaning: against a server whose vectors count concepts, not words.
#include <atomic>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>

#include "tests/storage/test_database.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/tools/corpus/documents.hpp"
#include "workers/tools/corpus/meaning.hpp"
#include "workers/tools/corpus/vectors.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using testing::TemporaryFolder;
using Served = LoopbackServer::Reply;

// Words that mean the same have the same part of a vector; every other word has one of its own, nearly.
constexpr std::size_t parts = 64;
std::size_t part_of(const std::string& word) {
  static const std::map<std::string, std::size_t> concepts = {
      {"bicycle", 0}, {"bicycles", 0}, {"bike", 0},   {"cycle", 0}, {"velocipede", 0}, {"cost", 1},
      {"costs", 1},   {"price", 1},    {"priced", 1}, {"fee", 1},   {"rain", 2},       {"precipitation", 2}};
  if (const auto found = concepts.find(word); found != concepts.end()) return found->second;
  std::size_t hash = 5381;
  for (const char c : word) hash = hash * 33 + static_cast<unsigned char>(c);
  return 3 + hash % (parts - 3);
}

Json vector_of(const std::string& text) {
  std::vector<double> vector(parts, 0.001);
  std::string word;
  const auto end = [&] {
    if (!word.empty()) vector[part_of(word)] += part_of(word) < 3 ? 3 : 0.3;
    word.clear();
  };
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else
      end();
  }
  end();
  return vector;
}

Served vectors_for(const LoopbackServer::Request& request) {
  const Json asked = Json::parse(request.body());
  Json rows = Json::array();
  for (std::size_t i = asked["input"].size(); i-- > 0;)  // in no order, as the index says
    rows.push_back({{"object", "embedding"}, {"index", i}, {"embedding", vector_of(asked["input"][i])}});
  return {.body = Json{{"object", "list"}, {"data", rows}, {"model", asked["model"]}}.dump()};
}

std::vector<Document> documents() {
  std::vector<Document> all = {document_of("d/a.md", "# Shops\n\nA velocipede is priced at 900 crowns."),
                               document_of("d/b.md", "# Weather\n\nMuch precipitation falls in the north."),
                               document_of("d/c.md", "# Streets\n\nThe bike lanes are long.")};
  return all;
}

class CorpusMeaning : public ::testing::Test {
 protected:
  ToolAnswer search(const std::string& words, const MeaningLimits& limits = {}, const std::string& folder = "") {
    if (!search_) {
      const EmbeddingEndpoint endpoint{server_.url("/v1"), "e", "secret-key"};
      search_ = with_meaning(corpora_in_memory({{"town", documents()}}), passages_in_memory({{"town", documents()}}),
                             endpoint, folder, limits);
    }
    ToolCall call;
    call.inputs = {{"corpus", "town"}, {"query", words}, {"limit", 2}};
    return std::get<NativeTool>(corpus_tool(search_).does)(call);
  }
  std::size_t texts_asked() const {
    std::size_t count = 0;
    for (const auto& request : server_.requests()) count += Json::parse(request.body())["input"].size();
    return count;
  }

  LoopbackServer::Answers answers_ = vectors_for;
  LoopbackServer server_{[this](const auto& request) { return answers_(request); }};
  SearchCorpus search_;
};

TEST_F(CorpusMeaning, a_passage_in_other_words_is_found_and_says_how) {
  const Json outputs = *search("cost of a bicycle");
  ASSERT_EQ(outputs["hits"].size(), 2U) << outputs;
  EXPECT_EQ(outputs["hits"][0]["source"], "d/a.md");
  EXPECT_EQ(outputs["hits"][0]["found_by"], Json({"meaning"})) << "no word of it was asked for";
  EXPECT_EQ(outputs["meaning"], Json({{"model", "e"}, {"passages", 3}, {"known", 3}}));
  const Json both = *search("bike lanes");
  EXPECT_EQ(both["hits"][0]["source"], "d/c.md");
  EXPECT_EQ(both["hits"][0]["found_by"], Json({"words", "meaning"}));
  EXPECT_EQ(server_.requests()[0]["authorization"], "Bearer secret-key");
}

TEST_F(CorpusMeaning, passages_are_embedded_once) {
  ASSERT_TRUE(search("cost of a bicycle"));
  EXPECT_EQ(texts_asked(), 4U) << "three passages and the question";
  ASSERT_TRUE(search("rain in the north"));
  EXPECT_EQ(texts_asked(), 5U);
}

TEST_F(CorpusMeaning, the_next_process_has_them_from_the_folder_and_a_damaged_file_counts_as_absent) {
  const TemporaryFolder folder;
  const std::string place = (folder.path() / "vectors").string();
  ASSERT_TRUE(search("cost of a bicycle", {}, place));
  search_ = nullptr;
  EXPECT_EQ((*search("cost of a bicycle", {}, place))["hits"][0]["source"], "d/a.md");
  EXPECT_EQ(texts_asked(), 5U);
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\x7f');
  }
  search_ = nullptr;
  EXPECT_EQ((*search("cost of a bicycle", {}, place))["hits"][0]["source"], "d/a.md");
  EXPECT_EQ(texts_asked(), 9U);
}

TEST_F(CorpusMeaning, faults_leave_the_words_and_say_so) {
  const std::vector<std::pair<std::string, LoopbackServer::Answers>> faults = {
      {"status 500", [](const auto&) { return Served{.status = 500, .body = "secret-key is wrong"}; }},
      {"status 401", [](const auto&) { return Served{.status = 401, .body = "no"}; }},
      {"status 429", [](const auto&) { return Served{.status = 429, .body = "slow down", .retry_after = "600"}; }},
      {"the answer has no", [](const auto&) { return Served{.body = "{}"}; }},
      {"JSON", [](const auto&) { return Served{.body = R"({"data": [{"embedding": [NaN]}]})"}; }},
      {"0 for 1", [](const auto&) { return Served{.body = R"({"data": []})"}; }},
      {"no direction", [](const auto&) { return Served{.body = R"({"data": [{"embedding": [0, 0.0]}]})"}; }},
      {"\"x\"", [](const auto&) { return Served{.body = R"({"data": [{"embedding": [1, "x"]}]})"}; }},
      {"for no text", [](const auto&) { return Served{.body = R"({"data": [{"index": 7, "embedding": [1]}]})"}; }},
      {"one is null", [](const auto&) { return Served{.body = R"({"data": [{"index": 0}]})"}; }},
      {"",
       [](const auto& request) {
         Served served = vectors_for(request);
         served.cut = true;
         return served;
       }},
      {"", [](const auto&) { return Served{.body = "", .gone = true}; }}};
  for (const auto& [says, answers] : faults) {
    answers_ = answers;
    search_ = nullptr;
    const ToolAnswer answer = search("bike lanes");
    ASSERT_TRUE(answer) << says;
    ASSERT_EQ((*answer)["hits"].size(), 1U) << says;
    EXPECT_EQ((*answer)["hits"][0]["found_by"], Json({"words"}));
    const std::string fault = (*answer)["meaning"]["fault"];
    EXPECT_NE(fault.find(says), std::string::npos) << fault;
    EXPECT_EQ(fault.find("secret-key"), std::string::npos) << fault;
  }
}

TEST_F(CorpusMeaning, vectors_of_different_lengths_are_refused) {
  answers_ = [](const auto& request) {
    Json asked = Json::parse(request.body());
    Json rows = Json::array();
    for (std::size_t i = 0; i < asked["input"].size(); ++i)
      rows.push_back({{"index", i}, {"embedding", std::vector<double>(1 + i, 1.0)}});
    return Served{.body = Json{{"data", rows}}.dump()};
  };
  EXPECT_NE((*search("bike lanes"))["meaning"]["fault"].get<std::string>().find("differ in length"), std::string::npos);
}

TEST_F(CorpusMeaning, a_rate_limit_that_says_when_is_waited_for) {
  std::atomic<int> asked = 0;
  answers_ = [&asked](const auto& request) {
    return ++asked == 1 ? Served{.status = 429, .body = "slow down", .retry_after = "1"} : vectors_for(request);
  };
  const Json outputs = *search("cost of a bicycle");
  EXPECT_EQ(outputs["hits"][0]["source"], "d/a.md") << outputs;
  EXPECT_EQ(asked, 3);
}

TEST_F(CorpusMeaning, a_rate_limit_that_does_not_say_when_is_waited_for_too) {
  std::atomic<int> asked = 0;
  answers_ = [&asked](const auto& request) {
    return ++asked == 1 ? Served{.status = 503, .body = "busy"} : vectors_for(request);
  };
  EXPECT_FALSE((*search("cost of a bicycle"))["meaning"].contains("fault"));
  EXPECT_EQ(asked, 3);
}

TEST_F(CorpusMeaning, an_endpoint_that_takes_fewer_texts_at_once_is_given_fewer) {
  std::vector<Document> many = documents();
  Document rest{"d/rest.md", "Rest", {}};
  for (int n = 0; n < 60; ++n) rest.passages.push_back("Nothing number " + std::to_string(n));
  many.push_back(rest);
  for (const unsigned status : {400U, 413U, 422U}) {
    answers_ = [status](const auto& request) {
      const std::size_t texts = Json::parse(request.body())["input"].size();
      return texts > 10 ? Served{.status = status, .body = "at most 10 texts"} : vectors_for(request);
    };
    search_ = with_meaning(corpora_in_memory({{"town", many}}), passages_in_memory({{"town", many}}),
                           {server_.url("/v1"), "e", ""}, "");
    const Json outputs = *search("cost of a bicycle");
    EXPECT_EQ(outputs["meaning"], Json({{"model", "e"}, {"passages", 63}, {"known", 63}})) << status;
    EXPECT_EQ(outputs["hits"][0]["source"], "d/a.md");
  }
}

// Vectors from before the fault count, and the next search asks for the rest alone.
TEST_F(CorpusMeaning, vectors_that_have_come_stay_when_later_ones_fail) {
  std::vector<Document> many = documents();
  Document rest{"d/rest.md", "Rest", {}};
  for (int n = 0; n < 150; ++n) rest.passages.push_back("Nothing number " + std::to_string(n));
  many.push_back(rest);
  std::atomic<int> calls = 0;
  answers_ = [&calls](const auto& request) {
    return ++calls == 3 ? Served{.status = 500, .body = "down"} : vectors_for(request);
  };
  search_ = with_meaning(corpora_in_memory({{"town", many}}), passages_in_memory({{"town", many}}),
                         {server_.url("/v1"), "e", ""}, "");
  const Json first = *search("cost of a bicycle");
  EXPECT_EQ(first["meaning"]["passages"], 153);
  EXPECT_EQ(first["meaning"]["known"], embedded_texts_max);
  EXPECT_NE(first["meaning"]["fault"].get<std::string>().find("500"), std::string::npos);
  const std::size_t before = texts_asked();
  const Json second = *search("cost of a bicycle");
  EXPECT_EQ(second["meaning"], Json({{"model", "e"}, {"passages", 153}, {"known", 153}}));
  EXPECT_EQ(texts_asked() - before, 1 + 153 - embedded_texts_max);
  EXPECT_EQ(second["hits"][0]["source"], "d/a.md");
}

TEST_F(CorpusMeaning, a_corpus_that_is_too_large_is_searched_by_its_words) {
  MeaningLimits limits;
  limits.passages_max = 2;
  const Json outputs = *search("bike lanes", limits);
  EXPECT_EQ(outputs["hits"].size(), 1U);
  EXPECT_NE(outputs["meaning"]["fault"].get<std::string>().find("at most 2 passages"), std::string::npos);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(CorpusMeaning, a_model_whose_vectors_have_another_size_begins_again) {
  ASSERT_TRUE(search("cost of a bicycle"));
  answers_ = [](const auto& request) {
    Json answer = Json::parse(vectors_for(request).body);
    for (Json& row : answer["data"]) row["embedding"].push_back(0.001);
    return Served{.body = answer.dump()};
  };
  const Json outputs = *search("cost of a bicycle");
  EXPECT_EQ(outputs["meaning"]["known"], 3);
  EXPECT_EQ(outputs["hits"][0]["found_by"], Json({"meaning"}));
  EXPECT_EQ(texts_asked(), 8U) << "twice three passages and the question";
}

TEST_F(CorpusMeaning, equal_passages_of_a_document_count_once) {
  const std::string often = "Bicycle cost.";
  const std::vector<Document> town = {{"d/a.md", "A", {often, often, often, often}},
                                      {"d/b.md", "B", {"Bicycle cost and fee."}}};
  search_ = with_meaning(corpora_in_memory({{"town", town}}), passages_in_memory({{"town", town}}),
                         {server_.url("/v1"), "e", ""}, "");
  const Json outputs = *search("bicycle cost fee");
  ASSERT_EQ(outputs["hits"].size(), 2U) << outputs;
  EXPECT_EQ(outputs["hits"][0]["source"], "d/b.md") << "it is first in the ranking by words and has all of them";
}

TEST_F(CorpusMeaning, vectors_from_the_folder_count_for_the_bound_of_memory) {
  const TemporaryFolder folder;
  const std::string place = (folder.path() / "vectors").string();
  const auto ask = [this](const std::string& corpus) {
    ToolCall call;
    call.inputs = {{"corpus", corpus}, {"query", "cost of a bicycle"}, {"limit", 2}};
    EXPECT_TRUE(std::get<NativeTool>(corpus_tool(search_).does)(call)) << corpus;
  };
  const auto begin = [&](std::size_t memory_bytes_max) {
    MeaningLimits limits;
    limits.memory_bytes_max = memory_bytes_max;
    search_ = with_meaning(corpora_in_memory({{"town", documents()}, {"city", documents()}}),
                           passages_in_memory({{"town", documents()}, {"city", documents()}}),
                           {server_.url("/v1"), "e", ""}, place, limits);
  };
  begin(std::size_t{1} << 20);
  ask("town");
  ask("city");
  EXPECT_EQ(texts_asked(), 8U);
  begin(1000);  // for one of them
  ask("town");
  ask("city");
  EXPECT_EQ(texts_asked(), 10U);
  std::filesystem::remove_all(place);
  ask("city");
  EXPECT_EQ(texts_asked(), 11U) << "the last one is in memory";
  ask("town");
  EXPECT_EQ(texts_asked(), 15U) << "the first one is not any more";
}

TEST_F(CorpusMeaning, one_corpus_beyond_the_bound_of_memory_stays_while_it_is_searched) {
  MeaningLimits limits;
  limits.memory_bytes_max = 1;
  ASSERT_TRUE(search("cost of a bicycle", limits));
  ASSERT_TRUE(search("rain in the north", limits));
  EXPECT_EQ(texts_asked(), 5U);
}

TEST(CorpusMeaningInDatabase, passages_come_from_the_database) {
  const std::string dsn = test::new_database(1);
  const auto place = [dsn]() -> Result<std::string> { return dsn; };
  ASSERT_TRUE(Corpora(place).load("town", "d", documents(), {{"d/x.pdf", "Expected a bicycle, but it is locked."}}));
  LoopbackServer server(vectors_for);
  const ToolSpec tool = corpus_tool(
      with_meaning(corpora_in_database(place), passages_in_database(place), {server.url("/v1"), "e", ""}, ""));
  ToolCall call;
  call.inputs = {{"corpus", "town"}, {"query", "cost of a bicycle"}};
  const ToolAnswer answer = std::get<NativeTool>(tool.does)(call);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["hits"][0]["source"], "d/a.md");
  EXPECT_EQ((*answer)["meaning"]["passages"], 3) << "an unread file is no passage";
  call.inputs["corpus"] = "nowhere";
  EXPECT_EQ(std::get<NativeTool>(tool.does)(call).error().error, "not_found");
}

// --- parts
// ------------------------------------------------------------------------------------------------------------

TEST(Fusion, what_both_rankings_have_comes_first_and_equals_keep_the_order_of_the_first) {
  EXPECT_EQ(fused({{1, 2, 3}, {3, 4}}), (std::vector<std::size_t>{3, 1, 2, 4}));
  EXPECT_EQ(fused({{1}, {2}}), (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(fused({{}, {}}).empty());
}

TEST(VectorsFile, is_read_as_it_was_written_and_no_other_way) {
  const Vectors vectors = {{sha256("a"), {1, -0.5F, 0}}, {sha256("b"), {0, 0.25F, 3e-9F}}};
  const std::string bytes = encode_vectors("source", vectors);
  EXPECT_EQ(decode_vectors("source", bytes), vectors);
  EXPECT_FALSE(decode_vectors("another", bytes));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(decode_vectors("source", damaged)) << at;
    EXPECT_FALSE(decode_vectors("source", bytes.substr(0, at))) << at;
  }
}

TEST(Embeddings, no_piece_of_the_key_reaches_a_refusal) {
  const std::string key = "sk-Jq7vR2mXw9Tb4LcZ8nYd5GfHs3KpQa6UeWt1BrVxNo0iMlPjDuCkEyAzS";
  const LoopbackServer server([&](const auto&) { return Served{.status = 401, .body = std::string(280, 'x') + key}; });
  const std::vector<std::string> texts = {"a"};
  const auto refused = embed({server.url("/v1"), "e", key}, texts, 10'000);
  ASSERT_FALSE(refused);
  for (std::size_t at = 0; at + 8 <= key.size(); ++at)
    EXPECT_EQ(refused.error().message.find(key.substr(at, 8)), std::string::npos) << refused.error().message;
}

TEST(EmbeddingSettings, name_an_endpoint_or_refuse) {
  ModelSettings models;
  EXPECT_FALSE(embedding_endpoint({}, models)->has_value());
  EXPECT_EQ(embedding_endpoint({"https://e/v1", "", ""}, models).error().code, Code::invalid);
  EXPECT_EQ(embedding_endpoint({"", "e", ""}, models).error().code, Code::invalid);
  EXPECT_EQ(embedding_endpoint({"ftp://e", "e", ""}, models).error().code, Code::invalid);
  models.url = "https://m/v1";
  models.key = "k";
  const auto shared = *embedding_endpoint({"", "e", ""}, models);
  EXPECT_EQ(shared->url, "https://m/v1");
  EXPECT_EQ(shared->api_key, "k");
  EXPECT_EQ((*embedding_endpoint({"https://e/v1", "e", ""}, models))->api_key, "")
      << "a key goes to its endpoint alone";
}

}  // namespace
}  // namespace cairn
