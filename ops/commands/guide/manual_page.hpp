// Manual pages in the macros of man(7): one of the program, cairn(1), and one of each command, cairn-COMMAND(1), made
// from the form of the command line. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "ops/commands/guide/command_form.hpp"

namespace cairn {

struct ManualPage {
  std::string name;  // "cairn-schedule"
  std::string text;
};

// The program's page first. `version` and `released` (YYYY-MM-DD) stand at the foot of each.
std::vector<ManualPage> manual_pages(const CommandForm& program, const std::string& version,
                                     const std::string& released);

}  // namespace cairn
