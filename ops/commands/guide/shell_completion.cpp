#include "ops/commands/guide/shell_completion.hpp"

#include "engine/text.hpp"

namespace cairn {
namespace {

// A word of fish, where a backslash within quotes is one.
std::string fish_quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') word += '\\';
    word += c;
  }
  return word + "'";
}

// One line that a menu has room for: the first sentence.
std::string short_purpose(const std::string& purpose) { return purpose.substr(0, purpose.find_first_of(";:\n")); }

std::string_view word_of(Takes takes) {
  switch (takes) {
    case Takes::nothing:
      return "";
    case Takes::text:
      return "text";
    case Takes::file:
      return "file";
    case Takes::folder:
      return "folder";
  }
  return "";
}

// The branches of a `case` over a command's words, in each of which `list` says what is there; those with nothing are
// left out.
template <class List>
std::string case_of_commands(const CommandForm& program, List&& list) {
  std::string text = "  case $1 in\n";
  for (const CommandForm* form : all_forms(program))
    if (const std::string listed = list(*form); !listed.empty())
      text += "    " + shell_quoted(form->name) + ") " + listed + " ;;\n";
  return text + "  esac\n";
}

// A function of bash and zsh that prints what an option's or an argument's value is. $1: the command's words, $2: the
// option; "": an argument.
std::string value_function(const CommandForm& program) {
  std::string text = "_cairn_value() {\n  case \"$1 $2\" in\n";
  for (const CommandForm* form : all_forms(program)) {
    for (const OptionForm& option : form->options)
      if (option.takes != Takes::nothing)
        text += "    " + shell_quoted(form->name + " " + option.name) + ") echo " + std::string(word_of(option.takes)) +
                " ;;\n";
    if (!form->arguments.empty())
      text += "    " + shell_quoted(form->name + " ") + ") echo " +
              std::string(word_of(form->arguments.front().takes)) + " ;;\n";
  }
  return text + "  esac\n}\n\n";
}

// A function of bash and zsh that leaves the command's words in `at` and the option before the cursor in `option`,
// having passed over the values of others. Its arguments: the words between the program and the cursor.
constexpr std::string_view place_function = R"sh(_cairn_place() {
  local word
  at='' option=''
  for word in "$@"; do
    if [ -n "$option" ]; then
      option=''
    elif [ "${word#-}" != "$word" ]; then
      [ -z "$(_cairn_value "$at" "$word")" ] || option=$word
    elif _cairn_is_command "$at${at:+ }$word"; then
      at="$at${at:+ }$word"
    fi
  done
}

)sh";

std::string is_command_function(const CommandForm& program) {
  std::string names;
  for (const CommandForm* form : all_forms(program))
    if (!form->name.empty()) names += (names.empty() ? "" : " | ") + shell_quoted(form->name);
  return "_cairn_is_command() {\n  case $1 in\n    " + names + ") return 0 ;;\n  esac\n  return 1\n}\n\n";
}

std::string words_of_commands(const CommandForm& form) {
  std::string words;
  for (const CommandForm& command : form.commands) words += (words.empty() ? "" : " ") + command.word();
  return words;
}

std::string words_of_options(const CommandForm& form) {
  std::string words;
  for (const OptionForm& option : form.options) words += (words.empty() ? "" : " ") + option.name;
  return words;
}

std::string echoed(const std::string& words) { return words.empty() ? "" : "echo " + shell_quoted(words); }

constexpr std::string_view bash_end = R"sh(_cairn() {
  local at option cur=${COMP_WORDS[COMP_CWORD]}
  _cairn_place "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  COMPREPLY=()
  if [ -z "$option" ]; then
    if [ "${cur#-}" != "$cur" ]; then
      mapfile -t COMPREPLY < <(compgen -W "$(_cairn_options "$at")" -- "$cur")
      return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$(_cairn_commands "$at")" -- "$cur")
    [ ${#COMPREPLY[@]} -eq 0 ] || return
  fi
  case $(_cairn_value "$at" "$option") in
    file)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
    folder)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      ;;
  esac
}

complete -F _cairn cairn
)sh";

constexpr std::string_view zsh_end = R"sh(_cairn() {
  local at option
  local -a found
  _cairn_place "${(@)words[2,CURRENT-1]}"
  if [[ -z $option && ${words[CURRENT]} == -* ]]; then
    found=("${(@f)$(_cairn_options "$at")}")
    _describe -o option found
    return
  fi
  if [[ -z $option ]]; then
    found=("${(@f)$(_cairn_commands "$at")}")
    if [[ -n $found ]]; then
      _describe command found
      return
    fi
  fi
  case $(_cairn_value "$at" "$option") in
    file) _files ;;
    folder) _files -/ ;;
  esac
}

if [[ ${funcstack[1]} == _cairn ]]; then
  _cairn "$@"
else
  compdef _cairn cairn
fi
)sh";

// NAME:PURPOSE for each, as _describe takes it.
std::string described_line(const std::string& name, const std::string& purpose) {
  return " " + shell_quoted(name + ":" + short_purpose(purpose));
}

std::string zsh_commands(const CommandForm& form) {
  std::string lines;
  for (const CommandForm& command : form.commands) lines += described_line(command.word(), command.purpose);
  return lines.empty() ? "" : "print -rl --" + lines;
}

std::string zsh_options(const CommandForm& form) {
  std::string lines;
  for (const OptionForm& option : form.options) lines += described_line(option.name, option.purpose);
  return lines.empty() ? "" : "print -rl --" + lines;
}

constexpr std::string_view fish_begin = R"sh(function __cairn_place
  set -l at
  set -l skips 0
  for word in (commandline -opc)[2..-1]
    if test $skips = 1
      set skips 0
    else if string match -q -- '-*' $word
      contains -- "$at $word" $__cairn_values; and set skips 1
    else if contains -- (string trim "$at $word") $__cairn_names
      set at (string trim "$at $word")
    end
  end
  echo $at
end

function __cairn_is_at
  test "$(__cairn_place)" = "$argv[1]"
end

complete -c cairn -f
)sh";

std::string fish_option(const std::string& at, const OptionForm& option) {
  std::string line = "complete -c cairn -n " + at + " -l " + option.name.substr(2);
  if (!option.short_name.empty()) line += " -s " + option.short_name.substr(1);
  switch (option.takes) {
    case Takes::nothing:
      break;
    case Takes::text:
      line += " -x";
      break;
    case Takes::file:
      line += " -rF";
      break;
    case Takes::folder:
      line += " -xa '(__fish_complete_directories)'";
      break;
  }
  return line + " -d " + fish_quoted(short_purpose(option.purpose)) + "\n";
}

std::string fish_command(const CommandForm& form) {
  const std::string at = fish_quoted("__cairn_is_at " + fish_quoted(form.name));
  std::string lines;
  for (const CommandForm& command : form.commands)
    lines += "complete -c cairn -n " + at + " -a " + command.word() + " -d " +
             fish_quoted(short_purpose(command.purpose)) + "\n";
  for (const OptionForm& option : form.options) lines += fish_option(at, option);
  if (!form.arguments.empty() && form.arguments.front().takes == Takes::file)
    lines += "complete -c cairn -n " + at + " -F\n";
  if (!form.arguments.empty() && form.arguments.front().takes == Takes::folder)
    lines += "complete -c cairn -n " + at + " -a '(__fish_complete_directories)'\n";
  return lines;
}

std::string first_line(const std::string& shell) {
  return "# Completion of cairn for " + shell + ", made by `cairn completion " + shell + "`.\n\n";
}

}  // namespace

std::string bash_completion(const CommandForm& program) {
  return first_line("bash") + "_cairn_commands() {\n" +
         case_of_commands(program, [](const CommandForm& form) { return echoed(words_of_commands(form)); }) +
         "}\n\n_cairn_options() {\n" +
         case_of_commands(program, [](const CommandForm& form) { return echoed(words_of_options(form)); }) + "}\n\n" +
         is_command_function(program) + value_function(program) + std::string(place_function) + std::string(bash_end);
}

std::string zsh_completion(const CommandForm& program) {
  return "#compdef cairn\n" + first_line("zsh") + "_cairn_commands() {\n" + case_of_commands(program, zsh_commands) +
         "}\n\n_cairn_options() {\n" + case_of_commands(program, zsh_options) + "}\n\n" + is_command_function(program) +
         value_function(program) + std::string(place_function) + std::string(zsh_end);
}

std::string fish_completion(const CommandForm& program) {
  std::string names, values, lines;
  for (const CommandForm* form : all_forms(program)) {
    if (!form->name.empty()) names += " " + fish_quoted(form->name);
    for (const OptionForm& option : form->options)
      if (option.takes != Takes::nothing) values += " " + fish_quoted(form->name + " " + option.name);
    lines += fish_command(*form);
  }
  return first_line("fish") + "set -g __cairn_names" + names + "\nset -g __cairn_values" + values + "\n\n" +
         std::string(fish_begin) + lines;
}

}  // namespace cairn
