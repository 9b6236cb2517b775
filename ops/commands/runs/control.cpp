// pause, resume, retry, reset, cancel and move: an operator's commands to one run or to very many.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>

#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/database.hpp"
#include "ops/service/run_commands.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

// Every refusal is printed and the other runs go on; the exit code is that of the first refusal.
using Kind = ControlRequest::Kind;

struct ControlOptions {
  ControlRequest request;
  std::vector<std::string> runs;
  std::optional<RunQuery> where;  // in place of `runs`
  std::optional<Json> graph;      // of a move: the version to go on with
};

// Carries the command out on runs and prints the result of each; a refusal never stops the others.
class Controlling {
  static constexpr std::int64_t lines_max = 20;

 public:
  Controlling(Opened& opened, const Settings& settings, const ControlOptions& options)
      : opened_(opened), settings_(settings), request_(options.request) {}

  // Refuses `invalid`: the graph's faults.
  Status move_to(const Json& text) {
    const Result<GraphRef> graph = opened_.client->try_graph(text);
    if (!graph) return graph.error();
    request_.graph = *graph;
    return Done{};
  }

  // So many runs are to come, as far as is known.
  void expect(std::int64_t total) { total_ = total; }

  void apply(const std::vector<RunId>& runs) {
    const std::vector<Result<Controlled>> results = control_runs(*opened_.client, *opened_.store, runs, request_);
    for (std::size_t i = 0; i < runs.size(); ++i) print_result(to_string(runs[i]), results[i]);
    std::cout.flush();
  }

  // JSON has a line for each run; people get the first ones and, of many, the sum.
  void print_result(const std::string& run, const Result<Controlled>& done) {
    ++count_;
    if (done ? count_ <= lines_max : refused_ < lines_max) progress_.wipe();  // a line follows
    if (done) {
      ++statuses_[done->status];
    } else {
      ++refused_;
      if (exit_ == exit_ok) exit_ = exit_code(done.error().code);
      if (settings_.json || refused_ <= lines_max) std::cerr << "cairn: " << visible(done.error().message) << '\n';
    }
    if (settings_.json)
      print_json(json_of(run, done));
    else if (done && count_ <= lines_max)
      print_paragraph(run + " " + (dry_run() ? "would be " : "") + painted_status(done->status) +
                      (done->is_ending ? ", and cleans up first" : "") + fork_text(*done));
    if (!settings_.json && progress_.is_due()) progress_.show(progress_text());
  }

  void print_sum() {
    progress_.wipe();
    if (settings_.json || count_ <= lines_max) return;
    std::string line = counted(count_, "run");
    for (const auto& [status, count] : statuses_)
      line += ", " + std::to_string(count) + (dry_run() ? " would be " : " ") + painted_status(status);
    if (refused_ > 0) line += ", " + std::to_string(refused_) + " " + painted("refused", Paint::red);
    print_paragraph(line + ".");
  }

  ExitCode exit() const { return exit_; }
  bool has_printed() const { return count_ > 0; }

 private:
  bool dry_run() const { return request_.dry_run; }

  std::string progress_text() const {
    return total_ >= count_ ? grouped(count_) + " of " + grouped(total_) : counted(count_, "run");
  }

  Json json_of(const std::string& run, const Result<Controlled>& done) const {
    Json line = {{"run", run}};
    if (done)
      line["status"] = done->status;
    else
      line["refused"] = done.error().message;
    if (done && done->is_ending) line["ending"] = true;
    if (dry_run()) line["dry_run"] = true;
    if (!done || !done->fork) return line;
    line["forked_at"] = *done->fork->forked_at;
    if (!dry_run()) line["fork"] = to_string(done->fork->run);
    return line;
  }

  // Where the run goes on, if it does so as another one.
  std::string fork_text(const Controlled& done) const {
    if (!done.fork) return "";
    const std::string at = " from event " + std::to_string(*done.fork->forked_at);
    return dry_run() ? at : at + " as " + to_string(done.fork->run);
  }

  Opened& opened_;
  const Settings& settings_;
  ControlRequest request_;
  ExitCode exit_ = exit_ok;
  std::int64_t count_ = 0;
  std::int64_t total_ = 0;  // 0: unknown
  std::int64_t refused_ = 0;
  std::map<std::string, std::int64_t> statuses_;
  Progress progress_;
};

// Only for those who see the progress; a lineage is not counted.
std::int64_t count_for_progress(Store& store, const RunFilter& where, const Settings& settings) {
  if (settings.json || !is_terminal() || where.lineage) return 0;
  const std::int64_t count = store.all_runs().count(where, runs_counted_max);
  return count < runs_counted_max ? count : 0;
}

void apply_to_named(Store& store, Controlling& controlling, const std::vector<std::string>& texts) {
  controlling.expect(std::ssize(texts));
  for (const std::string& text : texts) {
    if (const Result<RunId> run = run_meant(store, text))
      controlling.apply({*run});
    else
      controlling.print_result(text, run.error());
  }
  controlling.print_sum();
}

Exit control_runs(const Settings& settings, const ControlOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Controlling controlling(*opened, settings, options);
  if (options.graph)
    if (const Status known = controlling.move_to(*options.graph); !known) return known.error();
  if (!options.where) {
    apply_to_named(*opened->store, controlling, options.runs);
    return controlling.exit();
  }
  const Result<RunFilter> where = meant_filter(*opened->store, *options.where);
  if (!where) return where.error();
  controlling.expect(count_for_progress(*opened->store, *where, settings));
  for_each_page(*opened->store, unlimited(*where), [&](std::span<const RunRow> page) {
    std::vector<RunId> runs;
    for (const RunRow& row : page) runs.push_back(row.id);
    controlling.apply(runs);
  });
  controlling.print_sum();
  if (controlling.has_printed()) return controlling.exit();
  if (const Status known = check_names_known(*opened->store, *where); !known)
    std::cerr << "cairn: " << visible(known.error().message) << '\n';
  if (!settings.json) print_line(painted("No run matches.", Paint::dim));
  return controlling.exit();
}

struct ControlCommand {
  CLI::App& app;
  ControlOptions& options;
};

ControlCommand add_one(CommandLine& line, const std::string& name, const std::string& purpose,
                       const std::string& example, Kind kind) {
  auto& options = line.keep<ControlOptions>();
  options.request.kind = kind;
  CLI::App& command = add_command(
      line, name, purpose, example, [&](const Settings& settings) { return control_runs(settings, options); },
      [&options, name]() -> Status {
        if (!options.runs.empty() || options.where) return check_reason_of(options.request);
        return Error{Code::invalid, "Expected the runs to " + name + " as RUN... or by --where, but found none."};
      });
  CLI::Option* runs = command.add_option("RUN", options.runs, "The runs' ids")->type_name("");
  add_where(command, [&](const RunQuery& query) { options.where = query; })->excludes(runs);
  command.add_option("--reason", options.request.reason, "Why, for the record")->type_name("TEXT");
  command.add_flag("--dry-run", options.request.dry_run, "Say what would become of the runs, and write nothing");
  return {command, options};
}

}  // namespace

void add_control(CommandLine& line) {
  add_one(line, "pause", "Stop runs from going on: what is held ends its step, nothing new begins",
          "cairn pause --where graph=order,status=running", Kind::pause);
  add_one(line, "resume", "Let paused runs go on", "cairn resume --where graph=order,status=paused", Kind::resume);
  add_one(line, "retry", "Give failed runs another chance: their failed steps begin again, in place or as a fork",
          "cairn retry --where graph=order,status=failed,since=2h --dry-run", Kind::retry);
  const ControlCommand reset =
      add_one(line, "reset", "Go back to an earlier node or event of runs, as forks; what still runs is cancelled",
              "cairn reset RUN --to make", Kind::reset);
  reset.app.add_option("--to", reset.options.request.to, "A node, which begins again, or an event's number")
      ->required()
      ->type_name("NODE|SEQ");
  const ControlCommand cancel = add_one(line, "cancel", "End runs as aborted; their children follow",
                                        "cairn cancel RUN --reason 'Ordered twice.'", Kind::cancel);
  cancel.app.add_flag("--now", cancel.options.request.now, "Without the graph's cleanup (\"finally\")");
  const ControlCommand move =
      add_one(line, "move", "Put running runs under another version of their graph",
              "cairn move --where graph=order,status=running --graph order.json --dry-run", Kind::move);
  add_graph_text(move.app, "The version to go on with; `cairn graph add` gives it to new runs as well",
                 move.options.graph)
      ->required();
}

}  // namespace cairn
