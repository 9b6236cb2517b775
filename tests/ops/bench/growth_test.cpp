// The growth of what a soak samples, as it is judged, and the room that full tables leave.
#include <gtest/gtest.h>
#include <vector>

#include "ops/bench/rig/copies.hpp"
#include "ops/bench/rig/data_disk.hpp"
#include "ops/bench/rig/flatness.hpp"

namespace cairn::program {
namespace {

TEST(BenchGrowth, is_seen_where_it_comes_by_steps_and_not_between_two_vacuums) {
  const std::vector<double> steps = {1, 1.6, 1.7, 1.7, 1.7, 2.1, 2.2, 2.2, 2.2, 2.8, 2.8, 2.8, 3.2, 3.2};
  EXPECT_GT(growth_once_warm(steps, {0.25, 0.1}), 1.5);
  std::vector<double> saw, level, warmed, fallen;
  for (int at = 0; at < 40; ++at) {
    saw.push_back(3'000 + 500 * (at % 8));
    level.push_back(2);
    warmed.push_back(at < 10 ? 1 + 0.1 * at : 2);
    fallen.push_back(10 - 0.1 * at);
  }
  EXPECT_EQ(growth_once_warm(saw, {2'500, 0.25}), 1);
  for (const std::vector<double>& flat : {level, warmed, fallen}) EXPECT_EQ(growth_once_warm(flat, {0.25, 0.1}), 1);
}

TEST(BenchGrowth, is_refused_where_it_would_leave_less_than_five_gigabytes_of_the_disk) {
  constexpr std::int64_t gigabyte = 1'000'000'000;
  EXPECT_TRUE(leaves_room("/data", 15 * gigabyte, 10 * gigabyte));
  EXPECT_TRUE(leaves_room("/data", 15 * gigabyte, bytes_of_copies(1'000'000)));
  const Status refused = leaves_room("/data", 15 * gigabyte, 10 * gigabyte + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::limit);
  EXPECT_EQ(refused.error().message,
            "Expected 5000 MB to stay free at /data, where the server's data is, but 15000 MB are free and the copies "
            "of runs take 10000 MB more: ask for fewer, or free some.");
  EXPECT_FALSE(leaves_room("/data", 4 * gigabyte, 0)) << "between two portions, where others fill the disk";
}

}  // namespace
}  // namespace cairn::program
