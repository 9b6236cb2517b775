// The worker process of the benchmark, from the inside.
#include <iostream>

#include "ops/bench/bench.hpp"
#include "ops/bench/rig/handlers.hpp"
#include "ops/database.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "workers/runtime/periodic_thread.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

constexpr long tell_ms = 5;

// Tells how far this process is whenever that has changed.
class Telling {
 public:
  long tell() {
    const Executed now = executed();
    if (now.steps == told_.steps && now.ended == told_.ended) return tell_ms;
    told_ = now;
    print_json({{"executed", now.steps},
                {"first_at_us", now.first_at_us},
                {"ended", now.ended},
                {"ended_at_us", now.ended_at_us}});
    std::cout.flush();
    return tell_ms;
  }

 private:
  Executed told_;
};

}  // namespace

Exit bench_worker(const Settings& settings, const BenchWorkerOptions& options) {
  StopSignals signals;
  Result<std::unique_ptr<Catalogue>> catalogue = bench_catalogue(options.model_url);
  if (!catalogue) return catalogue.error();
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choose_database(settings));
  if (!checkpoints) return checkpoints.error();
  GatheredHeads heads;
  const auto committed = [&heads](std::span<const Entry> batch, std::span<const Verdict> verdicts) {
    heads.note(batch, verdicts);
    note_ended(batch, verdicts);
  };
  Result<std::unique_ptr<Store>> store = open_store(settings.dsn, store_connections, committed);
  if (!store) return store.error();
  const Checkpointer checkpointer(**store, heads, *checkpoints);
  WorkerOptions worker_options;
  worker_options.concurrency = options.concurrency;
  worker_options.fuse_steps = options.fuse_steps;
  Worker worker(**store, **catalogue, worker_options);
  signals.watch(&worker);
  print_json({{"ready", true}});
  std::cout.flush();
  WorkerReport report;
  {
    Telling telling;
    const PeriodicThread tells([&telling] { return telling.tell(); });
    report = worker.run();
  }
  signals.watch(nullptr);
  print_json({{"steps", report.steps}, {"commits", report.commits}, {"conflicts", report.conflicts}});
  return 0;
}

}  // namespace cairn
