// The time that Store tells, and its wake-ups.
#include <thread>

#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;

class WakeTest : public StoreTest {};

TEST_P(WakeTest, time_does_not_go_back) {
  TimeUs last = store().database_time();
  EXPECT_GT(last, TimeUs{1'600'000'000'000'000});
  for (int n = 0; n < 1'000; ++n) {
    const TimeUs now = store().database_time();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST_P(WakeTest, a_wake_up_reaches_a_waiter_of_this_process) {
  std::thread waker([&] { store().wake(); });
  bool came = false;
  for (int n = 0; n < 100 && !came; ++n) came = store().await_wake(100);
  EXPECT_TRUE(came);
  waker.join();
}

TEST_P(WakeTest, a_wake_up_before_the_wait_is_not_lost) {
  store().wake();
  EXPECT_TRUE(store().await_wake(10'000));
}

TEST_P(WakeTest, a_wait_ends_without_a_wake_up) {
  store().await_wake(50);  // listening may begin with a hint of its own
  while (store().await_wake(50)) {
  }
  EXPECT_FALSE(store().await_wake(1));
}

INSTANTIATE_TEST_SUITE_P(Stores, WakeTest, testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
