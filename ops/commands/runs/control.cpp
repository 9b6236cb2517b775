// pause, resume, retry, cancel and move: an operator's commands to one run or to very many.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>

#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/database.hpp"
#include "ops/service/run_commands.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

// Every refusal is printed and the other runs go on; the exit code is that of the first refusal.
enum class Control : std::uint8_t { pause, resume, retry, cancel, move };

struct ControlOptions {
  Control what = Control::pause;
  std::vector<std::string> runs;
  std::optional<RunFilter> where;  // in place of `runs`
  bool dry_run = false;            // print what would become of the runs and write nothing
  std::string reason;              // of a cancel
  std::optional<Json> graph;       // of a move: the version to go on with
};

Command command_of(const ControlOptions& options) {
  switch (options.what) {
    case Control::pause:
      return Pause{};
    case Control::resume:
      return Resume{};
    case Control::retry:
      return Reopen{};
    case Control::cancel:
      return Cancel{options.reason};
    case Control::move:
      return MoveRun{};
  }
  CHECK(false);
}

// Carries the command out on runs and prints the result of each; a refusal never stops the others.
class Controlling {
 public:
  Controlling(Opened& opened, const Settings& settings, const ControlOptions& options)
      : opened_(opened), settings_(settings), dry_run_(options.dry_run), command_(command_of(options)) {}

  // Refuses `invalid`: the graph's faults. It is stored when the first run moves to it.
  Status move_to(const Json& text) {
    const Result<GraphRef> graph = opened_.client->try_graph(text);
    if (!graph) return graph.error();
    graph_ = *graph;
    std::get<MoveRun>(command_).version = graph_->version;
    return Done{};
  }

  void apply(const std::vector<RunId>& runs) {
    store_graph_for(runs);
    const std::vector<Result<std::string>> statuses =
        dry_run_ ? statuses_if(runs) : statuses_after(*opened_.client, *opened_.store, runs, command_);
    for (std::size_t i = 0; i < runs.size(); ++i) print_result(to_string(runs[i]), statuses[i]);
    std::cout.flush();
  }

  void print_result(const std::string& run, const Result<std::string>& status) {
    ++printed_;
    if (!status) {
      std::cerr << "cairn: " << visible(status.error().message) << '\n';
      if (exit_ == exit_ok) exit_ = exit_code(status.error().code);
    }
    if (settings_.json)
      print_json(json_of(run, status));
    else if (status)
      print_line(run + " " + (dry_run_ ? "would be " : "") + painted_status(*status));
  }

  ExitCode exit() const { return exit_; }
  bool has_printed() const { return printed_ > 0; }

 private:
  Json json_of(const std::string& run, const Result<std::string>& status) const {
    Json line = {{"run", run}};
    if (status)
      line["status"] = *status;
    else
      line["refused"] = status.error().message;
    if (dry_run_) line["dry_run"] = true;
    return line;
  }

  void store_graph_for(const std::vector<RunId>& runs) {
    const auto can_move = [this](const RunId& run) { return opened_.client->state_if(run, command_).ok(); };
    if (graph_ == nullptr || dry_run_ || std::none_of(runs.begin(), runs.end(), can_move)) return;
    opened_.client->store_graph(graph_, false);
    graph_ = nullptr;
  }

  // Decided on the current state; nothing is written.
  std::vector<Result<std::string>> statuses_if(const std::vector<RunId>& runs) {
    std::vector<Result<std::string>> statuses;
    for (const RunId& run : runs) {
      const Result<RunState> state = opened_.client->state_if(run, command_);
      statuses.push_back(state ? Result<std::string>(status_word(*state)) : Result<std::string>(state.error()));
    }
    return statuses;
  }

  Opened& opened_;
  const Settings& settings_;
  const bool dry_run_;
  Command command_;
  GraphRef graph_;  // not stored yet
  ExitCode exit_ = exit_ok;
  int printed_ = 0;
};

void apply_to_named(Controlling& controlling, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (const Result<RunId> run = run_argument(text))
      controlling.apply({*run});
    else
      controlling.print_result(text, run.error());
  }
}

Exit control_runs(const Settings& settings, const ControlOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Controlling controlling(*opened, settings, options);
  if (options.graph)
    if (const Status known = controlling.move_to(*options.graph); !known) return known.error();
  if (!options.where) {
    apply_to_named(controlling, options.runs);
    return controlling.exit();
  }
  for_each_page(*opened->store, unlimited(*options.where), [&](std::span<const RunRow> page) {
    std::vector<RunId> runs;
    for (const RunRow& row : page) runs.push_back(row.id);
    controlling.apply(runs);
  });
  if (!settings.json && !controlling.has_printed()) print_line(painted("No run matches.", Paint::dim));
  return controlling.exit();
}

struct ControlCommand {
  CLI::App& app;
  ControlOptions& options;
};

ControlCommand add_one(CommandLine& line, const std::string& name, const std::string& purpose, Control what) {
  auto& options = line.keep<ControlOptions>();
  options.what = what;
  CLI::App& command = add_command(
      line, name, purpose, [&](const Settings& settings) { return control_runs(settings, options); },
      [&options, name]() -> Status {
        if (!options.runs.empty() || options.where) return Done{};
        return Error{Code::invalid, "Expected the runs to " + name + " as RUN... or by --where, but found none."};
      });
  CLI::Option* runs = command.add_option("RUN", options.runs, "The runs' ids")->type_name("");
  add_where(command, [&](const RunFilter& filter) { options.where = filter; })->excludes(runs);
  command.add_flag("--dry-run", options.dry_run, "Tell what would become of the runs, and write nothing");
  return {command, options};
}

}  // namespace

void add_control(CommandLine& line) {
  add_one(line, "pause", "Stop runs from going on: what is held ends its step, nothing new begins", Control::pause);
  add_one(line, "resume", "Let paused runs go on", Control::resume);
  add_one(line, "retry", "Give failed runs another chance: their failed steps begin again", Control::retry);
  const ControlCommand cancel = add_one(line, "cancel", "End runs as aborted; their children follow", Control::cancel);
  cancel.app.add_option("--reason", cancel.options.reason, "Why, for the record")->type_name("TEXT");
  const ControlCommand move =
      add_one(line, "move", "Put running runs under another version of their graph", Control::move);
  add_graph_text(move.app, "The version to go on with; `cairn graph add` gives it to new runs as well",
                 move.options.graph)
      ->required();
}

}  // namespace cairn
