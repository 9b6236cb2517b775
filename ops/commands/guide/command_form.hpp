// The form of the command line as plain values: commands, their options and arguments, as `--help` shows them. Shell
// completion and manual pages are made from it, so that they cannot differ from the help. Plain values and pure
// functions.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cairn {

// The kind of value that an option or an argument takes.
enum class Takes { nothing, text, file, folder };

struct OptionForm {
  std::string name;        // "--from", or an argument's placeholder: "RUN"
  std::string short_name;  // "-h"; "": it has none
  std::string type;        // the placeholder of its value: "SEQ"
  std::string purpose;
  std::string standard;  // the value without it; "": there is none to show
  Takes takes = Takes::nothing;
  bool is_required = false;
  bool repeats = false;
  bool is_shared = false;  // one that every command has
};

struct CommandForm {
  std::string name;  // its words after the program's: "schedule add"; "": the program itself
  std::string purpose;
  std::string group;    // its heading in the list of commands
  std::string example;  // a line to be typed; "": none
  std::string closing;  // what the help says at its end besides that
  std::vector<OptionForm> options;
  std::vector<OptionForm> arguments;
  std::vector<CommandForm> commands;

  // The last of its words.
  std::string word() const { return name.substr(name.rfind(' ') + 1); }
};

// Without what the help leaves out. REQUIRES: set_help_form() was called.
CommandForm command_form(const CLI::App& app, const std::string& name = "");

// The form and those below it, each before its own commands.
std::vector<const CommandForm*> all_forms(const CommandForm& form);

}  // namespace cairn
