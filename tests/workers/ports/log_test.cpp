// The forms of the log's lines.
#include "workers/ports/log.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace cairn {
namespace {

// The log is the process's own: each is opened in a process that ends.
[[noreturn]] void write_and_end(LogForm form, const std::string& text) {
  open_log(form, LogLevel::info);
  spdlog::warn("{}", text);
  log_about(LogLevel::info, "An entry.", {{"message", text}, {"node", text}});
  std::exit(0);
}

// OSC 52 writes into the clipboard; then a mark that turns the direction of writing, DEL and a C1 that begins a
// sequence.
constexpr const char* obeyed = "\x1b]52;c;eA==\x07\u202e\x7f\u009b";
constexpr const char* shown = "\\\\u001b\\]52;c;eA==\\\\u0007\\\\u202e\\\\u007f\\\\u009b";

// As PostgreSQL's library speaks of a server that is not there.
constexpr const char* two_lines = "connection refused\n\tIs the server running?\r\n";

TEST(Log, F10_an_entry_of_several_lines_is_one_line_as_text) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(write_and_end(LogForm::text, two_lines), ::testing::ExitedWithCode(0),
              "^[^\n]* warning connection refused Is the server running\\?\n"
              "[^\n]* info An entry. message=connection refused Is the server running\\? node=connection refused Is "
              "the server running\\?\n$");
}

TEST(Log, F10_an_entry_of_several_lines_is_one_line_as_json) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(write_and_end(LogForm::json, two_lines), ::testing::ExitedWithCode(0),
              "^[^\n]*\"message\":\"connection refused.n.tIs the server running\\?[^\n]*\n[^\n]*\n$");
}

TEST(Log, H9_foreign_text_is_written_as_text_without_what_a_terminal_obeys) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(write_and_end(LogForm::text, obeyed), ::testing::ExitedWithCode(0),
              "warning " + std::string(shown) + "\n[^\n]*message=" + shown + " node=" + shown + "\n$");
}

TEST(Log, H9_foreign_text_is_written_as_json_without_what_a_terminal_obeys) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(write_and_end(LogForm::json, obeyed), ::testing::ExitedWithCode(0),
              "\"message\":\"" + std::string(shown) + "\"[^\n]*\n[^\n]*\"node\":\"" + shown + "\"");
}

}  // namespace
}  // namespace cairn
