#include "ops/commands/guide/manual_page.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace cairn {
namespace {

// Text of which no character means anything to roff.
std::string plain_roff(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (c == '\\')
      plain += "\\e";
    else if (c == '-')
      plain += "\\-";
    else
      plain += c;
  }
  return plain.starts_with('.') || plain.starts_with('\'') ? "\\&" + plain : plain;
}

std::string bold(const std::string& text) { return "\\fB" + plain_roff(text) + "\\fR"; }
std::string slanted(const std::string& text) { return "\\fI" + plain_roff(text) + "\\fR"; }

std::string sentence(const std::string& text) {
  return plain_roff(text.ends_with('.') || text.empty() ? text : text + ".");
}

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

// Lines to be typed or shown as they stand.
std::string as_it_stands(const std::string& text) { return ".nf\n.RS 4\n" + plain_roff(text) + "\n.RE\n.fi\n"; }

std::string page_name(const std::string& command) {
  std::string name = "cairn" + (command.empty() ? "" : "-" + command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

// RUN, [RUN...] or FILE...
std::string placeholder(const OptionForm& argument) {
  const std::string name = slanted(argument.name) + (argument.repeats ? "..." : "");
  return argument.is_required ? name : "[" + name + "]";
}

std::string synopsis(const CommandForm& form) {
  std::string line = bold(form.name.empty() ? "cairn" : "cairn " + form.name);
  if (!form.options.empty()) line += " [" + slanted("OPTION") + "...]";
  for (const OptionForm& argument : form.arguments) line += " " + placeholder(argument);
  if (!form.commands.empty()) line += " " + slanted("COMMAND");
  return line + "\n";
}

std::string entry(const std::string& term, const std::string& says) { return ".TP\n" + term + "\n" + says + "\n"; }

std::string option_entry(const OptionForm& option) {
  std::string term = bold(option.name);
  if (!option.short_name.empty()) term = bold(option.short_name) + ", " + term;
  if (option.takes != Takes::nothing && !option.type.empty()) term += " " + slanted(option.type);
  std::string says = sentence(option.purpose);
  if (!option.standard.empty()) says += "\nThe default is " + bold(option.standard) + ".";
  if (option.is_required) says += "\nIt is required.";
  return entry(term, says);
}

// The options and arguments of a command, without those that every command has.
std::string own_options(const CommandForm& form) {
  std::string text;
  for (const OptionForm& argument : form.arguments) text += entry(slanted(argument.name), sentence(argument.purpose));
  for (const OptionForm& option : form.options)
    if (!option.is_shared && option.name != "--help") text += option_entry(option);
  return text;
}

std::string shared_options(const CommandForm& program) {
  std::string text;
  for (const OptionForm& option : program.options)
    if (option.is_shared || option.name == "--help") text += option_entry(option);
  return text;
}

std::string head(const CommandForm& form, const std::string& version, const std::string& released) {
  const std::string name = page_name(form.name);
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string purpose = form.purpose.substr(0, form.purpose.find(';'));
  if (purpose.ends_with('.')) purpose.pop_back();
  return ".TH " + title + " 1 " + released + " \"cairn " + version + "\" Cairn\n" + section("NAME") + plain_roff(name) +
         " \\- " + plain_roff(purpose) + "\n";
}

// Headings of lists of commands as they come, each once.
std::vector<std::string> groups_of(const CommandForm& program) {
  std::vector<std::string> groups;
  for (const CommandForm& command : program.commands)
    if (std::find(groups.begin(), groups.end(), command.group) == groups.end()) groups.push_back(command.group);
  return groups;
}

std::string list_of_commands(const CommandForm& program) {
  std::string text = section("COMMANDS");
  for (const std::string& group : groups_of(program)) {
    text += ".SS " + plain_roff(group) + "\n";
    for (const CommandForm& command : program.commands)
      if (command.group == group) text += entry(bold(page_name(command.name)) + "(1)", sentence(command.purpose));
  }
  return text;
}

std::string closing_section(const std::string& closing) {
  std::string text;
  std::istringstream lines(closing);
  for (std::string line; std::getline(lines, line);) {
    const bool is_typed = line.starts_with(' ');
    if (is_typed)
      text += as_it_stands(line.substr(line.find_first_not_of(' ')));
    else
      text += line.empty() ? ".PP\n" : plain_roff(line) + "\n";
  }
  return text;
}

std::string program_page(const CommandForm& program, const std::string& version, const std::string& released) {
  return head(program, version, released) + section("SYNOPSIS") + synopsis(program) + section("DESCRIPTION") +
         sentence(program.purpose) + "\n" + closing_section(program.closing) + list_of_commands(program) +
         section("OPTIONS") + shared_options(program) + section("SEE ALSO") + bold("psql") + "(1), " + bold("systemd") +
         "(1)\n";
}

// A command below the page's own.
std::string part_of_page(const CommandForm& form) {
  std::string text = ".SS " + plain_roff("cairn " + form.name) + "\n" + synopsis(form) + ".PP\n" +
                     sentence(form.purpose) + "\n" + own_options(form);
  if (!form.example.empty()) text += ".PP\n" + as_it_stands(form.example);
  return text;
}

std::string command_page(const CommandForm& form, const CommandForm& program, const std::string& version,
                         const std::string& released) {
  std::string text = head(form, version, released) + section("SYNOPSIS") + synopsis(form) + section("DESCRIPTION") +
                     sentence(form.purpose) + "\n";
  if (!form.commands.empty()) text += section("COMMANDS");
  for (const CommandForm& command : form.commands) text += part_of_page(command);
  text += section("OPTIONS") + own_options(form) + shared_options(program);
  if (!form.example.empty()) text += section("EXAMPLE") + as_it_stands(form.example);
  return text + section("SEE ALSO") + bold("cairn") + "(1)\n";
}

}  // namespace

std::vector<ManualPage> manual_pages(const CommandForm& program, const std::string& version,
                                     const std::string& released) {
  std::vector<ManualPage> pages = {{"cairn", program_page(program, version, released)}};
  for (const CommandForm& command : program.commands)
    pages.push_back({page_name(command.name), command_page(command, program, version, released)});
  return pages;
}

}  // namespace cairn
