// Numbers in prose: how they are written, and which of them a sentence gives for what is sought.
#include "workers/planners/venture_scope/evidence.hpp"

#include <gtest/gtest.h>

#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

Quantity only(const std::string& text) {
  const std::vector<Quantity> found = quantities_in(text);
  EXPECT_EQ(found.size(), 1U) << text;
  return found.empty() ? Quantity{} : found[0];
}

TEST(Evidence, reads_numbers_as_they_are_written) {
  EXPECT_DOUBLE_EQ(only("there are 2,476,190 of them").value, 2476190);
  EXPECT_DOUBLE_EQ(only("4 100 000 people").value, 4100000);
  EXPECT_DOUBLE_EQ(only("4.1 million people").value, 4100000);
  EXPECT_DOUBLE_EQ(only("4,1 million").value, 4100000);
  EXPECT_DOUBLE_EQ(only("3 bn").value, 3e9);
  EXPECT_DOUBLE_EQ(only("1234.5").value, 1234.5);
  EXPECT_DOUBLE_EQ(only("12 % of").value, 0.12);
  EXPECT_DOUBLE_EQ(only("7 per cent").value, 0.07);
  EXPECT_TRUE(only("7 percent").is_percent);
  EXPECT_EQ(only("EUR 2,850").currency, "EUR");
  EXPECT_EQ(only("2,850 NOK").currency, "NOK");
  EXPECT_EQ(only("€2.5 million").currency, "EUR");
  EXPECT_DOUBLE_EQ(only("$3 million").value, 3e6);
  EXPECT_EQ(only("5 millions of").value, 5) << "a scale is a word of its own";
  EXPECT_TRUE(only("in 2024 it").may_be_a_year);
  EXPECT_FALSE(only("2,024 of").may_be_a_year);
  EXPECT_TRUE(quantities_in("CO2 and H2O").empty());
}

TEST(Evidence, an_answer_is_one_quantity_and_nothing_else) {
  EXPECT_DOUBLE_EQ(read_quantity(" 4.1 million ")->value, 4100000);
  EXPECT_DOUBLE_EQ(read_quantity("12 %")->value, 0.12);
  EXPECT_EQ(read_quantity("€ 640")->currency, "EUR");
  EXPECT_EQ(read_quantity("640 EUR")->value, 640);
  EXPECT_FALSE(read_quantity("about 12"));
  EXPECT_FALSE(read_quantity("5 to 6"));
  EXPECT_FALSE(read_quantity("none"));
}

TEST(Evidence, sentences_end_where_they_do) {
  EXPECT_EQ(sentences_of("It has 4.1 million. Most rent!\n\nHeading\n\nIt is 2.08 persons"),
            (std::vector<std::string>{"It has 4.1 million.", "Most rent!", "Heading", "It is 2.08 persons"}));
  EXPECT_EQ(sentences_of("  ").size(), 0U);
}

Sought shares() { return {Sought::Kind::share, "", {"households", "own"}, {"Norland"}, 0, 1}; }

TEST(Evidence, the_number_nearest_to_what_is_sought_counts) {
  const auto found =
      find_evidence("Norland", "In 2024 some 31 % of all households own e-bikes, after 18 % in 2019.", shares());
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->value, 0.31);
  EXPECT_TRUE(found->says.starts_with("In 2024"));
}

TEST(Evidence, another_place_and_another_kind_are_none) {
  EXPECT_FALSE(find_evidence("Sudland", "Some 31 % of households own e-bikes.", shares()));
  EXPECT_FALSE(find_evidence("Norland", "Some 31,000 households own e-bikes.", shares()));
  EXPECT_FALSE(find_evidence("Norland", "Some 31 % of flats own nothing.", shares()));
  EXPECT_TRUE(find_evidence("Norland", "It rained. Some 31 % of households own e-bikes.", shares()));
  Sought price{Sought::Kind::money, "EUR", {"price"}, {}, 0, 1e9};
  EXPECT_FALSE(find_evidence("", "The price is USD 100.", price));
  EXPECT_DOUBLE_EQ(find_evidence("", "The price in 2024 was EUR 100.", price)->value, 100);
  const Sought people{Sought::Kind::number, "", {"inhabitants|population"}, {}, 1000, 1e9};
  EXPECT_DOUBLE_EQ(find_evidence("", "On 1 January 2025 the population was 5.2 million.", people)->value, 5.2e6)
      << "neither a day nor a year";
}

TEST(Evidence, a_phrase_is_whole_words_in_any_case) {
  EXPECT_TRUE(mentions_phrase("The Households of", "household|households"));
  EXPECT_FALSE(mentions_phrase("The households of", "household"));
  EXPECT_FALSE(mentions_phrase("anything", ""));
}

}  // namespace
}  // namespace cairn
