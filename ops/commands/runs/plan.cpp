#include <CLI/CLI.hpp>

#include "engine/run_json.hpp"
#include "ops/answers/plan_status.hpp"
#include "ops/answers/run_json.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct PlanOptions {
  std::string run;
  Moment at;
};

Exit show_plan(const Settings& settings, const PlanOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  Result<RunState> state = state_at(*found->opened.client, found->run, options.at);
  if (!state) return state.error();
  if (const Status known = project_plan_status(*found->opened.client, *state); !known) return known.error();
  Json plan = state_json(*state)["plan"];
  if (settings.json)
    print_json(found->opened.client->expand_blobs(std::move(plan), found->shard));
  else
    print_plan(*state);
  return exit_ok;
}

}  // namespace

void add_plan(CommandLine& line) {
  auto& options = line.keep<PlanOptions>();
  CLI::App& command = add_command(line, "plan", "A run's plan as a tree with statuses", "cairn plan RUN",
                                  paged([&](const Settings& settings) { return show_plan(settings, options); }));
  add_run(command, options.run);
  add_moment(command, options.at);
}

}  // namespace cairn
