#include "engine/nearest.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

const std::vector<std::string> commands{"start", "show", "events", "explain", "graph"};

TEST(Nearest, finds_the_word_with_the_fewest_changes) {
  EXPECT_EQ(nearest("strat", commands), "start") << "swapped";
  EXPECT_EQ(nearest("shwo", commands), "show");
  EXPECT_EQ(nearest("event", commands), "events") << "missing";
  EXPECT_EQ(nearest("expalin", commands), "explain");
  EXPECT_EQ(nearest("grapph", commands), "graph") << "added";
}

TEST(Nearest, finds_none_where_none_is_near) {
  EXPECT_EQ(nearest("delete", commands), "");
  EXPECT_EQ(nearest("", commands), "");
  EXPECT_EQ(nearest("ab", {"x"}), "") << "all of it would change";
  EXPECT_EQ(nearest("start", commands), "") << "the word itself";
  EXPECT_EQ(nearest(std::string(1'000, 'a'), {std::string(1'000, 'b')}), "");
}

TEST(Nearest, asks_in_a_sentence) {
  EXPECT_EQ(did_you_mean("strat", commands), " (did you mean start?)");
  EXPECT_EQ(did_you_mean("delete", commands), "");
}

}  // namespace
}  // namespace cairn
