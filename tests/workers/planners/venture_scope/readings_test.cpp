// Readings: which count, what each weighs, which is chosen; the question as it is read; parts as they are proposed.
#include "workers/planners/venture_scope/readings.hpp"

#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/planners/venture_desk.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/venture_scope/parts.hpp"
#include "workers/planners/venture_scope/prompts.hpp"
#include "workers/planners/venture_scope/question.hpp"
#include "workers/rule_book.hpp"
#include "workers/tools/corpus/corpus_tool.hpp"
#include "workers/tools/corpus/documents.hpp"

namespace cairn {
namespace {

using test::PlannerRun;
using test::VentureDesk;

// A market profile with one price and one share.
Json price_profile() {
  return Json::parse(R"({"name":"prices","calculator":{"target":"total"},"fields":{
    "price":{"type":"money","sources":["search","user"],"query":"price","find":{"about":["price"],
      "context":["{region}"]}},
    "share":{"type":"share","sources":["search"],"query":"share","find":{"about":["share"]}},
    "sold":{"type":"number","unit":"pieces a year","sources":["search","user"],"query":"sold",
      "find":{"about":["sold"]}},
    "total":{"formula":"price * sold"}}})");
}

Json hit(const std::string& source, const std::string& text) {
  return {{"title", "A title"}, {"source", source}, {"excerpt", text}};
}

Json reading(const std::string& field, double value, double scale, const std::string& quote) {
  return {{"field", field}, {"passage", 0},   {"value", value}, {"scale", scale},
          {"unit", ""},     {"currency", ""}, {"period", ""},   {"quote", quote}};
}

class Readings : public ::testing::Test {
 protected:
  Readings() {
    desk.data["profile"] = price_profile();
    desk.outcome("prepare");
  }
  Venture venture() {
    StepInput input;
    input.data = desk.data;
    return venture_of(input);
  }
  // The admitted value; the refusal's sentence.
  Json admitted(const Json& one, const std::string& passage) {
    const Result<Json> kept = admit_reading(venture(), one, Json::array({hit("a.md", passage)}), "m");
    return kept ? (*kept)["value"] : Json(kept.error().message);
  }
  // Observes with readings of a model.
  Outcome observe(const std::string& path, const Json& hits, const Json& readings_or_one) {
    // Compilers differ on a list of one in braces.
    const Json readings = readings_or_one.is_array() ? readings_or_one : Json::array({readings_or_one});
    desk.data["observation"] = {{"path", path}, {"query", "q"}, {"hits", hits.is_array() ? hits : Json::array({hits})}};
    desk.data["extraction"] = {{"by", "m"}, {"readings", readings}};
    return desk.outcome("observe");
  }

  VentureDesk desk;
};

TEST_F(Readings, U1_a_reading_counts_if_its_quote_is_in_the_passage_and_its_number_in_the_quote) {
  const std::string passage = "In Norland the price rose.\nIt was EUR 2.4 thousand in 2024; sales were 1,200 a month.";
  EXPECT_EQ(admitted(reading("price", 2.4, 1000, "It was EUR 2.4 thousand in 2024"), passage), 2400);
  EXPECT_EQ(admitted(reading("price", 2400, 1, "rose. It was EUR 2.4 thousand"), passage), 2400) << "or multiplied";
  EXPECT_EQ(admitted(reading("sold", 1200, 1, "sales were 1,200 a month"), passage), 14400) << "a yearly field";
  for (const Json& bad :
       {reading("price", 2.4, 1000, "The price was EUR 2.4 thousand"),
        reading("price", 2.5, 1000, "It was EUR 2.4 thousand"), reading("price", 2.4, 1e6, "It was EUR 2.4 thousand"),
        reading("price", 1200, 1, "sales were 1,200 a month"), reading("price", 2024, 1, "in 2024"),
        reading("share", 2.4, 1000, "It was EUR 2.4 thousand"), reading("total", 1, 1, ""),
        reading("nothing", 2.4, 1000, "It was EUR 2.4 thousand")})
    EXPECT_TRUE(admitted(bad, passage).is_string()) << bad;
  Json elsewhere = reading("price", 2.4, 1000, "It was EUR 2.4 thousand");
  elsewhere["passage"] = 3;
  EXPECT_TRUE(admitted(elsewhere, passage).is_string());
}

TEST_F(Readings, U1_a_table_gives_scale_and_currency_in_its_heading) {
  Json one = reading("price", 4.2, 1e6, "2024 | 4.2");
  one["currency"] = "EUR";
  EXPECT_EQ(admitted(one, "Price in EUR million\n2023 | 3.9\n2024 | 4.2"), 4.2e6);
  EXPECT_TRUE(admitted(one, "Price\n2023 | 3.9\n2024 | 4.2").is_string());
}

// The first was admitted as 850,000,000 shops: "million" stood somewhere in the passage.
TEST_F(Readings, U1_a_scale_stands_beside_its_number_and_is_no_other_numbers) {
  const auto shops = [](const char* quote) { return reading("sold", 850, 1e6, quote); };
  const char* quote = "850 shops sell e-bikes";
  for (const char* passage :
       {"The city has 1.2 million people. 850 shops sell e-bikes.",
        "The city has 1.2 million people.\n850 shops sell e-bikes.", "In a city of 1.2 million 850 shops sell e-bikes",
        "Of half a million people\n850 shops sell e-bikes", "Millions live here. So 850 shops sell e-bikes."})
    EXPECT_TRUE(admitted(shops(quote), passage).is_string()) << passage;
  EXPECT_TRUE(admitted(shops("1.2 million people. 850 shops"), "Here are 1.2 million people. 850 shops.").is_string());
  EXPECT_EQ(admitted(reading("sold", 850, 1, quote), "The city has 1.2 million people. 850 shops sell e-bikes."), 850);
  EXPECT_EQ(admitted(shops("(in millions) 850"), "Bikes sold (in millions) 850"), 850e6);
  EXPECT_EQ(admitted(shops("2024 | 850"), "- Year | Bikes, in Mio.\n- 2023 | 7\n- 2024 | 850"), 850e6);
  Json titled = hit("a.md", "2024 | 850");
  titled["title"] = "Bikes sold, in millions";
  EXPECT_EQ((*admit_reading(venture(), shops("2024 | 850"), Json::array({titled}), "m"))["value"], 850e6);
  titled["title"] = "A city of 1.2 million";
  EXPECT_FALSE(admit_reading(venture(), shops("2024 | 850"), Json::array({titled}), "m"));
}

TEST_F(Readings, U1_a_doubtful_number_counts_where_the_model_says_how_it_is_meant) {
  EXPECT_EQ(admitted(reading("price", 2850, 1, "kostet EUR 2.850"), "Das Rad kostet EUR 2.850 im Jahr 2024."), 2850);
  EXPECT_TRUE(admitted(reading("price", 28.5, 1, "kostet EUR 2.850"), "Das Rad kostet EUR 2.850.").is_string());
}

TEST_F(Readings, U1_a_comma_before_a_word_of_another_language_is_settled_by_the_model_too) {
  EXPECT_EQ(admitted(reading("sold", 2.85, 1e6, "2,850 Mio. bikes"), "They sold 2,850 Mio. bikes."), 2.85e6);
  EXPECT_EQ(admitted(reading("sold", 2850, 1e6, "2,850 Mio. bikes"), "They sold 2,850 Mio. bikes."), 2850e6);
}

TEST_F(Readings, U1_a_limit_is_no_value_however_its_number_is_written) {
  for (const char* quote : {"less than EUR 2.850", "up to EUR 2.850", "less than EUR 2,850"})
    EXPECT_TRUE(admitted(reading("price", 2850, 1, quote), std::string("It costs ") + quote + ".").is_string())
        << quote;
}

TEST_F(Readings, U1_a_quote_that_cuts_a_number_or_its_limit_off_makes_no_reading_of_it) {
  EXPECT_TRUE(admitted(reading("price", 4.2, 1, "worth EUR 4.2"), "It is worth EUR 4.2 billion.").is_string());
  EXPECT_EQ(admitted(reading("price", 4.2, 1e9, "worth EUR 4.2"), "It is worth EUR 4.2 billion."), 4.2e9);
  EXPECT_TRUE(admitted(reading("price", 850, 1, "850 EUR"), "It costs 12,850 EUR.").is_string());
  EXPECT_TRUE(admitted(reading("price", 2850, 1, "EUR 2,850"), "It costs less than EUR 2,850.").is_string());
  EXPECT_EQ(admitted(reading("price", 2850, 1, "costs 2,850"), "It\n costs  2,850\nEUR."), 2850);
  EXPECT_TRUE(admitted(reading("price", 4.2, 1, "worth EUR 4.2"), "It is worth EUR 4.2\nbillion.").is_string());
  EXPECT_EQ(admitted(reading("price", 12, 1, "EUR 12"), "It costs EUR 12\n500 were sold."), 12) << "of two lines";
  EXPECT_EQ(admitted(reading("price", 9, 1, "EUR 9"), "Up to EUR 9 then; it costs EUR 9 now."), 9) << "the second one";
}

TEST_F(Readings, U1_a_year_before_a_number_and_a_list_over_lines_are_no_ranges) {
  const std::string grew = "It grew from EUR 2.1 billion in 2023 to EUR 2.4 billion in 2024.";
  EXPECT_EQ(admitted(reading("price", 2.4, 1e9, "EUR 2.4 billion in 2024"), grew), 2.4e9);
  EXPECT_EQ(admitted(reading("price", 12, 1, "EUR 12"), "It costs\n- EUR 12\n- 15 more for two"), 12);
}

TEST_F(Readings, U1_a_share_is_a_share_however_the_model_writes_it) {
  EXPECT_EQ(admitted(reading("share", 12, 1, "a share of 12 %"), "It is a share of 12 % now."), 0.12);
  EXPECT_EQ(admitted(reading("share", 0.12, 1, "a share of 12 %"), "It is a share of 12 % now."), 0.12);
}

TEST_F(Readings, U1_sources_are_kept_with_dates_and_weights_and_the_choice_is_a_decision) {
  const Json hits = {hit("old.md", "In Norland the price was EUR 100 in 2010."),
                     hit("new.md", "In Norland the price was EUR 200 in 2024."),
                     hit("also.md", "In Norland the price was EUR 201 in 2023.")};
  Json readings = {reading("price", 100, 1, "the price was EUR 100 in 2010"),
                   reading("price", 200, 1, "the price was EUR 200 in 2024"),
                   reading("price", 201, 1, "the price was EUR 201 in 2023")};
  for (int i = 0; i < 3; ++i) {
    readings[static_cast<std::size_t>(i)]["passage"] = i;
    readings[static_cast<std::size_t>(i)]["period"] =
        std::vector<std::string>{"2010", "2024", "2023"}[static_cast<std::size_t>(i)];
  }
  const Outcome outcome = observe("price", hits, readings);
  const Json field = desk.data["fields"]["price"];
  EXPECT_EQ(field["value"], 200) << "two sources agree, and this is the newer one";
  EXPECT_EQ(field["evidence"]["source"], "new.md");
  EXPECT_EQ(field["evidence"]["period"], "2024");
  EXPECT_EQ(field["is_disputed"], true);
  const Json kept = desk.data["findings"]["price"];
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[2]["source"], "old.md");
  EXPECT_LT(kept[2]["weight"], kept[0]["weight"]);
  const std::vector<Json> decisions = VentureDesk::records(outcome, RecordKind::decision_proposed);
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0]["action"], "take");
  EXPECT_EQ(decisions[0]["target"], "price");
  EXPECT_NE(decisions[0]["reason"].get<std::string>().find("others say 100 EUR (old.md"), std::string::npos);
}

// 4294969306 is 2010 and two to the power of 32.
TEST_F(Readings, a_period_too_large_for_a_year_is_none) {
  const Json hits = Json::array({hit("new.md", "In Norland the price was EUR 200 in 2024.")});
  Json one = reading("price", 200, 1, "the price was EUR 200 in 2024");
  one["period"] = "2024";
  std::vector<Json> weights;
  for (const char* period : {"", "4294969306", "99999999999999999999", "2010"}) {
    desk.data["period"] = period;
    observe("price", hits, Json::array({one}));
    weights.push_back(desk.data["findings"]["price"][0]["weight"]);
    desk.data["fields"].erase("price");
    desk.data["findings"] = Json::object();
  }
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
  EXPECT_LT(weights[3], weights[0]);
}

TEST_F(Readings, U1_the_year_that_is_asked_for_and_the_region_weigh) {
  desk.data["period"] = "2010";
  Json old_one = reading("price", 100, 1, "EUR 100 in 2010");
  Json new_one = reading("price", 200, 1, "EUR 200 in 2024");
  old_one.update({{"passage", 1}, {"period", "2010"}});
  new_one["period"] = "2024";
  observe("price", Json{hit("a", "In Norland EUR 200 in 2024."), hit("b", "In Norland EUR 100 in 2010.")},
          Json{new_one, old_one});
  EXPECT_EQ(desk.data["fields"]["price"]["value"], 100);
  desk.data["fields"].erase("price");
  desk.data["findings"] = Json::object();
  desk.data["period"] = "";
  new_one["period"] = old_one["period"] = "";
  observe("price", Json{hit("a", "In Sudland EUR 200 in 2024."), hit("b", "In Norland EUR 100 in 2010.")},
          Json{new_one, old_one});
  EXPECT_EQ(desk.data["fields"]["price"]["value"], 100) << "the other passage is of another region";
}

TEST_F(Readings, U1_one_source_that_repeats_itself_confirms_nothing) {
  const Json hits = {hit("b", "Norland: EUR 200 there"), hit("a", "Norland: EUR 100 first"),
                     hit("a", "Norland: EUR 100 again")};
  Json readings = {reading("price", 200, 1, "EUR 200 there"), reading("price", 100, 1, "EUR 100 first"),
                   reading("price", 100, 1, "EUR 100 again")};
  Json kept = Json::array();
  for (std::size_t i = 0; i < readings.size(); ++i) {
    readings[i]["passage"] = i;
    kept.push_back(*admit_reading(venture(), readings[i], hits, "m"));
  }
  EXPECT_EQ(choose_reading(venture(), "price", kept).chosen["source"], "b");
  kept[2]["source"] = "c";
  EXPECT_EQ(choose_reading(venture(), "price", kept).chosen["source"], "a") << "two sources against one";
}

TEST_F(Readings, U1_other_missing_fields_are_read_from_the_same_passages) {
  EXPECT_EQ(fields_to_read(venture(), "price"), (std::vector<std::string>{"price", "sold"}));
  observe("price", Json{hit("a.md", "In Norland 300 are sold a year, at a price of EUR 20.")},
          Json{reading("price", 20, 1, "a price of EUR 20"), reading("sold", 300, 1, "300 are sold a year")});
  EXPECT_EQ(desk.data["fields"]["sold"]["value"], 300);
  EXPECT_EQ(desk.data["fields"]["price"]["value"], 20);
}

TEST_F(Readings, U1_a_reading_that_does_not_count_is_noted_with_its_reason) {
  observe("price", Json{hit("a.md", "Nothing in Norland.")}, Json{reading("price", 20, 1, "the price is EUR 20")});
  EXPECT_FALSE(desk.data["fields"].contains("price"));
  const Json row = desk.data["observations"].back();
  EXPECT_EQ(row["taken"], nullptr);
  EXPECT_NE(row["refused"][0].get<std::string>().find("these words are not in it"), std::string::npos);
}

TEST_F(Readings, S0_26_decide_sees_what_was_found_and_what_was_refused) {
  observe("price", Json{hit("a.md", "In Norland the price was EUR 20 in 2024.")},
          Json{reading("price", 20, 1, "the price was EUR 20 in 2024"), reading("price", 7, 1, "not there")});
  StepInput input;
  input.data = desk.data;
  const Json data = Json::parse(planner_prompt(venture(), input).back()["content"].get<std::string>());
  EXPECT_EQ(data["found"]["price"][0]["value"], 20);
  EXPECT_EQ(data["found"]["price"][0]["quote"], "the price was EUR 20 in 2024");
  EXPECT_EQ(data["searches"][0]["sources"], Json{"a.md"});
  EXPECT_EQ(data["searches"][0]["refused"].size(), 1U);
}

TEST_F(Readings, the_rules_read_the_first_field_of_the_same_data) {
  const Json data =
      extraction_data(venture(), {"price", "sold"},
                      Json::array({hit("a.md", "In Norland the price was $4.2B in 2023. A price was EUR 5 to 7.")}));
  const Json readings = extract_by_rules(data)["readings"];
  ASSERT_EQ(readings.size(), 1U) << "the other is in another currency";
  EXPECT_EQ(readings[0]["value"], 6);
  EXPECT_EQ(readings[0]["period"], "2023") << "the only year near";
  EXPECT_EQ(readings[0]["quote"], "A price was EUR 5 to 7.");
}

// --- the question ----------------------------------------------------------------------------------------------------
TEST(Question, U2_the_rules_read_region_currency_product_and_period) {
  struct Asked {
    const char* question;
    const char* region;
    const char* currency;
    const char* product;
    const char* period;
  };
  for (const Asked& a : std::vector<Asked>{
           {"How large is the market for e-bikes in Norland?", "Norland", "", "e-bikes", ""},
           {"How large is the market for heat pumps in the United Kingdom in 2025, in GBP?", "United Kingdom", "GBP",
            "heat pumps", "2025"},
           {"What is the size of the smart watch market in Germany (in €)?", "Germany", "EUR", "smart watch", ""},
           {"How many electric cars are sold in Trinidad and Tobago each year?", "Trinidad and Tobago", "",
            "electric cars", ""},
           {"Market for coffee machines across South Korea, USD", "South Korea", "USD", "coffee machines", ""},
           {"How large is the market?", "", "", "", ""},
           {"How much?", "", "", "", ""},
           {"", "", "", "", ""}}) {
    const Json read = read_question_by_rules(a.question);
    EXPECT_EQ(read["region"], a.region) << a.question;
    EXPECT_EQ(read["currency"], a.currency) << a.question;
    EXPECT_EQ(read["product"], a.product) << a.question;
    EXPECT_EQ(read["period"], a.period) << a.question;
  }
}

TEST(Question, U2_what_does_not_stand_in_the_question_is_not_read) {
  const std::string question = "How large is the market for e-bikes in Norland in 2025?";
  EXPECT_EQ(admitted_question(question,
                              {{"region", "Norland"}, {"currency", "EUR"}, {"product", "e-bike"}, {"period", "2025"}}),
            (Json{{"region", "Norland"}, {"product", "e-bike"}, {"period", "2025"}}));
  EXPECT_EQ(admitted_question(question,
                              {{"region", "Sudland"}, {"currency", "XYZ"}, {"product", "cars"}, {"period", "2024"}}),
            Json::object());
  EXPECT_EQ(admitted_question(question, Json::array()), Json::object());
}

std::unique_ptr<Model> by_rules() { return make_rule_model(rule_book_name, answer_by_rules); }

TEST(Question, U2_a_question_alone_is_enough_where_it_names_everything) {
  PlannerRun planner(by_rules());
  const RunId run =
      planner.run("venture_scope", {{"question", "How large is the market for e-bikes in Norland in 2024, in EUR?"}});
  EXPECT_EQ(planner.state(run).status, RunStatus::done) << planner.state(run).reason;
  EXPECT_NEAR(planner.output(run)["result"].get<double>(), 276093750, 1);
  EXPECT_EQ(planner.output(run)["period"], "2024");
  EXPECT_EQ(planner.output(run)["fields"]["core.product"]["value"], "e-bikes");
  EXPECT_EQ(planner.output(run)["fields"]["core.product"]["source"], "question");
  const std::vector<std::string> path = planner.path(run);
  EXPECT_EQ(path[1], "read_question");
  EXPECT_EQ(std::count(path.begin(), path.end(), "read_question"), 1) << "once in a run";
}

TEST(Question, U2_what_was_given_is_never_overridden_by_the_question) {
  PlannerRun planner(by_rules());
  const Json input = {{"question", "How large is the market for e-bikes in Norland, in USD?"},
                      {"region", "Sudland"},
                      {"currency", "EUR"}};
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.channel(run, "region"), "Sudland");
  EXPECT_EQ(planner.channel(run, "currency"), "EUR");
  EXPECT_EQ(planner.channel(run, "fields")["core.product"]["value"], "e-bikes") << "which was not given";
}

TEST(Question, U2_a_model_that_fails_leaves_the_question_to_the_rules) {
  PlannerRun planner(make_scripted_model({{"replies", Json::array()}}));
  const RunId run = planner.run("venture_scope", {{"question", "How large is the market for e-bikes in Norland?"}});
  EXPECT_EQ(planner.channel(run, "region"), "Norland");
  EXPECT_EQ(planner.state(run).questions.size(), 1U) << "the currency is asked for";
}

// --- parts -----------------------------------------------------------------------------------------------------------
Json part(const std::string& path) {
  return {{"path", path},     {"title", path}, {"type", "number"},
          {"unit", ""},       {"query", path}, {"question", "Which " + path + "?"},
          {"about", {"beta"}}};
}

TEST(Parts, S0_21_parts_beyond_the_profile_are_admitted_by_rules) {
  VentureDesk desk;
  desk.data["profile"].erase("decompositions");
  desk.outcome("prepare");
  StepInput input;
  input.data = desk.data;
  const Venture venture = venture_of(input);
  const auto refusal = [&venture](const std::string& formula, const Json& parts) {
    const Result<Json> admitted = admit_parts(venture, "b", {{"formula", formula}, {"parts", parts}});
    return admitted ? std::string() : admitted.error().message;
  };
  EXPECT_EQ(refusal("b.one + b.two", {part("b.one"), part("b.two")}), "");
  EXPECT_EQ(refusal("b.one * a / b.two", {part("b.one"), part("b.two")}), "") << "with a known field";
  EXPECT_NE(refusal("b.one +", {part("b.one"), part("b.two")}), "");
  EXPECT_NE(refusal("b.one + b.three", {part("b.one"), part("b.two")}), "");
  EXPECT_NE(refusal("b.one + b", {part("b.one"), part("b.two")}), "") << "a cycle";
  EXPECT_NE(refusal("b.one + total + b.two", {part("b.one"), part("b.two")}), "") << "total is made of it";
  EXPECT_NE(refusal("b.one + 1", {part("b.one"), part("b.two")}), "") << "a part without use";
  EXPECT_NE(refusal("b.one", Json{part("b.one")}), "");
  EXPECT_NE(refusal("b.one + c.two", {part("b.one"), part("c.two")}), "");
  EXPECT_NE(refusal("b.one + b.one", {part("b.one"), part("b.one")}), "");
}

std::unique_ptr<Tools> no_documents() {
  return make_tools({corpus_tool(corpora_in_memory({{"example", {document_of("a.md", "Nothing.")}}}))}, 1);
}

Json input_without_parts() {
  Json profile = test::tiny_profile();
  profile.erase("decompositions");
  return {{"question", "How much?"},
          {"region", "Norland"},
          {"currency", "EUR"},
          {"profile", profile},
          {"fields", {{"a", 2}}}};
}

TEST(Parts, S0_21_a_blocked_field_is_taken_apart_as_a_model_proposes_in_a_node_of_its_own) {
  const Json ask_b = {{"action", "ask_user"}, {"target_path", "b"}, {"query", ""}, {"question", ""}, {"reason", "r"}};
  const Json calculate = {
      {"action", "calculate"}, {"target_path", ""}, {"query", ""}, {"question", ""}, {"reason", "r"}};
  const Json two = {part("b.one"), part("b.two")};
  PlannerRun planner(
      make_scripted_model(
          {{"replies",
            {{{"node", "decide"}, {"value", ask_b}},
             {{"node", "decide"}, {"value", calculate}},
             {{"node", "propose_parts"}, {"value", {{"formula", "b +"}, {"parts", two}, {"reason", ""}}}},
             {{"node", "propose_parts"},
              {"value", {{"formula", "b.one + b.two"}, {"parts", two}, {"reason", "A sum."}}}}}}}),
      no_documents());
  const RunId run = planner.run("venture_scope", input_without_parts());
  const auto answer = [&](const Json& value) {
    ASSERT_TRUE(planner.client().command(run, Answer{"", value, "user:ann", {}}));
    planner.work(run);
  };
  answer("unknown");
  ASSERT_EQ(planner.state(run).questions.size(), 1U) << planner.state(run).reason;
  EXPECT_EQ(planner.state(run).questions.begin()->second.prompt["field"], "b.one");
  EXPECT_EQ(planner.channel(run, "dynamic_decompositions")["b"]["origin"], "proposed");
  EXPECT_EQ(planner.events(run, "task_decomposed").back()["target"], "b");
  EXPECT_EQ(planner.model().of("propose_parts").size(), 2U) << "the first was refused with a reason";
  EXPECT_NE(planner.model().of("propose_parts")[1].messages.back()["content"].get<std::string>().find("ends there"),
            std::string::npos);
  answer(3);
  answer(4);
  EXPECT_EQ(planner.output(run)["result"], 14);
  EXPECT_NE(planner.output(run)["assumptions"].dump().find("a model proposed to calculate it"), std::string::npos);
}

TEST(Parts, S0_21_without_a_proposal_the_third_rule_counts) {
  PlannerRun planner(by_rules(), no_documents());
  const RunId run = planner.run("venture_scope", input_without_parts());
  ASSERT_TRUE(planner.client().command(run, Answer{"", "unknown", "user:ann", {}}));
  planner.work(run);
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_EQ(planner.state(run).reason, "calc_cap");
  EXPECT_EQ(planner.model().of("propose_parts").size(), 1U) << "it is asked for once";
}

TEST(Parts, S0_31_a_decision_for_a_field_that_requires_components_has_them_proposed) {
  Json input = input_without_parts();
  input["profile"]["fields"]["b"]["requires_components"] = true;
  const Json ask_b = {{"action", "ask_user"}, {"target_path", "b"}, {"query", ""}, {"question", ""}, {"reason", "r"}};
  const Json two = {part("b.one"), part("b.two")};
  PlannerRun planner(
      make_scripted_model({{"replies",
                            {{{"node", "decide"}, {"value", ask_b}},
                             {{"node", "propose_parts"},
                              {"value", {{"formula", "b.one * b.two"}, {"parts", two}, {"reason", "A product."}}}}}}}),
      no_documents());
  const RunId run = planner.run("venture_scope", input);
  const std::vector<std::string> path = planner.path(run);
  const auto passes = std::count(path.begin(), path.end(), "enforce_policy") - 1;  // the first wanted parts
  EXPECT_EQ(static_cast<std::ptrdiff_t>(planner.events(run, "decision_enforced").size()), passes);
  EXPECT_EQ(planner.events(run, "decision_enforced")[0]["target"], "b.one");
  EXPECT_EQ(planner.events(run, "decision_rewritten")[0]["rule"], "derived_to_direct");
  EXPECT_EQ(planner.channel(run, "recipes")["b"]["formula"], "b.one * b.two");
}

}  // namespace
}  // namespace cairn
