#include "ops/command_help.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

#include "engine/nearest.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string in_lines(const std::string& text, std::size_t columns) {
  std::string lines;
  for (const std::string& line : wrapped(text, columns)) lines += (lines.empty() ? "" : "\n") + line;
  return lines;
}

// Without the parser's own marks of types, ranges and what excludes what; as wide as the terminal.
class PlainFormatter final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return described(option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream row;
    CLI::detail::format_help(row, command->get_name(), described(command->get_description()), column_width_);
    return row.str();
  }

  std::string make_description(const CLI::App* app) const override {
    return in_lines(app->get_description(), line_width()) + "\n";
  }

  // Paragraphs are wrapped; lines that are set off are to be typed as they stand.
  std::string make_footer(const CLI::App* app) const override {
    if (!is_terminal()) return CLI::Formatter::make_footer(app);
    std::string footer, paragraph;
    std::istringstream lines(app->get_footer() + "\n\n");
    for (std::string line; std::getline(lines, line);) {
      const bool goes_on = !line.empty() && line.front() != ' ';
      if (goes_on) paragraph += (paragraph.empty() ? "" : " ") + line;
      if (goes_on) continue;
      if (!paragraph.empty()) footer += in_lines(paragraph, line_width()) + "\n";
      paragraph.clear();
      footer += line + "\n";
    }
    while (footer.ends_with('\n')) footer.pop_back();
    return footer.empty() ? footer : footer + "\n";
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    std::string text = type.empty() ? "" : " " + type.substr(0, type.find(':'));
    if (!option->get_default_str().empty()) text += " (default " + option->get_default_str() + ")";
    if (option->get_required() && !option->get_positional()) text += " (required)";
    return text;
  }

 private:
  std::string described(const std::string& text) const {
    constexpr std::size_t columns_min = 20;
    const std::size_t taken = std::min(line_width(), column_width_);
    return in_lines(text, std::max(columns_min, line_width() - taken));
  }
};

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

void set_form(CLI::App& app, const std::shared_ptr<PlainFormatter>& formatter) {
  app.formatter(formatter);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) set_form(*command, formatter);
}

std::string no_command(const CLI::App& app, const std::string& path, const std::string& word) {
  std::vector<std::string> known = names_of(app);
  if (app.get_parent() == nullptr) known.emplace_back("--version");
  return "Expected a command, but \"" + word + "\" is none" + did_you_mean(word, known) + ": see `" + path +
         " --help`.";
}

// An option takes the next argument, if it is not part of its own.
bool takes_next(const CLI::App& app, const std::string& argument) {
  if (argument.find('=') != std::string::npos) return false;
  const CLI::Option* option = app.get_option_no_throw(argument);
  return option != nullptr && option->get_items_expected_max() > 0;
}

std::string path_of(const CLI::App& app, const CLI::App*& last) {
  std::string path = "cairn";
  last = &app;
  for (; !last->get_subcommands().empty(); last = last->get_subcommands().front())
    path += " " + last->get_subcommands().front()->get_name();
  return path;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->nonpositional(); }))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The parser's own words as a sentence of ours; others as they are.
std::string as_refusal(std::string fault) {
  static const std::vector<std::pair<std::regex, const char*>> forms = {
      {std::regex("(--[a-z-]+): [0-9]+ required (.+) missing"), "Expected $2 after $1, but found none"},
      {std::regex("([A-Z_]+|--[a-z-]+) is required"), "Expected $1, but found none"},
      {std::regex("([A-Z_]+|--[a-z-]+): Value (.+) not in range (\\S+) to (\\S+)"),
       "Expected $1 from $3 to $4, but found $2"},
      {std::regex("([A-Z_]+|--[a-z-]+): (.*) not in \\{(.+)\\}"), "Expected $1 as one of $3, but found $2"},
      {std::regex("Could not convert: ([A-Z_]+|--[a-z-]+) = (.*)"), "Expected a number as $1, but found $2"},
      {std::regex("([A-Z_]+|--[a-z-]+) excludes ([A-Z_]+|--[a-z-]+)"),
       "Expected $1 or $2, but found both: one excludes the other"},
      {std::regex("(--[a-z-]+) requires (--[a-z-]+)"), "Expected $2 with $1, but found none"}};
  if (fault.size() > 1'000) return fault;  // an expression calls itself for each letter
  for (const auto& [form, sentence] : forms)
    if (std::regex_match(fault, form)) return std::regex_replace(fault, form, sentence);
  return fault;
}

}  // namespace

void set_help_form(CLI::App& app) {
  auto formatter = std::make_shared<PlainFormatter>();
  formatter->column_width(32);
  set_form(app, formatter);
}

Result<std::vector<std::string>> help_first(const CLI::App& app, std::vector<std::string> arguments) {
  const CLI::App* at = &app;
  std::string path = "cairn";
  for (std::size_t i = 0; i < arguments.size() && !names_of(*at).empty();) {
    if (arguments[i].starts_with('-')) {
      i += takes_next(*at, arguments[i]) ? 2 : 1;
      continue;
    }
    if (at == &app && arguments[i] == "help") {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      arguments.emplace_back("--help");
      continue;
    }
    const CLI::App* next = command_named(*at, arguments[i]);
    if (next == nullptr && at->get_require_subcommand_min() == 0) break;  // an argument of its own
    if (next == nullptr) return Error{Code::invalid, no_command(*at, path, arguments[i])};
    path += " " + arguments[i++];
    at = next;
  }
  return arguments;
}

std::string usage_sentence(const CLI::App& app, std::string fault) {
  const CLI::App* at = nullptr;
  const std::string path = path_of(app, at);
  for (const std::string& left : at->remaining()) {
    if (!left.starts_with('-') || left == "-") continue;
    const std::string name = left.substr(0, left.find('='));
    return "Expected an option of `" + path + "`, but found " + name + did_you_mean(name, options_of(*at)) + ": see `" +
           path + " --help`.";
  }
  if (const std::vector<std::string> left = at->remaining(); !left.empty() && at->get_require_subcommand_min() == 0)
    return "Expected nothing more after the arguments of `" + path + "`, but found " + left.front() + ": see `" + path +
           " --help`.";
  if (at->get_require_subcommand_min() > 0) fault = "Expected a command, but found none";
  fault = as_refusal(std::move(fault));
  return fault + (fault.ends_with('.') ? " See `" : ": see `") + path + " --help`.";
}

}  // namespace cairn
