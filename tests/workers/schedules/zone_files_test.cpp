// Time zones of the system: names, and files that change while a process runs.
#include "workers/schedules/zone_files.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

TEST(ZoneFiles, a_zone_that_does_not_exist_is_refused_with_the_nearest_name) {
  ZoneFiles zones;
  EXPECT_EQ(zones.find("Europe/Berln").error().message,
            "Expected a time zone of the system's database, but found \"Europe/Berln\" (did you mean Europe/Berlin?).");
  for (const std::string name :
       {"", "../../../etc/passwd", "/etc/localtime", "Europe", "zone1970.tab", "a b", "Europe/"})
    EXPECT_EQ(zones.find(name).error().code, Code::not_found) << name;
  EXPECT_TRUE(zones.find("UTC").ok());
  EXPECT_TRUE(zones.find("Europe/Berlin").ok());
}

TEST(ZoneFiles, a_file_that_has_changed_is_read_again) {
  const fs::path folder = fs::temp_directory_path() / ("cairn_zones_" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::copy_file("/usr/share/zoneinfo/Europe/Berlin", folder / "Home", fs::copy_options::overwrite_existing);
  ZoneFiles zones(folder.string());
  const auto before = *zones.find("Home");
  zones.check_for_changes();
  EXPECT_EQ((*zones.find("Home"))->mark, before->mark);
  fs::copy_file("/usr/share/zoneinfo/America/New_York", folder / "New");
  fs::rename(folder / "New", folder / "Home");  // as a package is upgraded
  EXPECT_EQ((*zones.find("Home"))->mark, before->mark) << "until it is looked at";
  zones.check_for_changes();
  const auto after = *zones.find("Home");
  EXPECT_NE(after->mark, before->mark);
  EXPECT_EQ(after->zone.piece_at(1'800'000'000).offset, -5 * 3'600);
  fs::remove_all(folder);
  zones.check_for_changes();
  EXPECT_EQ(zones.find("Home").error().code, Code::not_found);
}

}  // namespace
}  // namespace cairn::test
