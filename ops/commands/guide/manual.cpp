#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/guide/manual_page.hpp"
#include "ops/service/build_facts.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

struct ManualOptions {
  std::string command;
  std::string to;  // "": stdout
};

Status write_page(const fs::path& folder, const ManualPage& page) {
  const fs::path path = folder / (page.name + ".1");
  std::error_code fault;
  fs::create_directories(folder, fault);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << page.text;
  if (out.flush()) return Done{};
  return Error{Code::invalid, "Expected to write " + path.string() + ", but it cannot be written."};
}

Exit print_page(const std::vector<ManualPage>& pages, const std::string& command) {
  const std::string name = command.empty() ? "cairn" : "cairn-" + command;
  for (const ManualPage& page : pages) {
    if (page.name != name) continue;
    std::cout << page.text;
    return exit_ok;
  }
  return Error{Code::not_found, "Expected a command that has a manual page, but \"" + command + "\" has none."};
}

Exit manual(const CommandLine& line, const ManualOptions& options) {
  const BuildFacts facts = build_facts();
  const std::vector<ManualPage> pages =
      manual_pages(command_form(line.app), std::string(facts.version), std::string(facts.released));
  if (options.to.empty()) return print_page(pages, options.command);
  for (const ManualPage& page : pages)
    if (const Status written = write_page(options.to, page); !written) return written.error();
  print_line("Wrote " + std::to_string(pages.size()) + " manual pages into " + options.to + ".");
  return exit_ok;
}

}  // namespace

void add_manual(CommandLine& line) {
  auto& options = line.keep<ManualOptions>();
  CLI::App& command =
      add_command(line, "manual", "A manual page for man(1), or all of them", "cairn manual schedule | man -l -",
                  paged([&](const Settings&) { return manual(line, options); }));
  CLI::Option* of = command.add_option("COMMAND", options.command, "The command (default: the program)");
  of->type_name("");
  command.add_option("--to", options.to, "Write the pages of all commands into this folder")
      ->type_name("FOLDER")
      ->excludes(of);
}

}  // namespace cairn
