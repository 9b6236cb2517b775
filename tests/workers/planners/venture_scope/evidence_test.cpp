// Numbers in prose: which of them a sentence gives for what is sought, by word rules.
#include "workers/planners/venture_scope/evidence.hpp"

#include <gtest/gtest.h>

#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

TEST(Evidence, sentences_end_where_they_do) {
  EXPECT_EQ(sentences_of("It has 4.1 million. Most rent!\n\nHeading\n\nIt is 2.08 persons"),
            (std::vector<std::string>{"It has 4.1 million.", "Most rent!", "Heading", "It is 2.08 persons"}));
  EXPECT_EQ(sentences_of("  ").size(), 0U);
}

Sought shares() { return {Sought::Kind::share, "", {"households", "own"}, {"Norland"}, 0, 1}; }

// The first value that is found; -1: none.
double value_in(const std::string& title, const std::string& passage, const Sought& sought) {
  const std::vector<Evidence> found = find_evidence(title, passage, sought);
  return found.empty() ? -1 : found[0].quantity.value;
}

TEST(Evidence, the_number_nearest_to_what_is_sought_counts) {
  const auto found =
      find_evidence("Norland", "In 2024 some 31 % of all households own e-bikes, after 18 % in 2019.", shares());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].quantity.value, 0.31);
  EXPECT_TRUE(found[0].says.starts_with("In 2024"));
}

TEST(Evidence, another_place_and_another_kind_are_none) {
  EXPECT_EQ(value_in("Sudland", "Some 31 % of households own e-bikes.", shares()), -1);
  EXPECT_EQ(value_in("Norland", "Some 31,000 households own e-bikes.", shares()), -1);
  EXPECT_EQ(value_in("Norland", "Some 31 % of flats own nothing.", shares()), -1);
  EXPECT_EQ(value_in("Norland", "It rained. Some 31 % of households own e-bikes.", shares()), 0.31);
  Sought price{Sought::Kind::money, "EUR", {"price"}, {}, 0, 1e9};
  EXPECT_EQ(value_in("", "The price is USD 100.", price), -1);
  EXPECT_DOUBLE_EQ(value_in("", "The price in 2024 was EUR 100.", price), 100);
  const Sought people{Sought::Kind::number, "", {"inhabitants|population"}, {}, 1000, 1e9};
  EXPECT_DOUBLE_EQ(value_in("", "On 1 January 2025 the population was 5.2 million.", people), 5.2e6)
      << "neither a day nor a year";
}

TEST(Evidence, U1_a_phrase_is_words_in_any_form_and_case) {
  EXPECT_TRUE(mentions_phrase("The Households of", "household|households"));
  EXPECT_TRUE(mentions_phrase("The households of", "household"));
  EXPECT_TRUE(mentions_phrase("the price of an e-bike", "e-bikes"));
  EXPECT_TRUE(mentions_phrase("ownership of cars", "own"));
  EXPECT_TRUE(mentions_phrase("batteries last", "battery"));
  EXPECT_FALSE(mentions_phrase("the townhouse", "house"));
  EXPECT_FALSE(mentions_phrase("an e-motor and a bike", "e-bike")) << "its words stand together";
  EXPECT_FALSE(mentions_phrase("anything", ""));
}

TEST(Evidence, U1_growth_is_no_share_and_a_rate_is_no_stock) {
  EXPECT_EQ(value_in("Norland", "The share of households that own e-bikes grew by 12 %.", shares()), -1);
  const Sought people{Sought::Kind::number, "", {"inhabitants"}, {}, 0, 1e9};
  EXPECT_EQ(value_in("", "Some 40,000 inhabitants per year move away.", people), -1);
  const Sought sales{Sought::Kind::number, "", {"sold"}, {}, 0, 1e9, "year"};
  const auto monthly = find_evidence("", "They sold 1,000 bikes a month.", sales);
  ASSERT_EQ(monthly.size(), 1U);
  EXPECT_EQ(value_for(monthly[0].quantity, sales), 12000);
  EXPECT_EQ(value_in("", "They sold 100 bikes a day.", sales), -1) << "no year has a whole number of such";
}

TEST(Evidence, U1_a_number_that_may_be_of_something_else_is_passed_over) {
  const Sought households{Sought::Kind::number, "", {"households"}, {}, 1000, 1e9};
  for (const char* sentence :
       {"Estmark and Norland together have 5 million households.",
        "It is not true that Estmark has 9 million households.", "Of the households in Estmark 800,000 have a car.",
        "Some 800,000 households have no car.", "Households in Estmark, in thousands: 2,500.",
        "Estmark counts 4,120 households for every 10,000 inhabitants.",
        "By 2040 there will be 3.1 million households in Estmark."})
    EXPECT_EQ(value_in("Estmark", sentence, households), -1) << sentence;
  EXPECT_DOUBLE_EQ(value_in("", "Households grew from 2.1 million to 2.5 million.", households), 2.5e6);
  EXPECT_DOUBLE_EQ(value_in("", "Households, in millions: 2.5 million.", households), 2.5e6);
  Sought later = households;
  later.takes_forecasts = true;
  EXPECT_DOUBLE_EQ(value_in("", "By 2040 there will be 3.1 million households.", later), 3.1e6);
  EXPECT_DOUBLE_EQ(value_in("Norland", "Of the households in Norland 12 % own a car.", shares()), 0.12);
}

TEST(Evidence, every_sentence_that_fits_is_found) {
  const Sought people{Sought::Kind::number, "", {"inhabitants"}, {}, 0, 1e9};
  EXPECT_EQ(find_evidence("", "It has 5 million inhabitants. In 2010 it had 4 million inhabitants.", people).size(),
            2U);
}

}  // namespace
}  // namespace cairn
