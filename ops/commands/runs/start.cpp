#include <CLI/CLI.hpp>

#include "ops/answers/graph_surroundings.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/runs/started_run.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/run_commands.hpp"

namespace cairn {
namespace {

Exit start_run(const Settings& settings, StartRequest request, const Waiting& waiting) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  if (waiting.wait && !waiting.no_work)
    if (const Status ready = make_ready_to_work(*opened->catalogue); !ready) return ready.error();
  if (!request.continues.empty()) {
    const Result<RunId> earlier = run_meant(*opened->store, request.continues);
    if (!earlier) return earlier.error();
    request.continues = to_string(*earlier);
  }
  Result<StartRun> command = start_command(request);
  if (!command) return command.error();
  const Result<Started> started = opened->client->start(*std::move(command), request.key);
  if (!started) return with_nearest_graph(*opened->store, request.graph, started.error());
  return print_started(*opened, settings, *started, waiting);
}

}  // namespace

void add_start(CommandLine& line) {
  auto& request = line.keep<StartRequest>();
  auto& waiting = line.keep<Waiting>();
  CLI::App& command = add_command(line, "start", "Start a run of a graph and print its id",
                                  "cairn start order --input '{\"name\": \"Ann\"}' --tag team=a --key monday --wait",
                                  [&](const Settings& settings) { return start_run(settings, request, waiting); });
  command.add_option("GRAPH", request.graph, "The graph's name")->required()->type_name("");
  add_text(command, "--input", "JSON|@FILE|@-", "The run's input, a JSON object (default {})",
           [&](const std::string& text) { return assign(request.input, object_argument(text, "the input")); });
  add_tags(command, "A searchable tag (repeatable)", request.tags);
  add_text(command, "--key", "K", "The same key and input give the same run",
           [&](const std::string& text) { return assign(request.key, key_argument(text)); });
  command.add_option("--continues", request.continues, "The run whose data this one gets as `history`")
      ->type_name("RUN");
  add_text(command, "--options", "JSON", R"({"autonomy": "full", "priority": 0-9, "budgets": {NAME: CAP}})",
           [&](const std::string& text) { return assign(request.options, options_argument(text)); });
  add_waiting(line, command, "Execute the run here until it has ended, is paused or has only questions left", waiting);
}

}  // namespace cairn
