#include <CLI/CLI.hpp>
#include <iostream>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/guide/shell_completion.hpp"

namespace cairn {
namespace {

using ScriptOf = std::string (*)(const CommandForm&);

void add_shell(CommandLine& line, CLI::App& group, const std::string& shell, ScriptOf completion,
               const std::string& example) {
  add_command(line, group, shell, "The script for " + shell, example,
              paged([&line, completion](const Settings&) -> Exit {
                std::cout << completion(command_form(line.app));
                return exit_ok;
              }));
}

}  // namespace

void add_completion(CommandLine& line) {
  CLI::App& group = add_group(line, "completion", "Completion of commands, options and files in a shell",
                              "source <(cairn completion bash)");
  add_shell(line, group, "bash", bash_completion,
            "cairn completion bash > ~/.local/share/bash-completion/completions/cairn");
  add_shell(line, group, "zsh", zsh_completion, "cairn completion zsh > ~/.zfunc/_cairn");
  add_shell(line, group, "fish", fish_completion, "cairn completion fish | source");
}

}  // namespace cairn
