// Declarations of commands on the command line: a command's file states its name, its options and its function with
// these; and the options that several commands share. A text that cannot be understood is a usage error with the
// sentence of the refusal. Used from one thread, before and while the command line is parsed.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ops/requests/listen_address.hpp"
#include "ops/requests/requests.hpp"
#include "ops/terminal/exit_code.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cairn {

struct TraceExportOptions;

struct CommandLine {
  explicit CommandLine(CLI::App& of) : app(of) {}

  // A value that lives as long as the command line: a command's options are parsed into it.
  template <class T>
  T& keep() {
    return std::any_cast<T&>(kept.emplace_back(T{}));
  }

  CLI::App& app;
  std::string heading;  // of `cairn --help`, over the commands that are added from now on
  Settings settings;
  std::function<Exit()> chosen;  // the command that was parsed, ready to run
  std::deque<std::any> kept;
};

using Run = std::function<Exit(const Settings&)>;
using OptionCheck = std::function<Status()>;

// Adds a command with the options that every command has. Its help ends with `example`, the line that a person would
// type first; only a command that the help does not list has none (""). When it is parsed, `check` may refuse its
// options together; `run` is called when the whole command line has been understood.
CLI::App& add_command(CommandLine& line, const std::string& name, const std::string& purpose,
                      const std::string& example, Run run, OptionCheck check = {});
CLI::App& add_command(CommandLine& line, CLI::App& parent, const std::string& name, const std::string& purpose,
                      const std::string& example, Run run, OptionCheck check = {});
// The command of one who reads: on a terminal its output goes through the pager where it is longer than the screen
// (terminal/pager), but not with --no-pager, nor if `goes_on` says that this output is followed as it comes.
Run paged(Run run, std::function<bool()> goes_on = {});
// Adds a name that only groups commands.
CLI::App& add_group(CommandLine& line, const std::string& name, const std::string& purpose, const std::string& example);

// --json, --no-pager, --dsn and --data.
void add_settings(CLI::App& app, Settings& settings);

// Options whose texts `take` parses. `type` is the placeholder in the help.
using TakeText = std::function<Status(const std::string&)>;
using TakeList = std::function<Status(const std::vector<std::string>&)>;
CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      TakeText take);
CLI::Option* add_list(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      TakeList take);

// Stores what was read, or passes on the refusal.
template <class T, class U>
Status assign(T& value, Result<U> read) {
  if (!read) return std::move(read).error();
  value = *std::move(read);
  return Done{};
}

void add_tools(CommandLine& line, CLI::App& app);
void add_run(CLI::App& app, std::string& run);
void add_tags(CLI::App& app, const std::string& says, Tags& tags);
void add_moment(CLI::App& app, Moment& at);
CLI::Option* add_graph_text(CLI::App& app, const std::string& says, std::optional<Json>& graph);
CLI::Option* add_where(CLI::App& app, std::function<void(const RunQuery&)> take);
// --trust KEYFILE, repeatable.
void add_trust(CLI::App& app, std::vector<std::string>& files);
// --except RUN, repeatable; runs_meant() says which they are.
void add_except(CLI::App& app, std::vector<std::string>& runs);
void add_listen(CLI::App& app, const std::string& says, std::function<void(const ListenAddress&)> take);

// --otlp URL and --otlp-contents.
void add_traces(CLI::App& app, const std::string& says, TraceExportOptions& traces);
// Refuses `invalid`: contents without a collector.
Status check_traces(const TraceExportOptions& traces);

// RUN..., --all or --where, each without the others.
void add_selection(CLI::App& app, RunSelection& selection, const std::string& all_says);
// Refuses an empty selection.
Status need_selection(const RunSelection& selection, const std::string& verb);

// The options of `cairn runs` and `cairn report` that choose runs.
void add_run_filter(CLI::App& app, RunQuery& runs);

// The pages of a history: --before, which `before` keeps, and the line that ends a page which is not the last.
CLI::Option* add_before(CLI::App& app, std::int64_t& before);
void print_older_ones(std::size_t shown, std::int64_t oldest, bool json);

}  // namespace cairn
