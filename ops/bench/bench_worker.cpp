// `cairn bench-worker`: a worker process of the benchmark.
#include <CLI/CLI.hpp>
#include <iostream>

#include "ops/bench/bench.hpp"
#include "ops/bench/rig/handlers.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "workers/runtime/periodic_thread.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

struct BenchWorkerOptions {
  int concurrency = 1'000;
  int fuse_steps = 32;
  long report_ms = 5;
  std::vector<std::string> queues;
  std::string model_url;
};

// Prints the progress of this process whenever it has changed.
class ProgressLines {
 public:
  explicit ProgressLines(long every_ms) : every_ms_(every_ms) {}

  // The time until the next call.
  long print() {
    const Executed now = executed();
    if (now.steps == printed_.steps && now.ended == printed_.ended) return every_ms_;
    printed_ = now;
    print_json({{"executed", now.steps},
                {"first_at_us", now.first_at_us},
                {"ended", now.ended},
                {"ended_at_us", now.ended_at_us}});
    std::cout.flush();
    return every_ms_;
  }

 private:
  const long every_ms_;
  Executed printed_;
};

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
  worker_options.queues = options.queues;
  Worker worker(**store, **catalogue, worker_options);
  signals.watch(&worker);
  print_json({{"ready", true}});
  std::cout.flush();
  WorkerReport report;
  {
    ProgressLines lines(options.report_ms);
    const PeriodicThread prints([&lines] { return lines.print(); });
    report = worker.run();
  }
  signals.watch(nullptr);
  print_json({{"steps", report.steps}, {"commits", report.commits}, {"conflicts", report.conflicts}});
  return exit_ok;
}

}  // namespace

void add_bench_worker(CommandLine& line) {
  auto& options = line.keep<BenchWorkerOptions>();
  CLI::App& command = add_command(line, "bench-worker", "A worker process of the benchmark", "",
                                  [&](const Settings& settings) { return bench_worker(settings, options); });
  command.add_option("--concurrency", options.concurrency, "Branches held at once");
  command.add_option("--fuse", options.fuse_steps, "Pure steps in one commit");
  command.add_option("--report-ms", options.report_ms, "Between two reports of what it has done");
  command.add_option("--queue", options.queues, "Work only on this queue (repeatable)");
  command.add_option("--model-url", options.model_url, "The model");
  command.group("");
}

}  // namespace cairn
