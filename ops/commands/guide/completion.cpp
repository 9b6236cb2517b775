#include <CLI/CLI.hpp>
#include <iostream>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/guide/shell_completion.hpp"

namespace cairn {
namespace {

using ScriptOf = std::string (*)(const CommandForm&);

void add_shell(CommandLine& line, CLI::App& group, const std::string& shell, ScriptOf completion) {
  add_command(line, group, shell, "The script for " + shell, [&line, completion](const Settings&) -> Exit {
    std::cout << completion(command_form(line.app));
    return exit_ok;
  });
}

}  // namespace

void add_completion(CommandLine& line) {
  CLI::App& group = add_group(line, "completion", "Completion of commands, options and files in a shell");
  add_shell(line, group, "bash", bash_completion);
  add_shell(line, group, "zsh", zsh_completion);
  add_shell(line, group, "fish", fish_completion);
}

}  // namespace cairn
