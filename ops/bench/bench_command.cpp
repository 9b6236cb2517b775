// The options of `cairn bench`.
#include <CLI/CLI.hpp>

#include "ops/bench/bench.hpp"
#include "ops/commands/command_options.hpp"

namespace cairn {
namespace {

void add_sizes(CLI::App& command, BenchOptions& bench) {
  command.add_option("--waiting", bench.waiting, "Case scale.waiting: with so many jobs waiting")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N...")
      ->capture_default_str();
  command.add_option("--finished", bench.finished, "Case scale.finished: with so many finished runs")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--events", bench.events, "Cases fold, scale.long_run and audit: so many events")
      ->check(CLI::Range(100, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--width", bench.width, "Case scale.wide: a run of so many sub-goals")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N...")
      ->capture_default_str();
  command.add_option("--instances", bench.instances, "Case shapes.instances: workflow instances (WfFormat 1.5)")
      ->check(CLI::ExistingFile)
      ->type_name("FILE...");
  command.add_option("--arrivals", bench.arrivals, "Case shapes.arrivals: a table whose first column is a time")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  command.add_option("--snapshot-seconds", bench.snapshot_seconds, "Case scale.snapshot: held open so long")
      ->check(CLI::Range(1, 86'400))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--soak-seconds", bench.soak_seconds, "Case soak: so long")
      ->check(CLI::Range(4, 604'800))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--idle", bench.idle, "Case claims: next to so many workers that wait")
      ->check(CLI::Range(1, 1'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--followers", bench.followers, "Case http: with so many followers")
      ->check(CLI::Range(1, 2'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--sustained-seconds", bench.sustained_seconds, "Case scale.sustained: so long")
      ->check(CLI::Range(1, 86'400))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void add_bench(CommandLine& line) {
  auto& options = line.keep<BenchOptions>();
  CLI::App& command =
      add_command(line, "bench", "Measure this machine against what its database could do alone",
                  "cairn bench --case steps", [&](const Settings& settings) { return bench(settings, options); });
  command.add_option("--case", options.name, "Only this case")->check(CLI::IsMember(bench_cases()))->type_name("NAME");
  CLI::Option* runs = command.add_option("--runs", options.runs, "Measure so many runs")
                          ->check(CLI::Range(1, 100'000'000))
                          ->type_name("N");
  command.add_option("--seconds", options.seconds, "Measure so long")
      ->check(CLI::Range(1, 86'400))
      ->type_name("N")
      ->capture_default_str()
      ->excludes(runs);
  command.add_option("--workers", options.workers, "Worker processes (default: 1, 2 and 4 in turn, or 2)")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  add_sizes(command, options);
  command.add_flag("--hold", options.hold, "Wait for a line on stdin when the tables of a case are prepared");
  command.add_option("--report", options.report, "Measure nothing: print the lines of --json in FILE as Markdown")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
}

}  // namespace cairn
