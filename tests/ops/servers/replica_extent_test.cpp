// The extent of an audit on a replica.
#include "ops/commands/audit/replica_extent.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr TimeUs hour_us = 3'600'000'000;
constexpr TimeUs audited_at = 1'700'000'000'000'000;

TEST(ReplicaExtent, one_that_stopped_following_an_hour_ago_is_refused) {
  EXPECT_TRUE(check_lag({audited_at, audited_at - hour_us, false})) << "an hour is allowed";
  const Status behind = check_lag({audited_at, audited_at - hour_us - 1, false});
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code, Code::unavailable);
}

TEST(ReplicaExtent, one_of_a_quiet_primary_follows_however_old_its_last_commit_is) {
  EXPECT_TRUE(check_lag({audited_at, audited_at - 1'000 * hour_us, true}));
  EXPECT_NE(extent_text({audited_at, audited_at, true}).find("follows"), std::string::npos);
  EXPECT_EQ(extent_text({audited_at, audited_at, false}).find("follows"), std::string::npos);
}

TEST(ReplicaExtent, one_that_does_not_know_how_far_it_came_is_refused) {
  const Result<TimeUs> unknown = audited_until({audited_at, 0, true});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::unavailable);
  EXPECT_LT(*audited_until({audited_at, audited_at, true}), audited_at);
}

}  // namespace
}  // namespace cairn
