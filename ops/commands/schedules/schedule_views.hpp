// The commands that show schedules: list, show, next, history, explain. Used from one thread, before and while the
// command line is parsed.
#pragma once

#include <string>
#include <vector>

#include "ops/commands/command_options.hpp"

namespace cairn {

void add_schedule_views(CommandLine& line, CLI::App& group);
CLI::Option* add_schedule_name(CLI::App& command, std::string& name);  // required

// The fields that an edit takes away, by the names of their options. Refuses `invalid`.
Result<std::vector<std::string>> cleared_fields(const std::vector<std::string>& texts);
// Refuses `invalid`: a field is taken away and given a value in one edit.
Status check_cleared(const std::vector<std::string>& cleared, const Json& given);

}  // namespace cairn
