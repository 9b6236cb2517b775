// `cairn graph test`: the cases of a graph. Used from one thread.
#pragma once

#include "ops/commands/command_options.hpp"

namespace cairn {

void add_graph_test(CommandLine& line, CLI::App& group);

}  // namespace cairn
