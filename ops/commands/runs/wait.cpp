#include <CLI/CLI.hpp>

#include "ops/commands/commands.hpp"
#include "ops/commands/runs/started_run.hpp"
#include "ops/service/database.hpp"
#include "storage/starts/start_book.hpp"

namespace cairn {
namespace {

struct WaitOptions {
  std::string run;
  bool work = false;
  Waiting waiting;
};

Exit wait_for_run(const Settings& settings, const WaitOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  Store& store = *found->opened.store;
  if (!store.run(found->run) && !start_to_come(store, found->run)) return no_such_run(store, found->run);
  Waiting waiting = options.waiting;
  waiting.no_work = !options.work;
  return wait_and_print(found->opened, settings, found->run, waiting);
}

}  // namespace

void add_wait(CommandLine& line) {
  auto& options = line.keep<WaitOptions>();
  CLI::App& command = add_command(
      line, "wait", "Wait until a run has ended, is paused or only questions are left, and print what became of it",
      "cairn wait RUN --timeout 10m", [&](const Settings& settings) { return wait_for_run(settings, options); });
  add_run(command, options.run);
  command.add_flag("--work", options.work, "Execute the run here meanwhile");
  add_timeout(command, options.waiting);
  add_tools(line, command);
}

}  // namespace cairn
