#include "ops/commands/guide/command_form.hpp"

#include <CLI/CLI.hpp>

namespace cairn {
namespace {

Takes kind_of_value(const std::string& type) {
  for (const char* file : {"FILE", "KEYFILE"})
    if (type == file) return Takes::file;
  for (const char* folder : {"DIR", "FOLDER"})
    if (type == folder) return Takes::folder;
  return Takes::text;
}

OptionForm option_form(const CLI::Option& option) {
  const bool is_argument = option.get_positional();
  const std::string type = option.get_type_name();
  OptionForm form;
  form.name = is_argument ? option.get_name(true) : "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) form.short_name = "-" + option.get_snames().front();
  form.type = type.substr(0, type.find(':'));
  form.purpose = option.get_description();
  form.standard = option.get_default_str();
  if (option.get_items_expected_max() > 0) form.takes = kind_of_value(is_argument ? form.name : form.type);
  form.is_required = option.get_required();
  form.repeats = option.get_items_expected_max() > 1;
  form.is_shared = option.get_group() == "Every command";
  return form;
}

// The footer without its example, which goes to `example`.
std::string closing_of(const CLI::App& app, std::string& example) {
  constexpr std::string_view mark = "Example:\n  ";
  const std::string footer = app.get_footer();
  if (!footer.starts_with(mark)) return footer;
  example = footer.substr(mark.size());
  return "";
}

bool is_listed(const CLI::App* command) { return !command->get_name().empty() && !command->get_group().empty(); }

void gather(const CommandForm& form, std::vector<const CommandForm*>& all) {
  all.push_back(&form);
  for (const CommandForm& command : form.commands) gather(command, all);
}

}  // namespace

CommandForm command_form(const CLI::App& app, const std::string& name) {
  CommandForm form;
  form.name = name;
  form.purpose = app.get_description();
  form.group = app.get_group();
  form.closing = closing_of(app, form.example);
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional())
      form.arguments.push_back(option_form(*option));
    else if (!option->get_lnames().empty())
      form.options.push_back(option_form(*option));
  }
  for (const CLI::App* command : app.get_subcommands(is_listed))
    form.commands.push_back(command_form(*command, name + (name.empty() ? "" : " ") + command->get_name()));
  return form;
}

std::vector<const CommandForm*> all_forms(const CommandForm& form) {
  std::vector<const CommandForm*> all;
  gather(form, all);
  return all;
}

}  // namespace cairn
