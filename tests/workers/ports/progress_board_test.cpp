#include "workers/ports/progress_board.hpp"

#include <gtest/gtest.h>

#include "storage/progress.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t plenty = 64u << 20;

TEST(ProgressBoard, the_last_text_is_taken_once) {
  ProgressBoard board;
  EXPECT_TRUE(board.take(plenty).empty());
  board.say(3, "page 1");
  board.say(3, "page 2");
  board.say(5, "other");
  const auto taken = board.take(plenty);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].slot, 3U);
  EXPECT_EQ(taken[0].text, "page 2");
  EXPECT_EQ(taken[0].written, 6);
  EXPECT_EQ(taken[1].text, "other");
  board.say(3, "page 2");
  EXPECT_TRUE(board.take(plenty).empty()) << "nothing has changed";
  board.say(3, "page 3");
  board.forget(3);
  EXPECT_TRUE(board.take(plenty).empty());
}

TEST(ProgressBoard, the_end_of_a_long_text_is_kept_whole_characters_and_all_are_counted) {
  ProgressBoard board;
  std::string text;
  for (int n = 0; n < 50'000; ++n) text += "\u20ac";
  board.say(1, text);
  const auto taken = board.take(plenty);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_LE(taken[0].text.size(), progress_bytes_max);
  EXPECT_GT(taken[0].text.size(), progress_bytes_max - 4);
  EXPECT_TRUE(is_utf8(taken[0].text));
  EXPECT_EQ(taken[0].written, 50'000);
}

TEST(ProgressBoard, what_no_row_can_hold_is_replaced) {
  ProgressBoard board;
  board.say(1, std::string_view("a\0b\x1b[2J\xff\xc3", 9));
  EXPECT_EQ(board.take(plenty).at(0).text, "a b\x1b[2J?");
  board.say(1, "is \xe2\x82");
  EXPECT_EQ(board.take(plenty).at(0).text, "is ") << "a character that has come in part";
  board.say(1, std::string(progress_bytes_max + 10, '\xff'));
  const std::string text = board.take(plenty).at(0).text;
  EXPECT_TRUE(is_utf8(text));
  EXPECT_LE(text.size(), progress_bytes_max);
}

TEST(ProgressBoard, many_long_texts_go_one_after_another) {
  ProgressBoard board;
  for (ProgressBoard::Slot slot = 1; slot <= 10; ++slot) board.say(slot, std::string(1'000, 'x'));
  EXPECT_EQ(board.take(3'500).size(), 3U);
  board.say(1, "changed again");
  EXPECT_EQ(board.take(3'500).at(0).slot, 4U) << "those that wait come first";
  EXPECT_EQ(board.take(10).size(), 1U) << "one goes in any case";
  EXPECT_EQ(board.take(plenty).size(), 4U);
  EXPECT_TRUE(board.take(plenty).empty());
}

}  // namespace
}  // namespace cairn
