// Faults of every kind one after another, chosen by a seed: CAIRN_SEED=N repeats a mixture.
#include <csignal>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "storage/postgres/connection.hpp"
#include "tests/faults/load.hpp"
#include "tests/faults/server.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;

class Mixture {
 public:
  Mixture(Load& load, OwnServer& server, test::CuttingProxy& proxy, std::uint64_t seed)
      : load_(load), server_(server), proxy_(proxy), random_(seed) {}

  void inject() {
    switch (random_() % 8) {
      case 0:
      case 1:
        load_.replace_worker(random_());
        break;
      case 2:
        stop_worker();
        break;
      case 3:
        proxy_.cut_next_commit(test::CuttingProxy::Cut::before_it_arrives);
        break;
      case 4:
        proxy_.cut_next_commit(test::CuttingProxy::Cut::after_it_landed);
        break;
      case 5:
        restart_server();
        break;
      case 6:
        load_.start_poison(random_() % 2 == 0 ? "crash" : "not_utf8");
        break;
      default:
        load_.start_again(2);
        break;
    }
  }

 private:
  void stop_worker() {
    Beside& worker = load_.worker(random_());
    worker.signal(SIGSTOP);
    std::this_thread::sleep_for(milliseconds(random_() % 2'000));
    worker.signal(SIGCONT);
  }
  void restart_server() {
    load_.lose(Unwritten::claims, [&] {
      server_.kill_at_once();
      server_.start();
    });
  }

  Load& load_;
  OwnServer& server_;
  test::CuttingProxy& proxy_;
  std::mt19937_64 random_;
};

TEST(Faults, a_mixture_by_seed) {
  const std::uint64_t seed = fault_seed();
  std::cout << "CAIRN_SEED=" << seed << std::endl;
  OwnServer server("mixed");
  test::CuttingProxy proxy(server.dsn());
  Load load({.name = "mixture", .worker_dsn = proxy.dsn(), .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  Mixture mixture(load, server, proxy, seed);
  const int times = is_full() ? 60 : 8;
  load.under(times, milliseconds(200), [&] { mixture.inject(); });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("a mixture, seed " + std::to_string(seed), times);
}

}  // namespace
}  // namespace cairn::program
