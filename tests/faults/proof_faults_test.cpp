// The proof of the history under load: `verify` and `rebuild` that are killed in the midst of it, and checkpoints
// outside of the database that cannot be written.
#include <csignal>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "tests/faults/load.hpp"
#include "tests/faults/server.hpp"
#include "tests/ops/small_disk.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Each third one is killed; the others find nothing wrong and have nothing to make again.
TEST(Faults, verify_and_rebuild_that_are_killed_under_load) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  Load load({.name = "audited"});
  load.start_plans(6);
  load.measure_before();
  std::mt19937_64 random(fault_seed());
  const std::vector<Arguments> commands = {{"verify", "--all"}, {"rebuild", "--check"}, {"rebuild"}};
  int killed = 0;
  load.measure_during([&] {
    for (int n = 0; n < 45; ++n) {
      Beside audit(load.with_dsn(commands[static_cast<std::size_t>(n) % commands.size()]));
      if (n % 9 >= 6) {
        std::this_thread::sleep_for(milliseconds(30 + random() % 500));
        audit.signal(SIGKILL);
        ++killed;
      } else {
        EXPECT_EQ(audit.wait(), 0) << audit.out() << audit.err();
      }
      load.start_plan();
    }
  });
  load.fault_ended();
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGKILL of verify and rebuild, beside as many that end", killed);
}

std::uintmax_t bytes_below(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".jsonl") bytes += entry.file_size();
  return bytes;
}

// A disk of the checkpoints on which none can be written for a while. Runs go on; the checkpoints that are missing are
// written when they can be, so that the files are whole.
void break_checkpoints(const std::string& name, const std::string& fault,
                       const std::function<void(const SmallDisk&)>& breaks,
                       const std::function<void(const SmallDisk&)>& mends) {
  const SmallDisk disk(name + "_checkpoints", 4);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a disk of its own needs root";
  OwnServer server(name);  // whose runs no other folder's key has signed
  Load load({.name = name, .dsn = server.dsn(), .checkpoints = disk.place()});
  load.start_plans(6);
  load.measure_before();
  EXPECT_TRUE(wait_until([&] { return bytes_below(disk.place()) > 0; }, seconds(30)));
  load.measure_during([&] {
    breaks(disk);
    EXPECT_TRUE(wait_until([&] { return load.has_said("Expected to append a checkpoint"); }, seconds(60)));
    std::this_thread::sleep_for(seconds(5));
  });
  const std::uintmax_t before = bytes_below(disk.place());
  mends(disk);
  load.fault_ended();
  load.measure_after();
  load.start_plans(2);
  EXPECT_TRUE(wait_until([&] { return bytes_below(disk.place()) > before; }, seconds(30)));
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled(fault, 1);
}

TEST(Faults, the_disk_of_the_checkpoints_is_full_for_a_while) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_checkpoints(
      "unsigned", "full disk of the checkpoints", [](const SmallDisk& disk) { disk.fill(); },
      [](const SmallDisk& disk) { disk.empty(); });
}

TEST(Faults, the_folder_of_the_checkpoints_may_only_be_read_for_a_while) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_checkpoints(
      "unsignable", "the folder of the checkpoints mounted read-only",
      [](const SmallDisk& disk) { disk.mount_read_only(true); },
      [](const SmallDisk& disk) { disk.mount_read_only(false); });
}

}  // namespace
}  // namespace cairn::program
