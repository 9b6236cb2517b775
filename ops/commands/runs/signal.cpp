#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

Exit send_signal(const Settings& settings, const SignalRequest& request) {
  Result<OpenedRun> found = find_run(settings, request.run);
  if (!found) return found.error();
  const SendSignal command{request.name, request.value, request.id};
  if (const Result<Done> done = found->opened.client->command(found->run, command); !done) return done.error();
  if (settings.json)
    print_json({{"run", request.run},
                {"signal", request.name},
                {"id", request.id.empty() ? Json(nullptr) : Json(request.id)}});
  else
    print_line("Sent the signal " + request.name + " to " + request.run + ".");
  return exit_ok;
}

}  // namespace

void add_signal(CommandLine& line) {
  auto& request = line.keep<SignalRequest>();
  CLI::App& command = add_command(line, "signal", "Send a run a signal, which one wait takes",
                                  [&](const Settings& settings) { return send_signal(settings, request); });
  add_run(command, request.run);
  command.add_option("NAME", request.name, "The signal's name")->required()->type_name("");
  add_text(command, "--value", "JSON|@FILE|@-", "What it carries, as JSON", [&](const std::string& text) {
    return assign(request.value, json_argument(text, "the signal's value"));
  })->required();
  command.add_option("--id", request.id, "The sender's id: one id is taken once")->type_name("ID");
}

}  // namespace cairn
