// The driver of a gateway, with its real threads: when it waits for notifications, and that it ends at once.
#include "workers/gateway/gateway_driver.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>

#include "tests/storage/forwarding_store.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/gateway/gateway_rig.hpp"

namespace cairn::test {
namespace {

Ask waiting_ask(TimeUs wait_us) {
  Ask ask;
  ask.caller = "token:ann";
  ask.worker = worker_with("py.a");
  ask.max = 1;
  ask.wait_us = wait_us;
  return ask;
}

class GatewayDriverTest : public ::testing::Test {
 protected:
  GatewayDriverTest() : whole_(make_memory_store(1)), store_(*whole_), catalogue_(small_catalogue()) {
    EXPECT_TRUE(client_with_graphs(*whole_, *catalogue_)->add_graph(twice));
  }

  std::unique_ptr<Store> whole_;
  ListenedStore store_;
  std::unique_ptr<Catalogue> catalogue_;
};

TEST_F(GatewayDriverTest, listens_to_other_processes_while_a_worker_waits_and_no_longer) {
  GatewayDriver driver(store_, catalogue_->tools->table(), gateway_options());
  EXPECT_EQ(store_.waits, 0) << "no one asked yet";
  for (int times = 0; times < 2; ++times) {
    std::atomic<bool> is_answered{false};
    driver.ask(waiting_ask(200'000), [&](const AskAnswer&) { is_answered = true; });
    EXPECT_TRUE(wait_until([&] { return is_answered.load(); }));
    EXPECT_TRUE(wait_until([&] { return store_.last == NotifiedBy::any_process; }));
    EXPECT_TRUE(wait_until([&] { return store_.last == NotifiedBy::this_process; }));
  }
}

TEST_F(GatewayDriverTest, ends_at_once_while_it_waits_for_notifications) {
  auto fastest = std::chrono::steady_clock::duration::max();
  for (int times = 0; times < 3; ++times) {
    const int before = store_.waits;
    auto driver = std::make_unique<GatewayDriver>(store_, catalogue_->tools->table(), gateway_options());
    driver->ask(waiting_ask(60'000'000), [](const AskAnswer&) {});
    EXPECT_TRUE(wait_until([&] { return store_.waits > before; }));
    const auto asked = std::chrono::steady_clock::now();
    driver.reset();
    fastest = std::min(fastest, std::chrono::steady_clock::now() - asked);
  }
  EXPECT_LT(fastest, std::chrono::milliseconds(400));
}

}  // namespace
}  // namespace cairn::test
