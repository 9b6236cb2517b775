#include <CLI/CLI.hpp>
#include <iostream>

#include "ops/answers/run_json.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/runs/started_run.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t hint_bytes_max = 2'000;

// On stderr, for a person.
void report_signal(Opened& opened, const RunId& run, const std::string& name) {
  const std::string hint = hint_at_signal(*opened.client, run, name);
  if (hint.empty()) return hint_at_workers(*opened.store);
  std::cerr << "cairn: " << readable_line(hint, hint_bytes_max) << '\n';
}

Exit send_signal(const Settings& settings, const SignalRequest& request) {
  Result<OpenedRun> found = find_run(settings, request.run);
  if (!found) return found.error();
  const SendSignal command{request.name, request.value, request.id};
  if (const Result<Done> done = found->opened.client->command(found->run, command); !done) return done.error();
  const std::string run = to_string(found->run);
  if (settings.json)
    print_json(signal_json(*found->opened.client, found->run, request));
  else
    print_paragraph("Sent the signal " + request.name + " to " + run + ".");
  if (!settings.json) report_signal(found->opened, found->run, request.name);
  return exit_ok;
}

}  // namespace

void add_signal(CommandLine& line) {
  auto& request = line.keep<SignalRequest>();
  CLI::App& command =
      add_command(line, "signal", "Send a run a signal, which one wait takes", "cairn signal RUN paid --value true",
                  [&](const Settings& settings) { return send_signal(settings, request); });
  add_run(command, request.run);
  command.add_option("NAME", request.name, "The signal's name")->required()->type_name("");
  add_text(command, "--value", "JSON|@FILE|@-", "What it carries, as JSON", [&](const std::string& text) {
    return assign(request.value, json_argument(text, "the signal's value"));
  })->required();
  command.add_option("--id", request.id, "The sender's id: one id is taken once")->type_name("ID");
}

}  // namespace cairn
