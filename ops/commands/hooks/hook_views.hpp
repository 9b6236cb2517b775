// The commands that show hooks: list, show, history. Used from one thread, before and while the command line is parsed.
#pragma once

#include <string>

#include "ops/commands/command_options.hpp"

namespace cairn {

void add_hook_views(CommandLine& line, CLI::App& group);
CLI::Option* add_hook_name(CLI::App& command, std::string& name);  // required

}  // namespace cairn
