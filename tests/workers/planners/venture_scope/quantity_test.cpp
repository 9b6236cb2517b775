// Numbers as they are written: each is read right or refused.
#include "workers/planners/venture_scope/quantity.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace cairn {
namespace {

struct Reading {
  std::string text;
  double value = 0;
  std::string currency = {};
  std::string per = {};
};

const std::vector<Reading> right = {
    {"there are 2,476,190 of them", 2476190},
    {"4 100 000 people", 4100000},
    {"4\u00A0100 people", 4100},
    {"4'100'000 people", 4100000},
    {"4.1 million people", 4100000},
    {"4,1 million", 4100000},
    {"1.234 million", 1234000},
    {"3 bn", 3e9},
    {"1234.5", 1234.5},
    {"0.125 of them", 0.125},
    {"-3.5 degrees", -3.5},
    {"5 millions of", 5e6},
    {"5 hundred thousand", 5e5},
    {"3 crore", 3e7},
    {"5.2m people", 5.2e6},
    {"12k bikes", 12000},
    {"$4.2B", 4.2e9, "USD"},
    {"$4.2b", 4.2e9, "USD"},
    {"$4.2 B in sales", 4.2e9, "USD"},
    {"US$ 4.2bn", 4.2e9, "USD"},
    {"$3 million", 3e6, "USD"},
    {"$1.5T", 1.5e12, "USD"},
    {"A$20", 20, "AUD"},
    {"€2.5 million", 2.5e6, "EUR"},
    {"EUR 2,850", 2850, "EUR"},
    {"EUR 2.850,5 Mio.", 2850.5e6, "EUR"},
    {"2.850,5 Mio. EUR", 2850.5e6, "EUR"},
    {"1.234.567 Euro", 1234567, "EUR"},
    {"2,850.50 EUR", 2850.5, "EUR"},
    {"3,5 Mrd. €", 3.5e9, "EUR"},
    {"2,850 million EUR", 2850e6, "EUR"},
    {"1,234,567 Mio. EUR", 1234567e6, "EUR"},
    {"2 850 EUR", 2850, "EUR"},
    {"2,850 NOK", 2850, "NOK"},
    {"-$5m", -5e6, "USD"},
    {"20 US dollars", 20, "USD"},
    {"12 % of", 0.12},
    {"7 per cent", 0.07},
    {"7 percent", 0.07},
    {"12,5 %", 0.125},
    {"5 to 6 years", 5.5},
    {"5-6 years", 5.5},
    {"5\u20136 years", 5.5},
    {"between 4 and 6 million", 5e6},
    {"EUR 3 to 4 million", 3.5e6, "EUR"},
    {"EUR 3 to EUR 5", 4, "EUR"},
    {"10-20 %", 0.15},
    {"300,000 bikes a year", 300000, "", "year"},
    {"300,000 per year", 300000, "", "year"},
    {"EUR 9.99/month", 9.99, "EUR", "month"},
    {"3 million p.a.", 3e6, "", "year"},
    {"8 years before they", 8},
    {"1,990 a year ago", 1990},
    {"20 k\u20AC in sales", 20e3, "EUR"},
    {"20k\u20AC in sales", 20e3, "EUR"},
    {"3 M\u20AC", 3e6, "EUR"},
    {"5\u00B4200 CHF", 5200, "CHF"},
    {"$0.5m/yr", 5e5, "USD", "year"},
};

TEST(Quantity, U1_numbers_are_read_as_they_are_written) {
  for (const Reading& each : right) {
    const std::vector<Quantity> found = quantities_in(each.text);
    ASSERT_EQ(found.size(), 1U) << each.text;
    EXPECT_EQ(found[0].doubt, "") << each.text;
    EXPECT_NEAR(found[0].value, each.value, 1e-9 * std::abs(each.value)) << each.text;
    EXPECT_EQ(found[0].currency, each.currency) << each.text;
    EXPECT_EQ(found[0].per, each.per) << each.text;
  }
}

TEST(Quantity, U1_numbers_with_two_readings_and_parts_of_other_things_are_refused) {
  for (const char* text : {"EUR 2.850",
                           "2.850 Mio. EUR",
                           "2,850 Mio. EUR",
                           "EUR 1,250 Mrd.",
                           "12,500 Prozent",
                           "12,34,567 rupees",
                           "1.2,3.4",
                           "about 5 m wide",
                           "a wall 5.2m high",
                           "8 t of steel",
                           "5kWh",
                           "a 3x rise",
                           "the 2nd one",
                           "12 percentage points",
                           "25 bps",
                           "less than 5 %",
                           "less than 1.234 million",
                           "¥ 2.850",
                           "up to 300,000 people",
                           "3 in 10 households",
                           "1 out of 4",
                           "1/2",
                           "12:30",
                           "01.02.2024",
                           "2024-01-31",
                           "on 1 January",
                           "3 times as many",
                           "5 200 people",
                           "¥ 500",
                           "Z$ 20",
                           "6 to 5 years",
                           "5 % to 6 million"})
    for (const Quantity& quantity : quantities_in(text))
      EXPECT_NE(quantity.doubt, "") << text << " read as " << quantity.value;
  EXPECT_TRUE(quantities_in("CO2 and H2O").empty());
  EXPECT_TRUE(quantities_in("number #5").empty());
}

TEST(Quantity, U1_numbers_with_a_part_that_is_not_read_are_refused) {
  for (const char* text : {"2\u00BD million homes", "3\u00B2", "4.2 \u00D7 10^6 units", "4.2\u00D710^6", "JPY 3\u5104",
                           "5 mil. homes", "R$ 5 mil", "5 mille euros", "5+ million homes", "k\u20AC 20", "T\u20AC 20",
                           "20 T\u20AC", "Mio. \u20AC 5", "EUR million 20", ".5 million", "\u20AC .5", "a 3-year plan"})
    for (const Quantity& quantity : quantities_in(text))
      EXPECT_NE(quantity.doubt, "") << text << " read as " << quantity.value;
  for (const char* text : {"**5 million** homes", "* 5 million homes", "\u00B7 5 million homes", "83* of 100"})
    EXPECT_EQ(quantities_in(text).at(0).doubt, "") << text << ": a mark of Markdown or of a footnote";
  const std::vector<Quantity> change = quantities_in("sales grew from 2.1 million to 2.5 million");
  ASSERT_EQ(change.size(), 2U);
  EXPECT_EQ(change[0].doubt, "a change began there");
  EXPECT_DOUBLE_EQ(change[1].value, 2.5e6);
  EXPECT_EQ(change[1].doubt, "");
  EXPECT_TRUE(quantities_in("they cost from 2 to 3 euros")[0].is_range());
  const std::vector<Quantity> two = quantities_in("5 million 30 times");
  EXPECT_EQ(two[0].doubt, "");
  const std::vector<Quantity> sentences = quantities_in("It ended. 5 homes, ca. 20 million. 30 more.");
  ASSERT_EQ(sentences.size(), 3U);
  for (const Quantity& each : sentences) EXPECT_EQ(each.doubt, "");
}

TEST(Quantity, a_year_a_change_and_a_hedge_are_known_as_such) {
  EXPECT_TRUE(quantities_in("in 2024 it")[0].may_be_a_year);
  EXPECT_FALSE(quantities_in("2,024 of")[0].may_be_a_year);
  EXPECT_EQ(quantities_in("from 2019 to 2024").size(), 2U);
  EXPECT_TRUE(quantities_in("it grew by 12 %")[0].is_change);
  EXPECT_TRUE(quantities_in("1.1 % more than a year before")[0].is_change);
  EXPECT_FALSE(quantities_in("12 % of them")[0].is_change);
  EXPECT_EQ(quantities_in("more than 5 million")[0].hedge, "more than");
  EXPECT_EQ(quantities_in("~5 million")[0].hedge, "about");
  EXPECT_TRUE(quantities_in("5 to 6 years")[0].is_range());
  EXPECT_EQ(quantities_in("5 to 6 years")[0].low, 5);
}

TEST(Quantity, an_answer_is_one_quantity_and_nothing_else) {
  EXPECT_DOUBLE_EQ(read_quantity(" 4.1 million ")->value, 4100000);
  EXPECT_DOUBLE_EQ(read_quantity("12 %")->value, 0.12);
  EXPECT_EQ(read_quantity("€ 640")->currency, "EUR");
  EXPECT_EQ(read_quantity("640 EUR")->value, 640);
  EXPECT_EQ(read_quantity("EUR 2.850,5 Mio.")->value, 2850.5e6);
  EXPECT_EQ(read_quantity("12 thousand EUR")->value, 12000);
  for (const char* text : {"about 12", "5 to 6", "none", "EUR 2.850", "5.2 m", "", " "})
    EXPECT_FALSE(read_quantity(text)) << text;
}

TEST(Quantity, tables_name_their_scale_and_currency_elsewhere) {
  EXPECT_TRUE(names_scale("Sales, EUR million", 1e6));
  EXPECT_TRUE(names_scale("in Mio. EUR", 1e6));
  EXPECT_FALSE(names_scale("a millionaire", 1e6));
  EXPECT_FALSE(names_scale("Sales", 1e6));
  EXPECT_TRUE(names_currency("Sales, € million", "EUR"));
  EXPECT_FALSE(names_currency("Sales", "EUR"));
  EXPECT_TRUE(is_currency("NOK"));
  EXPECT_FALSE(is_currency("CEO"));
}

}  // namespace
}  // namespace cairn
