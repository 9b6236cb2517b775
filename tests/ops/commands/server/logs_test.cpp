// The log of `cairn up`: kept, bounded, and shown in the order of time.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ops/service/log_folder.hpp"
#include "tests/ops/program.hpp"
#include "workers/ports/log_file.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

std::string new_log_folder(const std::string& name) {
  const std::string folder = directory() / name;
  fs::create_directories(folder);
  return folder;
}

std::vector<std::string> read_all(LogReader& reader) {
  std::vector<std::string> texts;
  reader.read([&](const LogLine& line) { texts.push_back(line.text); });
  return texts;
}

void add(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::app) << text; }

TEST(LogFile, is_bounded_private_and_goes_on_after_the_one_before) {
  const std::string file = new_log_folder("bounded") + "/worker-1.log";
  LogFile log(file, 1'000);
  std::string last;
  for (int i = 0; i < 500; ++i) {
    last = "line " + std::to_string(i) + "\n";
    ASSERT_TRUE(log.write(last));
    ASSERT_LE(fs::file_size(file), 1'000U);
  }
  EXPECT_TRUE(read_file(file).ends_with(last));
  EXPECT_LE(fs::file_size(file + ".1"), 1'000U);
  EXPECT_GT(fs::file_size(file + ".1"), 900U);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(file).parent_path()), fs::directory_iterator()), 2);
  struct stat made {};
  ASSERT_EQ(stat(file.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777U, 0600U);
  EXPECT_TRUE(log.write(std::string(5'000, 'x'))) << "the part that fits";
  EXPECT_LE(fs::file_size(file), 1'000U);
}

TEST(LogFile, that_cannot_be_written_stops_nothing) {
  LogFile log("/nowhere/at/all.log");
  EXPECT_FALSE(log.write("a line\n"));
}

TEST(LogLines, of_both_forms_are_read) {
  const auto text = parse_log_line("2026-11-26T05:05:06.250+01:00 1350 warning It is late.");
  ASSERT_TRUE(text);
  EXPECT_EQ(time_text(text->at_us).substr(0, 19), "2026-11-26T04:05:06");
  EXPECT_EQ(text->pid, 1350);
  EXPECT_EQ(text->level, LogLevel::warning);
  EXPECT_EQ(message_of(*text), "It is late.");
  const auto json =
      parse_log_line(R"({"at":"2026-11-26T04:05:06.250000Z","level":"error","message":"m","pid":7,"run":"r"})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at_us, text->at_us);
  EXPECT_EQ(json->level, LogLevel::error);
  for (const char* other : {"", "something else", "{}", "{", "2026-11-26T05:05:06.250+01:00 1350 loud It"})
    EXPECT_FALSE(parse_log_line(other)) << other;
}

TEST(LogReader, merges_by_time_goes_on_and_follows_files_that_were_replaced) {
  const std::string folder = new_log_folder("merged");
  const std::string one = folder + "/worker-1.log", two = folder + "/worker-2.log";
  const auto line = [](int second, const std::string& text) {
    return "2026-11-26T04:00:" + std::to_string(10 + second) + ".000+00:00 1 info " + text + "\n";
  };
  LogReader reader(folder);
  EXPECT_TRUE(read_all(reader).empty());
  add(one + ".1", line(0, "a"));
  add(one, line(2, "c") + "goes on\n" + line(4, "e"));
  add(two, line(1, "b") + line(3, "d") + "2026-11-26T04:00:19.000+00:00 1 info not whole");
  std::vector<std::string> texts = read_all(reader);
  ASSERT_EQ(texts.size(), 6u);
  std::string order;
  for (const std::string& text : texts) order += text.back();
  EXPECT_EQ(order, "abcnde");
  EXPECT_TRUE(read_all(reader).empty());
  add(two, ".\n");
  EXPECT_EQ(read_all(reader).size(), 1u);
  add(one, line(6, "f"));
  fs::rename(one, one + ".1");
  add(one, line(7, "g"));
  texts = read_all(reader);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].back(), 'f');
  EXPECT_EQ(texts[1].back(), 'g');
}

TEST(Logs, F10_of_up_have_a_step_that_fails_without_being_asked_to) {
  const std::string data = directory() / "up_with_a_failing_step";
  Beside up({"up", "--data", data, "--workers", "1", "--json"});
  ASSERT_TRUE(wait_until([&] { return up.out().find("\"dsn\"") != std::string::npos; })) << up.err();
  const std::string plan =
      R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "fail", "inputs": {"message": "No water."}}]})";
  const std::string run = cairn_ok({"start", "plan_runner", "--input", plan, "--data", data, "--json"}).json()["run"];
  EXPECT_TRUE(wait_until([&] {
    const std::string log = cairn({"logs", "--data", data}).out;
    return log.find("An attempt failed: No water.") != std::string::npos && log.find("run=" + run) != std::string::npos;
  }));
  EXPECT_EQ(up.err().find("An attempt failed"), std::string::npos) << "a terminal hears of warnings alone";
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0) << up.err();
  cairn_ok({"down", "--data", data});
}

TEST(Logs, of_up_are_kept_filtered_and_followed) {
  const std::string data = directory() / "up_with_logs";
  expect_refused(cairn({"logs", "--data", data}), 3, "there are none");
  setenv("CAIRN_LOG", "info", 1);
  Beside up({"up", "--data", data, "--workers", "2", "--listen", "127.0.0.1:0", "--json"});
  unsetenv("CAIRN_LOG");
  ASSERT_TRUE(wait_until([&] { return up.out().find("\"listen\"") != std::string::npos; })) << up.err();
  const std::string folder = data + "/logs";
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder); }));
  struct stat made {};
  ASSERT_EQ(stat(folder.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777U, 0700U);
  const std::string file = folder + "/worker-1.log";
  add(file, "2026-11-26T04:05:06.250+00:00 77 error of a worker\n2026-11-26T04:05:07.250+00:00 78 info of another\n");
  Beside follower({"logs", "--data", data, "--follow", "--level", "warn"});
  ASSERT_TRUE(wait_until([&] { return follower.out().find("of a worker") != std::string::npos; }));
  add(file, "2099-11-26T04:05:08.250+00:00 79 error later\n2099-11-26T04:05:08.250+00:00 79 info quieter\n");
  ASSERT_TRUE(wait_until([&] { return follower.out().find("later") != std::string::npos; }));
  EXPECT_EQ(follower.out().find("quieter"), std::string::npos);
  EXPECT_EQ(follower.out().find("of another"), std::string::npos);
  follower.signal(SIGINT);
  EXPECT_EQ(follower.wait(), 0);
  const Ran only = cairn_ok({"logs", "--data", data, "--worker", "78", "--json"});
  ASSERT_EQ(only.lines().size(), 1u) << only.out;
  EXPECT_EQ(only.lines()[0]["message"], "of another");
  EXPECT_EQ(cairn_ok({"logs", "--data", data, "--worker", "999999999"}).err, "cairn: No line of the logs matches.\n");
  expect_refused(cairn({"logs", "--data", data, "--level", "loud"}), 2, "--level");
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
  cairn_ok({"down", "--data", data});
}

}  // namespace
}  // namespace cairn::program
