// The serial executor: one task at a time, in order, on the thread that has begun to drain.
#include "workers/runtime/serial_executor.hpp"

#include <atomic>
#include <boost/asio.hpp>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace cairn {
namespace {

namespace asio = boost::asio;

TEST(SerialExecutor, what_is_added_meanwhile_is_run_by_the_same_thread_afterwards) {
  asio::io_context io;
  SerialExecutor executor([&](const SerialExecutor::Work& work) { asio::post(io, work); });
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  const auto note = [&](int n) {
    order.push_back(n);
    threads.push_back(std::this_thread::get_id());
  };
  executor.run([&] {
    executor.post([&] { note(2); });
    executor.run([&] { note(3); });
    EXPECT_TRUE(executor.has_more());
    note(1);
  });
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(threads, std::vector<std::thread::id>(3, std::this_thread::get_id()));
  EXPECT_FALSE(executor.has_more());
  EXPECT_EQ(io.poll(), 0u);
}

TEST(SerialExecutor, later_is_the_loops_where_it_is_nobodys_turn) {
  asio::io_context io;
  SerialExecutor executor([&](const SerialExecutor::Work& work) { asio::post(io, work); });
  int done = 0;
  executor.post([&] { ++done; });
  executor.run([&] { ++done; });  // behind it
  EXPECT_EQ(done, 0);
  io.run();
  EXPECT_EQ(done, 2);
}

TEST(SerialExecutor, never_run_two_at_once_and_lose_none) {
  asio::io_context io;
  auto work = asio::make_work_guard(io);
  SerialExecutor executor([&](const SerialExecutor::Work& handed) { asio::post(io, handed); });
  std::atomic<int> inside{0};
  int done = 0;
  const auto step = [&] {
    EXPECT_EQ(++inside, 1);
    ++done;
    --inside;
  };
  std::vector<std::thread> threads;
  for (int n = 0; n < 2; ++n) threads.emplace_back([&] { io.run(); });
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&, n] {
      for (int i = 0; i < 10'000; ++i) n % 2 == 0 ? executor.run(step) : executor.post(step);
    });
  for (std::size_t n = 2; n < threads.size(); ++n) threads[n].join();
  work.reset();
  for (std::size_t n = 0; n < 2; ++n) threads[n].join();
  EXPECT_EQ(done, 40'000);
}

// A task may post more work while it is destroyed, as a coroutine does.
TEST(SerialExecutor, closed_ones_destroy_what_waits_and_what_comes) {
  int run = 0;
  int destroyed = 0;
  SerialExecutor executor([](const SerialExecutor::Work&) {});
  const auto counted = [&](const SerialExecutor::Work& then) {
    return std::shared_ptr<void>(nullptr, [&, then](void*) {
      ++destroyed;
      if (then) executor.post(then);
    });
  };
  executor.post([&, what = counted([&] { ++run; })] { ++run; });
  executor.close();
  EXPECT_EQ(destroyed, 1);
  executor.run([&, what = counted({})] { ++run; });
  EXPECT_EQ(destroyed, 2);
  EXPECT_EQ(run, 0);
}

}  // namespace
}  // namespace cairn
