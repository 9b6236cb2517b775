#include <CLI/CLI.hpp>

#include "ops/answers/explain_facts.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string place_of(const Reason& reason) {
  if (reason.details.contains("sub_goal")) return "sub-goal " + reason.details["sub_goal"].get<std::string>();
  if (reason.node.empty()) return "the run";
  return reason.node + (reason.details.contains("item") ? " item " + reason.details["item"].dump() : "");
}

void print_reasons(const RunState& state, const std::vector<Reason>& reasons) {
  print_head(state, "");
  print_ending(state);
  Table table({"STEP", "AT", "KIND", "WHY"});
  for (const Reason& reason : reasons)
    table.add({reason.step == 0 ? "" : std::to_string(reason.step), place_of(reason),
               std::string(to_string(reason.kind)), reason.says});
  table.print_wrapped();
}

Exit explain_run(const Settings& settings, const std::string& run) {
  Result<OpenedRun> found = find_run(settings, run);
  if (!found) return found.error();
  const Opened& opened = found->opened;
  Result<Explained> explained = read_explained(*opened.client, *opened.store, opened.dsn, found->run);
  if (!explained) return explained.error();
  if (settings.json) {
    print_json(explained_json(*explained));
    return exit_ok;
  }
  explained->situation.time_said = local_moment;
  print_reasons(explained->state, explain(explained->state, explained->situation));
  return exit_ok;
}

}  // namespace

void add_explain(CommandLine& line) {
  auto& run = line.keep<std::string>();
  add_run(add_command(line, "explain", "Why a run is not moving: one reason for each open step", "cairn explain RUN",
                      paged([&](const Settings& settings) { return explain_run(settings, run); })),
          run);
}

}  // namespace cairn
