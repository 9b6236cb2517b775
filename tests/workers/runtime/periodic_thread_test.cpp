// Threads whose work throws: neither they nor the process end by it.
#include "workers/runtime/periodic_thread.hpp"

#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <gtest/gtest.h>
#include <new>
#include <stdexcept>

#include "tests/waiting.hpp"
#include "workers/ports/threads.hpp"

namespace cairn {
namespace {

TEST(PeriodicThread, H24_work_that_throws_is_called_again_after_a_pause) {
  std::atomic<int> calls = 0;
  const auto began = std::chrono::steady_clock::now();
  const PeriodicThread thread([&]() -> long {
    if (++calls == 1) throw std::bad_alloc();
    return 10;
  });
  EXPECT_TRUE(test::wait_until([&] { return calls >= 3; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1)) << "it does not spin meanwhile";
}

TEST(PeriodicThread, the_pause_after_what_was_thrown_ends_with_it) {
  const auto began = std::chrono::steady_clock::now();
  {
    std::atomic<int> calls = 0;
    const PeriodicThread thread([&]() -> long {
      ++calls;
      throw 1;  // no exception
    });
    EXPECT_TRUE(test::wait_until([&] { return calls == 1; }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(900));
}

TEST(PeriodicThread, a_call_that_waits_is_interrupted_at_the_end) {
  std::atomic<bool> is_over = false;
  {
    const PeriodicThread thread(
        [&]() -> long {
          is_over.wait(false);
          return 0;
        },
        [&] {
          is_over = true;
          is_over.notify_all();
        });
  }
  EXPECT_TRUE(is_over);
}

TEST(ThreadPool, H24_its_threads_go_on_after_work_that_throws) {
  ThreadPool pool(1);
  std::atomic<bool> is_done = false;
  boost::asio::post(pool.context(), [] { throw std::runtime_error("of a test"); });
  boost::asio::post(pool.context(), [&] { is_done = true; });
  EXPECT_TRUE(test::wait_until([&] { return is_done.load(); }));
  pool.join();
}

}  // namespace
}  // namespace cairn
