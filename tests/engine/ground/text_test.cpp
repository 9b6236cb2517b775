// Texts without the space around them, in lower case, and digits.
#include "engine/text.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Text, it_loses_the_space_at_its_ends_alone) {
  EXPECT_EQ(trimmed(" \t\r\na b\tc \n"), "a b\tc");
  EXPECT_EQ(trimmed(" \t\r\n"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\va\f"), "\va\f");
}

TEST(Text, letters_of_ascii_become_small_and_all_else_stays) {
  EXPECT_EQ(lowered("AZ az @[ 09"), "az az @[ 09");
  EXPECT_EQ(lowered("\u00C4\u00D6"), "\u00C4\u00D6");
  EXPECT_EQ(lowered('Q'), 'q');
}

TEST(Text, a_hexadecimal_digit_has_its_value) {
  const std::string_view digits = "0123456789abcdef", capitals = "ABCDEF";
  for (std::size_t at = 0; at < digits.size(); ++at) EXPECT_EQ(hex_digit(digits[at]), static_cast<int>(at));
  for (std::size_t at = 0; at < capitals.size(); ++at) EXPECT_EQ(hex_digit(capitals[at]), static_cast<int>(at) + 10);
  for (const char c : std::string_view("/:@G`g \xFF")) EXPECT_EQ(hex_digit(c), -1) << c;
}

TEST(Text, a_leading_number_that_is_too_large_for_its_place_is_none) {
  EXPECT_EQ(leading_number("2026-Q1", 9'999), 2026);
  EXPECT_EQ(leading_number(" 7", 9), 7);
  for (const char* text : {"", "Q1 2026", "-3", "+3", "10", "4294967299", "99999999999999999999"})
    EXPECT_EQ(leading_number(text, 9), 0) << text;
}

}  // namespace
}  // namespace cairn
