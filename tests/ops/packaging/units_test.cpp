// The units of systemd, as systemd-analyze sees them: sound, and with little left that they may do.
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

}  // namespace
}  // namespace cairn::program
