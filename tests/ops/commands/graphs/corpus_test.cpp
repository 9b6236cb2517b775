// Corpora as a person has them: loaded, listed, searched and dropped; and the planner that searches them, offline.
#include <fstream>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

class CorpusCommands : public ::testing::Test {
 protected:
  CorpusCommands() {
    fs::create_directories(folder);
    write("bikes.md", "# Bicycles in Westland\n\nThe average price of e-bikes in Westland was EUR 3,000.\n");
    write("people.txt", "Westland has 1.5 million inhabitants.\n");
  }
  ~CorpusCommands() override {
    cairn({"corpus", "drop", "trips"});
    fs::remove_all(folder);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; }
  Ran load() { return cairn({"corpus", "load", "trips", folder.string(), "--json"}); }

  fs::path folder = directory() / "westland";
};

TEST_F(CorpusCommands, the_same_folder_again_adds_nothing) {
  const Json first = load().json();
  EXPECT_EQ(first["added"], 2);
  EXPECT_EQ(first["folder"], "westland");
  const Json again = load().json();
  EXPECT_EQ(again["unchanged"], 2);
  EXPECT_EQ(again["added"], 0);
  write("bikes.md", "# Bicycles in Westland\n\nThey are dear.\n");
  EXPECT_EQ(load().json()["changed"], 1);
  const std::vector<Json> listed = cairn_ok({"corpus", "list", "--json"}).lines();
  const auto row =
      std::find_if(listed.begin(), listed.end(), [](const Json& each) { return each["corpus"] == "trips"; });
  ASSERT_NE(row, listed.end());
  EXPECT_EQ((*row)["documents"], 2);
}

TEST_F(CorpusCommands, F3_the_list_says_how_many_there_are_and_goes_on_where_it_ended) {
  const std::string dsn = new_database();
  for (const char* name : {"walks", "rides"}) cairn_ok({"corpus", "load", name, folder.string(), "--dsn", dsn});
  const std::string first = cairn_ok({"corpus", "list", "--limit", "1", "--dsn", dsn}).out;
  EXPECT_NE(first.find("\nrides "), std::string::npos) << first;
  EXPECT_TRUE(first.ends_with("1 of 2. The next ones: --after rides\n")) << first;
  const Arguments next = {"corpus", "list", "--limit", "1", "--after", "rides", "--json", "--dsn", dsn};
  const Ran rest = cairn_ok(next);
  EXPECT_EQ(rest.json()["corpus"], "walks");
  EXPECT_EQ(rest.err, "") << "there are no more";
}

TEST_F(CorpusCommands, a_search_shows_what_a_planner_would_find) {
  load();
  const std::vector<Json> found = cairn_ok({"corpus", "search", "trips", "prices of an e-bike", "--json"}).lines();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["source"], "westland/bikes.md");
  EXPECT_NE(cairn_ok({"corpus", "search", "trips", "inhabitants"}).out.find("1.5 million"), std::string::npos);
  EXPECT_NE(cairn_ok({"corpus", "search", "trips", "submarine"}).out.find("None."), std::string::npos);
}

TEST_F(CorpusCommands, bad_input_is_refused_and_nothing_is_loaded) {
  expect_refused(cairn({"corpus", "load", "trips", (folder / "none").string()}), 3, "Expected a folder at");
  expect_refused(cairn({"corpus", "load", "Bad Name", folder.string()}), 4, "Expected a corpus's name");
  expect_refused(cairn({"corpus", "search", "nowhere", "x"}), 3, "Expected a corpus named nowhere");
  expect_refused(cairn({"corpus", "drop", "nowhere"}), 3, "Expected a corpus named nowhere");
  EXPECT_EQ(cairn({"corpus", "load", "trips"}).exit, 2);
  EXPECT_EQ(cairn({"corpus"}).exit, 2);
  fs::remove_all(folder);
  fs::create_directories(folder);
  write("broken.md", "\xff\xfe");
  expect_refused(cairn({"corpus", "load", "trips", folder.string()}), 4, "Expected UTF-8 text");
  expect_refused(cairn({"corpus", "search", "trips", "inhabitants"}), 3, "Expected a corpus named trips");
  expect_refused(cairn({"corpus", "list", "--dsn", "host=/nowhere dbname=x"}), 5, "Expected");
}

TEST_F(CorpusCommands, U1_a_file_that_cannot_be_read_is_named_when_it_is_loaded_and_in_the_answer) {
  write("broken.md", "\xff\xfe");
  EXPECT_EQ(load().json()["unread"][0]["source"], "westland/broken.md");
  EXPECT_NE(cairn_ok({"corpus", "load", "trips", folder.string()}).out.find("Not read: westland/broken.md"),
            std::string::npos);
  const Json field = {
      {"type", "money"}, {"sources", {"search"}}, {"query", "price of e-bikes"}, {"find", {{"about", {"price"}}}}};
  const Json input = {{"question", "What do e-bikes cost?"},
                      {"region", "Westland"},
                      {"currency", "EUR"},
                      {"corpus", "trips"},
                      {"profile", {{"fields", {{"price", field}}}}}};
  const Json ended = cairn_ok({"start", "venture_scope", "--input", input.dump(), "--wait", "--json"}).json();
  EXPECT_EQ(ended["output"]["fields"]["price"]["value"], 3000);
  EXPECT_EQ(ended["output"]["unreadable"][0]["source"], "westland/broken.md");
  EXPECT_NE(ended["output"]["answer"].get<std::string>().find("Not read: westland/broken.md"), std::string::npos);
}

TEST_F(CorpusCommands, a_dropped_corpus_is_gone) {
  load();
  cairn_ok({"corpus", "drop", "trips"});
  EXPECT_EQ(cairn({"corpus", "search", "trips", "x"}).exit, 3);
}

Json start(const Json& input) {
  return cairn_ok({"start", "venture_scope", "--input", input.dump(), "--wait", "--json"}).json();
}

TEST(VentureScopeProgram, one_command_answers_a_market_question_offline) {
  const Json ended = start({{"question", "How large is the market for e-bikes in Norland?"},
                            {"region", "Norland"},
                            {"currency", "EUR"},
                            {"fields", {{"core.product", "e-bikes"}}}});
  EXPECT_EQ(ended["status"], "done");
  EXPECT_EQ(ended["reason"], "calculated");
  EXPECT_NEAR(ended["output"]["result"].get<double>(), 276093750, 1);
  EXPECT_EQ(ended["output"]["fields"]["product.price"]["evidence"]["source"], "example/bicycles.md");
  const std::string plan = cairn_ok({"plan", ended["run"]}).out;
  EXPECT_NE(plan.find("population.total  succeeded"), std::string::npos) << plan;
}

TEST(VentureScopeProgram, what_no_document_says_is_asked_and_the_answer_goes_in) {
  const Json waits = start({{"question", "How large is the market for heat pumps in Norland?"},
                            {"region", "Norland"},
                            {"currency", "EUR"},
                            {"fields", {{"core.product", "heat pumps"}}}});
  EXPECT_EQ(waits["status"], "waiting");
  ASSERT_EQ(waits["questions"].size(), 1U);
  const std::string run = waits["run"];
  EXPECT_EQ(waits["questions"][0]["prompt"]["field"], "product.price");
  expect_refused(cairn({"answer", run, "--value", "[1]"}), 4, "Expected an answer that fits");
  cairn_ok({"answer", run, "--value", "\"12 thousand EUR\""});
  Beside worker({"work"});
  ASSERT_TRUE(wait_until([&] { return cairn_ok({"show", run, "--json"}).json()["status"] == "done"; }));
  const Json shown = cairn_ok({"show", run, "--json"}).json();
  EXPECT_EQ(shown["channels"]["fields"]["product.price"]["value"], 12000);
  EXPECT_EQ(shown["channels"]["fields"]["product.price"]["source"], "user");
}

TEST_F(CorpusCommands, a_planner_searches_the_corpus_it_is_told) {
  load();
  const Json ended = start({{"question", "What do e-bikes cost?"},
                            {"region", "Westland"},
                            {"currency", "EUR"},
                            {"corpus", "trips"},
                            {"fields", {{"core.product", "e-bikes"}}},
                            {"profile",
                             {{"fields",
                               {{"core.product", {{"type", "text"}}},
                                {"price",
                                 {{"type", "money"},
                                  {"sources", {"search"}},
                                  {"query", "price of {core.product} in {region}"},
                                  {"find", {{"about", {"price"}}, {"context", {"{region}"}}}}}}}}}}});
  EXPECT_EQ(ended["status"], "done");
  EXPECT_EQ(ended["output"]["fields"]["price"]["value"], 3000);
  EXPECT_EQ(ended["output"]["fields"]["price"]["evidence"]["source"], "westland/bikes.md");
}

}  // namespace
}  // namespace cairn::program
