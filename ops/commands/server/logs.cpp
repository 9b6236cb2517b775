#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/service/log_folder.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds read_pause{200};

struct LogsOptions {
  bool follow = false;
  std::int64_t worker = 0;  // the pid; 0: any process
  LogLevel level = LogLevel::debug;
};

std::string_view word_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::off:
      return "off";
  }
  return "off";
}

// A line stays as it was written; with --json, one for people becomes an object.
void print_log_line(const LogLine& line, bool json) {
  if (!json || line.text.starts_with('{')) return print_line(visible(line.text));
  print_json({{"at", time_text(line.at_us)},
              {"level", word_of(line.level)},
              {"pid", line.pid},
              {"message", message_of(line)}});
}

Exit show_logs(const Settings& settings, const LogsOptions& options) {
  const std::string folder = log_folder(choose_database(settings));
  const StopSignals signals;
  LogReader reader(folder);
  bool is_shown = false;
  const auto print = [&](const LogLine& line) {
    if (line.level < options.level || (options.worker != 0 && line.pid != options.worker)) return;
    is_shown = true;
    print_log_line(line, settings.json);
  };
  const bool is_any = reader.read(print);
  std::cout.flush();
  if (!is_any && !options.follow)
    return Error{Code::not_found, "Expected the logs of `cairn up` in " + folder + ", but there are none."};
  if (!is_shown && !options.follow && !settings.json) std::cerr << "cairn: No line of the logs matches.\n";
  while (options.follow && !signals.arrived() && std::cout) {
    std::this_thread::sleep_for(read_pause);
    reader.read(print);
    std::cout.flush();
  }
  return exit_ok;
}

Status take_level(const std::string& word, LogLevel& level) {
  const std::optional<LogLevel> found = parse_log_level(word);
  if (!found)
    return Error{Code::invalid, "Expected --level to be debug, info, warn or error, but found \"" + word + "\"."};
  level = *found;
  return Done{};
}

}  // namespace

void add_logs(CommandLine& line) {
  auto& options = line.keep<LogsOptions>();
  CLI::App& command = add_command(
      line, "logs", "The log of the workers and the API of `cairn up`, in the order of time",
      "cairn logs --follow --level warn",
      paged([&](const Settings& settings) { return show_logs(settings, options); }, [&] { return options.follow; }));
  command.add_flag("--follow", options.follow, "Go on with what is added, until SIGINT or SIGTERM");
  command.add_option("--worker", options.worker, "Of the process with this id alone, as `cairn workers` shows it")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->type_name("PID");
  add_text(command, "--level", "L", "Of this level or a worse one: debug, info, warn, error",
           [&](const std::string& text) { return take_level(text, options.level); });
}

}  // namespace cairn
