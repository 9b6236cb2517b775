// Faults of every kind one after another, chosen by a seed: CAIRN_SEED=N repeats a mixture.
#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "storage/postgres/administration.hpp"
#include "tests/faults/load.hpp"
#include "tests/faults/rough_path.hpp"
#include "tests/faults/server.hpp"
#include "tests/ops/small_disk.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;

class Mixture {
 public:
  Mixture(Load& load, OwnServer& server, const SmallDisk& disk, test::CuttingProxy& proxy, RoughPath& path,
          std::uint64_t seed)
      : load_(load),
        server_(server),
        disk_(disk),
        proxy_(proxy),
        path_(path),
        random_(seed),
        kinds_(kinds_of(disk.is_there(), OwnServer::can_set_clock())) {}

  void inject() {
    const auto& [name, how] = kinds_[random_() % kinds_.size()];
    std::cout << name << std::endl;
    (this->*how)();
  }

 private:
  struct Kind {
    const char* name;
    void (Mixture::*how)();
  };
  // Those that this machine can have: a disk of its own needs root, a clock of its own a library.
  static std::vector<Kind> kinds_of(bool has_disk, bool has_clock) {
    std::vector<Kind> kinds = {
        {"a worker is killed", &Mixture::kill_worker},
        {"a worker is killed", &Mixture::kill_worker},
        {"a worker sleeps", &Mixture::stop_worker},
        {"a worker sleeps past its time-to-live", &Mixture::stop_worker_for_long},
        {"a commit does not arrive", &Mixture::cut_before},
        {"a commit's answer is lost", &Mixture::cut_after},
        {"the server is killed", &Mixture::restart_server},
        {"its postmaster is killed", &Mixture::kill_postmaster},
        {"half of its backends are killed", &Mixture::kill_backends},
        {"its connections are terminated", &Mixture::terminate},
        {"it takes no writes", &Mixture::forbid_writes},
        {"it stands still", &Mixture::freeze},
        {"a transaction sleeps on rows", &Mixture::lock_rows},
        {"the network swallows", &Mixture::swallow},
        {"the network resets", &Mixture::reset},
        {"the network is slow", &Mixture::delay},
        {"a tool misbehaves", &Mixture::poison},
        {"a start comes again", &Mixture::start_again},
    };
    // Longer than all others of a short mixture together.
    if (!is_full()) std::erase_if(kinds, [](const Kind& kind) { return kind.how == &Mixture::stop_worker_for_long; });
    if (has_disk) kinds.push_back({"the server's disk is full", &Mixture::fill_disk});
    if (has_clock) kinds.push_back({"the server's clock is set", &Mixture::set_clock});
    return kinds;
  }

  static void pause(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }
  void kill_worker() { load_.replace_worker(random_()); }
  void stop_worker(int ms) {
    const std::size_t n = random_();
    load_.strike({n}, [&] {
      load_.worker(n).signal(SIGSTOP);
      pause(ms);
      load_.worker(n).signal(SIGCONT);
    });
  }
  void stop_worker() { stop_worker(static_cast<int>(random_() % 2'000)); }
  void stop_worker_for_long() { stop_worker(12'000); }
  void cut(test::CuttingProxy::Cut where) {
    load_.strike({0}, [&] { proxy_.cut_next_commit(where); });
  }
  void cut_before() { cut(test::CuttingProxy::Cut::before_it_arrives); }
  void cut_after() { cut(test::CuttingProxy::Cut::after_it_landed); }
  void restart_server() {
    load_.lose(Unwritten::claims, [&] {
      server_.kill_at_once();
      server_.start();
    });
  }
  void kill_postmaster() {
    load_.lose(Unwritten::claims, [&] {
      server_.kill_postmaster();
      server_.start();
    });
  }
  void kill_backends() {
    load_.lose(Unwritten::claims, [&] { server_.kill_backends(2); });
  }
  void terminate() {
    test::ask(server_.dsn(),
              "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> "
              "pg_backend_pid()");
  }
  void forbid_writes() {
    server_.set("default_transaction_read_only", "on");
    pause(1'000);
    Administration owner(server_.dsn(), "operator");
    owner.execute("set default_transaction_read_only = off");
    owner.execute("alter system reset default_transaction_read_only");
    owner.execute("select pg_reload_conf()");
  }
  void fill_disk() {
    load_.lose(Unwritten::claims, [&] {
      disk_.fill();
      pause(1'000);
      disk_.empty();
      if (server_.pid() == 0) server_.start();
    });
  }
  void set_clock() {
    server_.set_clock(random_() % 2 == 0 ? 3 : -3'600);
    pause(1'500);
    server_.set_clock(0);
  }
  void freeze() {
    server_.signal_all(SIGSTOP);
    pause(1'000);
    server_.signal_all(SIGCONT);
  }
  void lock_rows() {
    Administration writer(server_.dsn(), "sleeper");
    writer.execute("begin; select run_id from cairn.run where status = 'running' order by run_id limit 2 for update");
    pause(1'000);
    writer.execute("rollback");
  }
  void swallow() {
    load_.strike({1}, [&] {
      path_.swallow(true);
      pause(2'000);
      path_.swallow(false);
    });
  }
  void reset() {
    load_.strike({1}, [&] {
      path_.reset_within(40'000);
      pause(500);
      path_.reset_within(0);
    });
  }
  void delay() {
    load_.strike({1}, [&] {
      path_.delay(milliseconds(20));
      pause(1'000);
      path_.delay(milliseconds(0));
    });
  }
  void poison() {
    constexpr auto ways = std::to_array<const char*>({"crash", "not_utf8", "deep", "memory", "large"});
    load_.start_poison(ways[random_() % ways.size()]);
  }
  void start_again() { load_.start_again(2); }

  Load& load_;  // whose worker 0 is at the proxy, and worker 1 at the path
  OwnServer& server_;
  const SmallDisk& disk_;
  test::CuttingProxy& proxy_;
  RoughPath& path_;
  std::mt19937_64 random_;
  std::vector<Kind> kinds_;
};

TEST(Faults, a_mixture_by_seed) {
  const std::uint64_t seed = fault_seed();
  std::cout << "CAIRN_SEED=" << seed << std::endl;
  const SmallDisk disk("mixed_data", 400);
  OwnServer server("mixed", {.place = disk.is_there() ? disk.place() : std::filesystem::path(),
                             .has_clock = OwnServer::can_set_clock()});
  test::CuttingProxy proxy(server.dsn());
  RoughPath path(server.dsn());
  Load load({.name = "mixture", .worker_dsns = {proxy.dsn(), path.dsn(), server.dsn()}, .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  Mixture mixture(load, server, disk, proxy, path, seed);
  const int times = is_full() ? 90 : 10;
  load.under(times, milliseconds(200), [&] { mixture.inject(); });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("a mixture, seed " + std::to_string(seed), times);
}

}  // namespace
}  // namespace cairn::program
