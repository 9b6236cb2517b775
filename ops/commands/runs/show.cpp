#include <CLI/CLI.hpp>

#include "engine/run_json.hpp"
#include "ops/answers/run_json.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct ShowOptions {
  std::string run;
  Moment at;
  bool raw = false;
};

Exit show_run(const Settings& settings, const ShowOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  const Result<RunState> state = state_at(*found->opened.client, found->run, options.at);
  if (!state) return state.error();
  Json shown = state_json(*state);
  if (!options.raw) shown = found->opened.client->expand_blobs(std::move(shown), found->shard);
  if (settings.json)
    print_json(shown);
  else
    print_state(*state, shown);
  return exit_ok;
}

}  // namespace

void add_show(CommandLine& line) {
  auto& options = line.keep<ShowOptions>();
  CLI::App& command =
      add_command(line, "show", "A run's state as of any moment: channels, open steps, plan, budgets, questions",
                  [&](const Settings& settings) { return show_run(settings, options); });
  add_run(command, options.run);
  add_moment(command, options.at);
  command.add_flag("--raw", options.raw, "Leave large values as references to their blobs");
}

}  // namespace cairn
