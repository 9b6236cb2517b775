// Completion of the command line by the shells bash, zsh and fish: scripts that know every command and option, and
// which values are files or folders. They ask no program and no database. Pure functions.
#pragma once

#include <string>

#include "ops/commands/guide/command_form.hpp"

namespace cairn {

// To be sourced, or as /usr/share/bash-completion/completions/cairn.
std::string bash_completion(const CommandForm& program);
// To be sourced after compinit, or as the file _cairn in a folder of fpath.
std::string zsh_completion(const CommandForm& program);
// To be sourced, or as cairn.fish in a folder of fish_complete_path.
std::string fish_completion(const CommandForm& program);

}  // namespace cairn
