#include "workers/ports/untrusted_text.hpp"

#include <gtest/gtest.h>

#include "engine/json.hpp"

namespace cairn {
namespace {

TEST(ForeignText, becomes_one_line_without_control_characters) {
  EXPECT_EQ(readable_line("  two\nlines\there\x07 \r\n", 100), "two lines here");
  EXPECT_EQ(readable_line(std::string("a\0b", 3), 100), "a b");
  EXPECT_EQ(readable_line("\n\n", 100), "");
}

TEST(ForeignText, is_cut_between_characters) {
  EXPECT_EQ(readable_line("abcdef", 6), "abcdef");
  EXPECT_EQ(readable_line("abcdefg", 6), "abcdef...");
  EXPECT_EQ(readable_line("a\xC3\xA4\xC3\xA4", 4), "a\xC3\xA4...");
}

TEST(ForeignText, bytes_that_are_no_character_are_shown_as_question_marks) {
  for (const char* bytes :
       {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xF0\x80\x80\x80"}) {
    const std::string line = readable_line(bytes, 100);
    EXPECT_EQ(line.find_first_not_of('?'), std::string::npos) << line;
    EXPECT_FALSE(line.empty());
    EXPECT_NO_THROW(static_cast<void>(canonical(line)));
  }
  EXPECT_EQ(readable_line("\xF0\x9F\xAA\xA8 \xE2\x82\xAC", 100), "\xF0\x9F\xAA\xA8 \xE2\x82\xAC");
}

TEST(ForeignText, the_last_line_is_the_last_that_is_not_blank) {
  EXPECT_EQ(last_line("one\ntwo\r\n \n"), "two");
  EXPECT_EQ(last_line("one"), "one");
  EXPECT_EQ(last_line(" \n"), "");
}

TEST(ForeignText, is_utf8_or_not) {
  for (const char* good : {"", "plain", "\u00e9", "\U0001F600", "\x7f"}) EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace cairn
