// The units of systemd, as systemd-analyze sees them: sound, and with little left that they may do.
#include <cstdlib>
#include <gtest/gtest.h>
#include <regex>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

const fs::path units = testing::source_dir() + "/ops/packaging/systemd";

std::string with_program(const fs::path& unit) {
  return std::regex_replace(read_file(unit), std::regex("/usr/bin/cairn\\b"), testing::cairn_program());
}

// The units in a folder of the test's, with the program where it was built.
Arguments copied_units(const std::string& ending) {
  Arguments copied;
  fs::create_directories(directory() / "units");
  for (const auto& entry : fs::directory_iterator(units)) {
    const fs::path copy = write_file(fs::path("units") / entry.path().filename(), with_program(entry.path()));
    if (copy.extension() == ending || ending.empty()) copied.push_back(copy);
  }
  return copied;
}

Ran analyze(Arguments arguments, const Arguments& files) {
  arguments.insert(arguments.end(), files.begin(), files.end());
  return run_program("/usr/bin/systemd-analyze", arguments);
}

TEST(Units, are_sound) {
  const Arguments files = copied_units("");
  EXPECT_EQ(files.size(), 6u);
  const Ran ran = analyze({"verify", "--man=no"}, files);
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out + ran.err, "");
}

TEST(Units, let_a_service_do_little) {
  const Arguments services = copied_units(".service");
  EXPECT_EQ(services.size(), 4u);
  for (const std::string& service : services) {
    const Ran ran = analyze({"security", "--offline=yes", "--no-pager", "--threshold=15"}, {service});  // of 100
    EXPECT_EQ(ran.exit, 0) << service << "\n" << ran.out << ran.err;
    EXPECT_NE(ran.out.find("Overall exposure level"), std::string::npos) << ran.out;
  }
}

TEST(Units, use_commands_and_options_that_exist_and_pass_secrets_as_credentials) {
  static const std::regex started("/usr/bin/cairn ([a-z]+)([^\\n]*(?:\\\\\\n[^\\n]*)?)");
  static const std::regex option("--[a-z-]+");
  int commands = 0;
  for (const auto& entry : fs::directory_iterator(units)) {
    const std::string text = read_file(entry.path());
    if (entry.path().extension() == ".service") {
      EXPECT_NE(text.find("DynamicUser=yes"), std::string::npos) << entry.path();
      EXPECT_NE(text.find("ProtectSystem=strict"), std::string::npos) << entry.path();
      EXPECT_NE(text.find("LoadCredential=pgpass:"), std::string::npos) << entry.path();
    }
    std::smatch found;
    if (!std::regex_search(text, found, started)) continue;
    ++commands;
    const std::string help = cairn_ok({found[1].str(), "--help"}).out;
    std::smatch standard;
    std::regex_search(text, standard, std::regex("_OPTIONS=([^\\n]*)"));
    const std::string words = found[2].str() + standard[1].str();
    for (std::sregex_iterator at(words.begin(), words.end(), option), end; at != end; ++at)
      EXPECT_NE(help.find(at->str()), std::string::npos) << entry.path() << " " << at->str();
  }
  EXPECT_EQ(commands, 4);
}

// Runs the commands that a unit starts before its own one, each in a shell, with the folders it is given in `place`.
void prepare(const fs::path& unit, const fs::path& place) {
  static const std::regex before("ExecStartPre=/bin/sh -c '([^'\\n]*)'");
  const std::string text = read_file(unit);
  std::string script = "set -e; umask 0077";
  for (std::sregex_iterator at(text.begin(), text.end(), before), end; at != end; ++at) script += "; " + at->str(1);
  setenv("CREDENTIALS_DIRECTORY", (place / "credentials").c_str(), 1);
  setenv("RUNTIME_DIRECTORY", (place / "run").c_str(), 1);
  setenv("STATE_DIRECTORY", place.c_str(), 1);
  const Ran ran = run_program("/bin/sh", {"-c", script});
  for (const char* variable : {"CREDENTIALS_DIRECTORY", "RUNTIME_DIRECTORY", "STATE_DIRECTORY"}) unsetenv(variable);
  EXPECT_EQ(ran.exit, 0) << unit << ran.err;
}

// libpq passes over a file of passwords that a group may read.
TEST(Units, give_the_driver_a_file_of_passwords_that_is_their_user_s_alone) {
  int services = 0;
  for (const auto& entry : fs::directory_iterator(units)) {
    if (entry.path().extension() != ".service") continue;
    const fs::path place = directory() / ("unit" + std::to_string(++services));
    fs::create_directories(place / "credentials");
    fs::create_directories(place / "run");
    fs::permissions(write_file(place / "credentials" / "pgpass", "*:*:*:*:secret\n"), fs::perms(0440));
    prepare(entry.path(), place);
    EXPECT_EQ(read_file(place / "run" / "pgpass"), "*:*:*:*:secret\n") << entry.path();
    EXPECT_EQ(fs::status(place / "run" / "pgpass").permissions(), fs::perms(0600)) << entry.path();
    const std::string text = read_file(entry.path());
    EXPECT_NE(text.find("RuntimeDirectory=%N\n"), std::string::npos) << entry.path();
    EXPECT_NE(text.find("PGPASSFILE=%t/%N/pgpass"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(services, 4);
}

// The first night on a large database took longer than it might, and each night left what it had written by then.
TEST(Units, an_archive_takes_as_long_as_it_takes_and_leaves_no_part_of_a_file) {
  const fs::path unit = units / "cairn-archive.service";
  EXPECT_NE(read_file(unit).find("\nTimeoutStartSec=infinity\n"), std::string::npos);
  const fs::path place = directory() / "archive_unit";
  for (const char* folder : {"archive", "credentials", "run"}) fs::create_directories(place / folder);
  write_file(place / "credentials" / "pgpass", "");
  write_file(place / "archive" / "20261128T030000Z.jsonl.zst", "an archive");
  write_file(place / "archive" / "20261129T030000Z.jsonl.zst.part", "a part of one");
  prepare(unit, place);
  EXPECT_TRUE(fs::exists(place / "archive" / "20261128T030000Z.jsonl.zst"));
  EXPECT_FALSE(fs::exists(place / "archive" / "20261129T030000Z.jsonl.zst.part"));
}

// It archived all runs 90 days after their end, also those of graphs that keep them for longer, and the guide enabled
// it.
TEST(Units, the_archive_leaves_the_runs_of_graphs_with_a_policy_to_it_and_is_enabled_by_no_installation) {
  const std::string unit = read_file(units / "cairn-archive.service");
  EXPECT_NE(unit.find("/usr/bin/cairn archive --without-keep "), std::string::npos) << unit;
  const std::string guide = read_file(testing::source_dir() + "/ops/guide/operations.md");
  const std::size_t enable = guide.find("\nsystemctl enable --now ");
  ASSERT_NE(enable, std::string::npos);
  const std::string line = guide.substr(enable + 1, guide.find('\n', enable + 1) - enable - 1);
  EXPECT_NE(line.find("cairn-verify.timer"), std::string::npos) << line;
  EXPECT_EQ(line.find("cairn-archive"), std::string::npos) << line;
}

}  // namespace
}  // namespace cairn::program
