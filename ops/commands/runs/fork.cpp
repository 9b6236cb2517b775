#include <CLI/CLI.hpp>
#include <limits>

#include "ops/commands/commands.hpp"
#include "ops/commands/runs/started_run.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/run_commands.hpp"

namespace cairn {
namespace {

Exit fork_run(const Settings& settings, const ForkRequest& request, const Waiting& waiting) {
  Result<OpenedRun> found = find_run(settings, request.run);
  if (!found) return found.error();
  Client& client = *found->opened.client;
  Result<ForkOptions> fork = fork_options(client, request);
  if (!fork) return fork.error();
  const Result<Started> started = client.fork(found->run, *std::move(fork));
  if (!started) return started.error();
  return print_started(found->opened, settings, *started, waiting);
}

Status set_channels(Json& edit, const std::vector<std::string>& texts) {
  Result<std::map<std::string, Json>> values = values_argument(texts, "--set");
  if (!values) return values.error();
  for (auto& [channel, value] : *values) edit[channel] = std::move(value);
  return Done{};
}

}  // namespace

void add_fork(CommandLine& line) {
  auto& request = line.keep<ForkRequest>();
  auto& waiting = line.keep<Waiting>();
  CLI::App& command =
      add_command(line, "fork", "Start a run that goes on from where another one stood; that one stays as it is",
                  "cairn fork RUN --at 5 --set size='\"large\"'",
                  [&](const Settings& settings) { return fork_run(settings, request, waiting); });
  add_run(command, request.run);
  command.add_option("--at", request.at, "The last event that both share; the end of a commit")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("SEQ");
  add_list(command, "--set", "CHANNEL=JSON", "A channel's new value (repeatable)",
           [&](const std::vector<std::string>& texts) { return set_channels(request.edit, texts); });
  add_list(command, "--answer", "ID=JSON", "An answer to a question that is open there (repeatable)",
           [&](const std::vector<std::string>& texts) {
             return assign(request.answers, values_argument(texts, "--answer"));
           });
  add_graph_text(command, "Go on with this graph; it must have the nodes where the run stood", request.graph);
  add_tags(command, "A searchable tag in addition to the origin's (repeatable)", request.tags);
  command.add_flag(
      "--recorded", request.recorded,
      "Ask no model and no tool: what they said in RUN counts again; the fork fails where it goes another way");
  command.add_option("--reason", request.reason, "Why, for the record")->type_name("TEXT");
  add_waiting(line, command, "Execute the fork here until it has ended, is paused or has only questions left", waiting);
}

}  // namespace cairn
