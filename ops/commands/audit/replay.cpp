#include "ops/audit/replay.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <mutex>

#include "ops/audit/run_source.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct ReplayRunsOptions {
  RunSelection of;
  std::optional<Json> graph;  // in place of each run's own
  bool handlers = false;
};

void print_replay(const std::string& summary, const Json& report) {
  print_paragraph(summary);
  if (report["diverged"] != 0)
    print_paragraph("Model calls cost " + report["cost"].dump() + ", of which " + report["cost_behind"].dump() +
                    " lie behind a divergence.");
  Table table({"NODE", "EVENT", "DECISION", "RUNS", "EXAMPLE"});
  for (const Json& kind : report["divergences"]) {
    const Json& example = kind["examples"][0];
    table.add({kind["node"], kind["type"], kind["decision"].is_null() ? "" : kind["decision"].get<std::string>(),
               kind["runs"].dump(),
               example["run"].get<std::string>() + " event " + example["seq"].dump() + ": " +
                   example["says"].get<std::string>()});
  }
  if (!table.is_empty()) table.print();
  for (const Json& fault : report["faults"])
    print_paragraph(fault["run"].get<std::string>() + ": " + fault["says"].get<std::string>());
}

Exit replay_runs(const Settings& settings, const ReplayRunsOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  GraphRef graph;
  if (options.graph) {
    const Result<GraphRef> checked = opened->client->try_graph(*options.graph);
    if (!checked) return checked.error();
    graph = *checked;
  }
  const ReplayMeans means(*opened->catalogue, graph, options.handlers);
  const Result<RunSource> source = selected_runs(*opened->store, options.of);
  if (!source) return source.error();
  ReplayReport report;
  std::mutex showing;
  Progress progress;
  opened->client->load_all_graphs();
  const Graphs graphs = opened->client->graphs();
  for_each_page(*source, audit_threads(), [&]() -> UseRuns {
    auto replayer = std::make_shared<Replayer>(*opened->store, graphs, means.options());
    return [&, replayer](const std::vector<RunPlace>& page) {
      std::vector<RunId> runs;
      for (const RunPlace& place : page) runs.push_back(place.run);
      replayer->replay(runs, [&](const Replayed& replayed) { report.add(replayed); });
      const std::lock_guard lock(showing);
      progress.show(report.summary());
    };
  });
  progress.wipe();
  settings.json ? print_json(report.json()) : print_replay(report.summary(), report.json());
  return report.is_clean() ? exit_ok : exit_finding;
}

}  // namespace

void add_replay(CommandLine& line) {
  auto& options = line.keep<ReplayRunsOptions>();
  CLI::App& command = add_command(
      line, "replay", "Decide recorded runs again from their record; exit 1 if one would go another way",
      "cairn replay --where graph=order --graph order.json",
      [&](const Settings& settings) { return replay_runs(settings, options); },
      [&] { return need_selection(options.of, "replay"); });
  add_selection(command, options.of, "Every run");
  add_graph_text(command, "Decide with this graph in place of each run's own, and run data.* handlers again",
                 options.graph);
  command.add_flag("--handlers", options.handlers, "Run all pure handlers again too, and compare what they leave");
  add_tools(line, command);
}

}  // namespace cairn
