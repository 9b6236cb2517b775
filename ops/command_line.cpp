#include "ops/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <new>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "engine/corrupt_history.hpp"
#include "ops/bench/bench.hpp"
#include "ops/command_help.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/build_facts.hpp"
#include "ops/service/database.hpp"
#include "ops/service/environment.hpp"
#include "ops/terminal/pager.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/ports/allocator.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

// Every command, in the order of `cairn --help`, under its headings.
const struct CommandGroup {
  const char* heading;
  std::vector<void (*)(CommandLine&)> commands;
} command_table[] = {
    {"Runs",
     {add_start, add_starts, add_batch, add_wait, add_questions, add_answer, add_signal, add_runs, add_show, add_events,
      add_explain, add_plan, add_report}},
    {"Many runs, or another way", {add_control, add_fork, add_diff}},
    {"Graphs", {add_graph, add_simulate, add_test_server, add_skill}},
    {"Workers, database, API",
     {add_up, add_down, add_logs, add_work, add_serve, add_mcp, add_migrate, add_backup, add_restore, add_distribute,
      add_feed, add_token, add_schedule, add_hook, add_queue, add_workers, add_doctor, add_psql}},
    {"The record", {add_verify, add_replay, add_blame, add_rebuild, add_export, add_import, add_archive, add_erase}},
    {"Data and measurement", {add_dataset, add_corpus, add_planners, add_bench, add_bench_worker, add_bench_model}},
    {"The program itself", {add_version, add_manual, add_completion}},
};

void add_commands(CommandLine& line) {
  line.app.require_subcommand(1);
  line.app.set_version_flag("--version", "cairn " + std::string(build_facts().version), "Print the version");
  line.app.footer(
      "Without --dsn, CAIRN_DSN or libpq's variables the database is an embedded one in --data, CAIRN_DATA or\n"
      "~/.local/share/cairn, started by the first command that needs it and stopped by `cairn down`.\n"
      "Exit codes: 0 ok, 1 failed run or finding, 2 usage, 3 not found, 4 refused, 5 database unavailable.\n\n"
      "Try:  cairn start seven_node --wait --input \\\n"
      "        '{\"repository\": \"'$PWD'\", \"question\": \"Who owns engine?\"}'");
  add_settings(line.app, line.settings);
  for (const auto& [heading, commands] : command_table) {
    line.heading = heading;
    for (const auto add : commands) add(line);
  }
  set_help_form(line.app);
}

constexpr std::size_t sentence_bytes_max = 2'000;

int say(ExitCode code, const std::string& sentence) {
  std::cerr << "cairn: " + readable_line(sentence, sentence_bytes_max) + "\n";
  return code;
}

int report(const Error& error) { return say(exit_code(error.code), error.message); }

int say_it_broke(const std::exception& fault) {
  return say(exit_finding, std::string("Expected the command to work, but it broke: ") + fault.what());
}

constexpr std::string_view insufficient_right = "42501";

// A file of tools or models that is none, or is missing, is an argument that cannot be understood, also where a
// variable names it: whether the command failed by one is found out by opening them again.
bool is_about_configuration(const Settings& settings, const Error& error) {
  if (error.code != Code::invalid && error.code != Code::not_found && error.code != Code::limit) return false;
  const auto catalogue = open_catalogue(settings);
  return !catalogue && catalogue.error().message == error.message;
}

int run_chosen(const CommandLine& line) {
  try {
    make_arenas();
    const Exit result = line.chosen();
    if (!result && is_about_configuration(line.settings, result.error()))
      return say(exit_usage, result.error().message);
    if (!result) return report(result.error());
    std::cout.flush();
    return std::cout ? *result : say(exit_finding, "Expected to write the answer to stdout, but it cannot be written.");
  } catch (const StoreUnavailable& fault) {
    return report({Code::unavailable, fault.what()});
  } catch (const PostgresError& fault) {
    if (fault.sqlstate() == insufficient_right)
      return report({Code::unsupported,
                     std::string("Expected a login that may do this, for example one in the role cairn_app, but: ") +
                         fault.what()});
    return say_it_broke(fault);
  } catch (const CorruptHistory& fault) {
    return report({Code::corrupt, fault.what()});
  } catch (const std::bad_alloc&) {
    return say(exit_finding, "Expected memory enough for the command (`ulimit -a`), but it is used up.");
  } catch (const std::system_error& fault) {
    if (!is_shortage(fault.code())) return say_it_broke(fault);
    return say(exit_finding,
               std::string("Expected descriptors, threads and memory enough for the command (`ulimit -a`), but: ") +
                   fault.what());
  } catch (const std::exception& fault) {
    return say_it_broke(fault);
  }
}

}  // namespace

int run_command_line(int argc, const char* const* argv, std::shared_ptr<const OwnWork> own) {
  occupy_standard_streams();
  hide_from_other_processes();
  raise_open_files();
  if (const Status log = open_log_of_environment(); !log) return say(exit_usage, log.error().message);
  for (int i = 1; i < argc; ++i)
    if (!is_utf8(argv[i]))
      return say(exit_usage, "Expected arguments in UTF-8, but argument " + std::to_string(i) + " is not.");
  CLI::App app{"Cairn: an event-sourced workflow engine with a persistent job queue, for planners.", "cairn"};
  CommandLine line(app);
  line.settings.own = std::move(own);
  add_commands(line);
  if (argc == 1 && isatty(STDERR_FILENO) == 1)
    std::cerr << app.help() << '\n';  // then the sentence that says what lacks
  Result<std::vector<std::string>> arguments = help_first(app, {argv + 1, argv + argc});
  if (!arguments) return say(exit_usage, arguments.error().message);
  try {
    std::reverse(arguments->begin(), arguments->end());  // as the parser takes them
    app.parse(*std::move(arguments));
  } catch (const CLI::Success& asked) {  // --help, --version
    const Pager pager(!line.settings.no_pager);
    return app.exit(asked);
  } catch (const CLI::ParseError& fault) {
    return say(exit_usage, usage_sentence(app, fault.what()));
  }
  if (const Status fine = check_environment(line.settings); !fine) return say(exit_usage, fine.error().message);
  return run_chosen(line);
}

}  // namespace cairn
