// Processes that stand still for a while: `cairn serve` before workers over HTTP, backends of the server, its
// postmaster.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <thread>

#include "tests/faults/load.hpp"
#include "tests/faults/server.hpp"
#include "tests/ops/free_port.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string remote_worker = R"(
import os, time
from cairn import Worker

worker = Worker(queues=["remote"], concurrency=8)

@worker.handler("remote.note")
def note(settings, context):
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(f"{context.key} {context.attempt}\n")
    time.sleep(0.1)
    return {"noted": 1}

worker.run()
)";

constexpr const char* remote_graph = R"({"name": "remote", "start": "a", "limits": {"steps": 20},
  "channels": {"noted": {"reducer": "sum"}}, "nodes": {
  "a": {"do": "remote.note", "queue": "remote", "labels": ["ok"], "on": {"ok": "b"}},
  "b": {"do": "remote.note", "queue": "remote", "labels": ["ok"], "on": {"ok": "c"}},
  "c": {"do": "remote.note", "queue": "remote", "labels": ["ok"], "on": {"ok": "finish"}},
  "finish": {"end": {"status": "done", "output": {"noted": {"$": "noted"}}}}}})";

// `cairn serve` and two workers over HTTP on the load's database, with a ledger of their own.
class Remotes {
 public:
  explicit Remotes(const Load& load) : load_(load), ledger_(directory() / (load.name() + "_remote.ledger")) {
    cairn_ok(load.with_dsn({"graph", "add", write_file("remote.json", remote_graph)}));
    const std::string port = free_port();
    serve_ = Beside(load.with_dsn({"serve", "--json", "--listen", "127.0.0.1:" + port}));
    EXPECT_TRUE(wait_until([&] { return serve_.out().ends_with('\n'); })) << serve_.err();
    const Arguments words = {"CAIRN_URL=http://127.0.0.1:" + port, "LEDGER=" + ledger_.string(),
                             "PYTHONPATH=" + testing::source_dir() + "/workers/clients/python", "python3",
                             write_file("remote.py", remote_worker)};
    for (int n = 0; n < 2; ++n) workers_.emplace_back("/usr/bin/env", words);
  }

  void start_runs(int count) {
    std::string inputs;
    for (int n = 0; n < count; ++n) inputs += "{\"n\": " + std::to_string(started_++) + "}\n";
    cairn_ok(load_.with_dsn({"batch", "remote", "--inputs", write_file("remote.jsonl", inputs), "--no-work"}));
  }

  void stand_still(seconds span) {
    serve_.signal(SIGSTOP);
    std::this_thread::sleep_for(span);
    serve_.signal(SIGCONT);
  }

  // Ends the processes, then expects: each run done with all its steps, no attempt executed or ended twice.
  void expect_kept() {
    for (Beside& worker : workers_) worker.signal(SIGTERM);
    for (Beside& worker : workers_) EXPECT_EQ(worker.wait(), 0) << worker.err();
    serve_.signal(SIGTERM);
    EXPECT_EQ(serve_.wait(), 0) << serve_.err();
    std::map<std::string, int> executed;
    std::ifstream file(ledger_);
    for (std::string line; std::getline(file, line);) ++executed[line];
    EXPECT_GE(executed.size(), 3 * static_cast<std::size_t>(started_));
    for (const auto& [attempt, times] : executed) EXPECT_EQ(times, 1) << attempt;
    const std::string dsn = load_.database();
    const std::string of_remotes = " in (select run_id from cairn.run where graph = 'remote')";
    EXPECT_EQ(test::ask_number(dsn, "select count(*) from cairn.run where graph = 'remote' and status = 'done'"),
              started_);
    EXPECT_EQ(test::ask_number(dsn,
                               "select count(*) from cairn.events where type = 'run_finished' and "
                               "(payload->>'output')::jsonb->>'noted' = '3' and run_id" +
                                   of_remotes),
              started_);
    EXPECT_EQ(test::ask_number(dsn,
                               "select count(*) from (select run_id, step, payload->>'attempt' from cairn.events where "
                               "type in ('step_succeeded', 'step_failed') and run_id" +
                                   of_remotes + " group by 1, 2, 3 having count(*) > 1) twice"),
              0);
  }
  int started() const { return started_; }

 private:
  const Load& load_;
  std::filesystem::path ledger_;
  Beside serve_{"/bin/true", {}};
  std::vector<Beside> workers_;
  int started_ = 0;
};

// For a moment, and past the time-to-live of the workers that speak through it.
TEST(Faults, a_serve_that_stands_still_loses_no_step_of_its_workers_and_holds_up_no_other) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer server("paused_serve");
  Load load({.name = "paused_serve", .dsn = server.dsn()});
  Remotes remotes(load);
  load.start_plans(6);
  load.measure_before();
  load.start_batch(200);  // so that there is work for the whole span
  load.measure_during(
      [&] {
        for (const int span : {3, 13}) {
          remotes.start_runs(30);
          load.under(1, seconds(1), [&] { remotes.stand_still(seconds(span)); });
        }
      },
      0.95);
  remotes.start_runs(10);
  load.measure_after();
  load.wait_until_ended();
  remotes.expect_kept();
  load.note_acknowledged(remotes.started());
  load.expect_nothing_lost_or_doubled("SIGSTOP of `cairn serve` with workers over HTTP, for 3 s and for 13 s", 2);
}

TEST(Faults, half_of_the_backends_stand_still) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer server("half_still");
  Load load({.name = "half_still", .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  int stopped = 0;
  load.under(2, milliseconds(500), [&] {
    stopped += server.signal_backends(SIGSTOP, 2);
    std::this_thread::sleep_for(seconds(3));
    server.signal_all(SIGCONT);
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGSTOP of half of the backends for 3 s", stopped);
}

// Clients that are connected go on; one that comes waits.
TEST(Faults, the_postmaster_alone_stands_still) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer server("deaf_postmaster");
  Load load({.name = "deaf_postmaster", .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.measure_during([&] {
    load.under(2, milliseconds(500), [&] {
      kill(server.pid(), SIGSTOP);
      std::this_thread::sleep_for(seconds(3));
      kill(server.pid(), SIGCONT);
    });
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGSTOP of the postmaster alone for 3 s", 2);
}

}  // namespace
}  // namespace cairn::program
