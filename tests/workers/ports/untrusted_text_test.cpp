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

// H9: a tool's text cleared the operator's screen and wrote its own verdict there.
TEST(ForeignText, a_character_that_a_terminal_obeys_becomes_visible) {
  EXPECT_EQ(visible("\x1b[2J\x1b]0;pwned\x07"), "\\u001b[2J\\u001b]0;pwned\\u0007");
  EXPECT_EQ(visible("a\tb\nc\r"), "a\tb\nc\\u000d");
  EXPECT_EQ(visible("\x7f \u009b31m \u202e \u2066 \u200f \u061c"),
            "\\u007f \\u009b31m \\u202e \\u2066 \\u200f \\u061c");
  EXPECT_EQ(visible("\xFE\xFF\x9b"), "???");
  EXPECT_EQ(visible("\u00e9 \u20ac \U0001F600 \u00a0"), "\u00e9 \u20ac \U0001F600 \u00a0");
  const Json value = "\x7f\u009b\u202e\n";
  EXPECT_EQ(Json::parse(visible(canonical(value))), value) << "within JSON it is the same value";
  EXPECT_EQ(readable_line("a\u009bb\u202ec", 100), "a b c");
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

TEST(ForeignText, the_last_lines_are_whole_ones) {
  LastLines lines(10);
  lines.add("first\nsecond\n");
  EXPECT_EQ(lines.text(), "first\nsecond\n");
  lines.add("third\nfourth\n");
  EXPECT_EQ(lines.text(), "fourth\n");
  lines.add(std::string(30, 'x'));
  EXPECT_EQ(lines.text(), "") << "it began before";
  lines.add("xxx");
  EXPECT_EQ(lines.text(), "");
  lines.add("xxx\nlast");
  EXPECT_EQ(lines.text(), "last");
  lines.add(" words\n");
  EXPECT_EQ(lines.text(), "last words\n");
}

}  // namespace
}  // namespace cairn
