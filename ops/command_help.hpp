// The form of help texts for people, and the sentence for a word that is no command, with the one that was probably
// meant. Headings, purposes and examples are the commands' own (commands/command_options.hpp). Used from one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/result.hpp"

namespace CLI {
class App;
}

namespace cairn {

// Sets the form of all help texts. REQUIRES: all commands have been added.
void set_help_form(CLI::App& app);

// The program's arguments, with `help COMMAND` in the form `COMMAND --help`. Refuses `invalid`: a word that is no
// command, with the command line's own words for it, even where --help follows it.
Result<std::vector<std::string>> help_first(const CLI::App& app, std::vector<std::string> arguments);

// The sentence for what the parser did not understand.
std::string usage_sentence(const CLI::App& app, std::string fault);

}  // namespace cairn
