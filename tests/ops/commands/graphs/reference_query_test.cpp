// Reference queries of a set of questions, and rows that equal theirs.
#include "ops/commands/graphs/reference_query.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

using Texts = std::vector<std::string>;

TEST(ReferenceQuery, several_are_separated_and_a_semicolon_in_a_text_does_not) {
  EXPECT_EQ(reference_queries("select 1; select ';'"), (Texts{"select 1", " select ';'"}));
  EXPECT_EQ(reference_queries(" ; "), Texts{});
}

TEST(ReferenceQuery, braces_are_any_choice_of_columns_and_empty_ones_the_same_choice) {
  EXPECT_EQ(reference_queries("select {a, b}, count(*) from t group by {}"),
            (Texts{"select a, count(*) from t group by a", "select  b, count(*) from t group by  b",
                   "select a,  b, count(*) from t group by a,  b"}));
}

TEST(ReferenceQuery, choices_are_bounded) {
  EXPECT_EQ(reference_queries("select {a,b,c,d}, {e,f,g,h}, {i,j,k,l}").size(), reference_queries_max);
}

TEST(ReferenceQuery, rows_are_equal_in_any_order_of_rows_and_columns) {
  const Json rows = Json::parse(R"([["Ann", 1], ["Ben", 2]])");
  EXPECT_TRUE(are_equal_rows(rows, Json::parse(R"([[2, "Ben"], [1, "Ann"]])")));
  EXPECT_FALSE(are_equal_rows(rows, Json::parse(R"([[1, "Ben"], [2, "Ann"]])")));
  EXPECT_FALSE(are_equal_rows(rows, Json::parse(R"([["Ann", 1]])")));
  EXPECT_FALSE(are_equal_rows(rows, Json::parse(R"([["Ann"], ["Ben"]])")));
  EXPECT_TRUE(are_equal_rows(Json::array(), Json::array()));
}

TEST(ReferenceQuery, numbers_are_equal_to_six_digits_and_a_day_equals_its_midnight) {
  EXPECT_TRUE(are_equal_rows({{0.3333333}}, {{0.33333334}}));
  EXPECT_FALSE(are_equal_rows({{0.3333}}, {{0.3334}}));
  EXPECT_TRUE(are_equal_rows({{"2024-05-01"}}, {{"2024-05-01 00:00:00"}}));
  EXPECT_FALSE(are_equal_rows({{nullptr}}, {{0}}));
}

}  // namespace
}  // namespace cairn
