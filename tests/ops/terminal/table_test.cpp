// Tables and lines in the columns of a terminal: what is narrowed, what stays whole, and where the last column goes.
#include "ops/terminal/table.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "ops/terminal/columns.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const std::string run = "01a20a2d-71ac-77a5-92ea-ce876049c072";

std::size_t widest(const Lines& lines) {
  std::size_t columns = 0;
  for (const std::string& line : lines) columns = std::max(columns, shown_width(line));
  return columns;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(TableLines, F13_a_table_that_has_room_is_as_wide_as_its_cells) {
  Table table({"NAME", "HELD", "SAYS"});
  table.add({"a", "12", "all is well"});
  table.add({"longer", "3", ""});
  EXPECT_EQ(table.lines(80, false), (Lines{"NAME    HELD  SAYS", "a       12    all is well", "longer  3"}));
}

TEST(TableLines, F13_the_widest_columns_are_narrowed_and_ids_and_numbers_stay_whole) {
  Table table({"GRAPH", "RUN", "OF", "WAITING"});
  table.add({std::string(60, 'g'), run, "1234567890123", "7"});
  const Lines lines = table.lines(80, false);
  EXPECT_LE(widest(lines), 80u) << text_of(lines);
  ASSERT_EQ(lines.size(), 2u) << text_of(lines);
  EXPECT_NE(lines[1].find("ggg...  " + run + "  1234567890123  7"), std::string::npos) << text_of(lines);
}

TEST(TableLines, F13_a_last_column_without_room_goes_on_lines_of_its_own) {
  Table table({"EVENT", "STATUS", "ATTEMPTS", "NEXT (UTC)", "SAYS"});
  table.add({run + "/12", "parked", "12", "11-23 15:39", "Expected an answer of 2xx, but found 500 of " + run + "."});
  table.add({run + "/13", "waiting", "0", "11-23 15:40", ""});
  const Lines wrapped = table.lines(80, true), cut = table.lines(80, false);
  EXPECT_LE(std::max(widest(wrapped), widest(cut)), 80u) << text_of(wrapped) << text_of(cut);
  ASSERT_EQ(wrapped.size(), 6u) << text_of(wrapped);
  EXPECT_EQ(wrapped[1], "    SAYS");
  EXPECT_EQ(wrapped[2], run + "/12  parked   12        11-23 15:39");
  EXPECT_EQ(wrapped[4], "    " + run + ".");
  EXPECT_EQ(wrapped[5], run + "/13  waiting  0         11-23 15:40") << "nothing is said of it";
  ASSERT_EQ(cut.size(), 5u) << text_of(cut);
  EXPECT_TRUE(cut[3].ends_with("...")) << cut[3];
}

TEST(TableLines, F13_a_long_sentence_goes_on_lines_of_its_own_rather_than_in_many_short_ones) {
  Table table({"NAME", "GRAPH", "SENDS"});
  const std::string words =
      "sends to https://chat.example/in when a run has ended, has failed or has opened a question";
  table.add({std::string(50, 'n'), std::string(50, 'g'), words});
  EXPECT_EQ(table.lines(80, true).size(), 5u) << text_of(table.lines(80, true));
  EXPECT_EQ(table.lines(80, false).size(), 2u) << "a cell that is cut has its line";
  Table narrow({"NAME", "SENDS"});
  narrow.add({"chat", words});
  EXPECT_EQ(narrow.lines(80, true).size(), 3u) << text_of(narrow.lines(80, true));
  EXPECT_EQ(narrow.lines(80, true)[1].substr(0, 15), "chat  sends to ");
}

TEST(TableLines, F13_many_columns_of_long_cells_fit_and_what_is_kept_is_whole) {
  const std::string name(30, 'n');
  Table table({"QUEUE", "READY", "LATER", "HELD", "LIMIT", "RATE", "BUDGET", "PAUSED", "OLDEST READY"});
  table.add(
      {name, "1234567", "7654321", "12", "4000", "50 per 1s, burst 10", "2000000 tokens per hour", "paused", "10 min"});
  EXPECT_LE(widest(table.lines(80, false)), 80u) << text_of(table.lines(80, false));
  EXPECT_EQ(text_of(table.lines(80, false)).find(name), std::string::npos);
  table.keep(0);
  EXPECT_LE(widest(table.lines(80, false)), 80u) << text_of(table.lines(80, false));
  EXPECT_NE(text_of(table.lines(80, false)).find(name), std::string::npos) << "it is to be copied";
}

TEST(TableLines, F13_a_name_of_digits_keeps_no_column_of_names_wide) {
  Table table({"KEY", "RUNS"});
  table.add({"1042", "1"});
  table.add({std::string(200, 'k'), "2"});
  EXPECT_LE(widest(table.lines(80, false)), 80u) << text_of(table.lines(80, false));
}

TEST(TableLines, a_letter_of_two_columns_counts_as_two_and_an_accent_as_none) {
  EXPECT_EQ(shown_width("漢字"), 4u);
  EXPECT_EQ(shown_width("e\u0301t\u0301"), 2u);
  EXPECT_EQ(shown_width("é"), 1u);
  EXPECT_EQ(cut_to("漢字漢字", 7), "漢字...");
  EXPECT_EQ(cut_to("漢字漢字", 8), "漢字漢字");
  EXPECT_EQ(wrapped("漢字漢字", 5), (Lines{"漢字", "漢字"}));
  std::string wide;
  for (int n = 0; n < 20; ++n) wide += "漢";
  Table table({"NAME", "SAYS"});
  table.add({wide, wide});
  EXPECT_LE(widest(table.lines(60, true)), 60u) << text_of(table.lines(60, true));
}

TEST(TableLines, a_line_break_in_a_cell_is_a_blank_and_one_in_a_paragraph_ends_a_line) {
  Table table({"NAME", "SAYS"});
  table.add({"a\nb", "c\td"});
  EXPECT_EQ(table.lines(80, false)[1], "a b   c d");
  EXPECT_EQ(wrapped("\none two\n\nthree", 5), (Lines{"", "one", "two", "", "three"}));
  EXPECT_EQ(wrapped("", 5), Lines{""});
}

TEST(TableLines, a_colour_that_is_cut_ends) {
  const std::string red = std::string{paint_begins, '2'} + "not at all well" + paint_ends;
  EXPECT_EQ(shown_width(red), 15u);
  EXPECT_EQ(cut_to(red, 10), std::string({paint_begins, '2'}) + "not at ..." + paint_ends);
}

}  // namespace
}  // namespace cairn
