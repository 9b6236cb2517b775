#include "ops/audit/blame/blame.hpp"

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <mutex>

#include "ops/audit/run_source.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct BlameOptions {
  RunSelection of;
  std::optional<StepId> step;
  std::optional<std::int64_t> seq;
  std::size_t limit = blame_causes;

  bool is_of_one() const { return of.runs.size() == 1 && !of.where && !of.all; }
};

// The kind with the marks of the legend.
std::string marked(const Json& cause) {
  const std::string kind = cause["kind"];
  return kind + (cause["outside"] == true ? " *" : "") + (cause["certain"] == true ? "" : " ?");
}

std::string place_of_cause(const Json& cause) {
  return cause["node"].is_null() ? "" : cause["node"].get<std::string>();
}

void print_legend(const Json& causes) {
  bool has_outside = false, has_doubt = false;
  for (const Json& cause : causes) {
    has_outside = has_outside || cause["outside"] == true;
    has_doubt = has_doubt || cause["certain"] == false;
  }
  if (has_outside) print_paragraph("* came from outside of the rules, and could have been another.");
  if (has_doubt) print_paragraph("? may have been read: that step's handler may read every channel.");
}

void print_blame(const Json& blame) {
  print_paragraph(blame["run"].get<std::string>() + "  " + blame["graph"].get<std::string>() + "  " +
                  painted_status(blame["status"].get<std::string>()));
  const Json& of = blame["of"];
  print_below("", "  ", (of["seq"] == 0 ? "" : "Event " + of["seq"].dump() + ": ") + of["says"].get<std::string>());
  if (blame["causes"].empty()) return print_paragraph("It depends on no earlier outcome.");
  Table table({"AWAY", "EVENT", "AT", "KIND", "WHAT"});
  for (const Json& cause : blame["causes"])
    table.add({cause["distance"].dump(), cause["seq"].dump(), place_of_cause(cause), marked(cause), cause["says"]});
  table.print_wrapped();
  print_legend(blame["causes"]);
  if (blame["left_out"] != 0) print_list_goes_on(blame["left_out"].dump() + " more", "--limit N", false);
}

void print_blame_report(const std::string& summary, const Json& report) {
  print_paragraph(summary);
  Table table({"RUNS", "GRAPH", "AT", "KIND", "AWAY", "EXAMPLE"});
  for (const Json& cause : report["causes"]) {
    const Json& example = cause["examples"][0];
    table.add({cause["runs"].dump(), cause["graph"], place_of_cause(cause),
               cause["kind"].get<std::string>() + (cause["outside"] == true ? " *" : ""), cause["nearest"].dump(),
               example["run"].get<std::string>() + " event " + example["seq"].dump() + ": " +
                   example["says"].get<std::string>()});
  }
  if (!table.is_empty()) table.print();
  print_legend(report["causes"]);
  for (const Json& fault : report["faults"])
    print_paragraph(fault["run"].get<std::string>() + ": " + fault["says"].get<std::string>());
}

Exit blame_run(const Settings& settings, const BlameOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.of.runs.front());
  if (!found) return found.error();
  Opened& opened = found->opened;
  if (!opened.store->run(found->run)) return no_such_run(options.of.runs.front());
  opened.client->know_graphs_of(found->run);
  Blamer blamer(*opened.store, opened.client->graphs(), reads_of(opened.catalogue->handlers));
  const Result<Json> blame = blamer.blame(found->run, {{options.step, options.seq}, options.limit});
  if (!blame) return blame.error();
  settings.json ? print_json(*blame) : print_blame(*blame);
  return exit_ok;
}

void add_to_report(BlameReport& report, Blamer& blamer, Store& store, const RunId& run) {
  const std::optional<RunRow> row = store.run(run);
  if (!row) return;  // archived or erased meanwhile
  if (row->status != RunStatus::failed) return report.add_other();
  const Result<Json> blame = blamer.blame(run, {});
  blame ? report.add(*blame) : report.add_fault(run, blame.error().message);
}

Exit blame_runs(const Settings& settings, const BlameOptions& options) {
  if (options.is_of_one()) return blame_run(settings, options);
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<RunSource> source = selected_runs(*opened->store, options.of);
  if (!source) return source.error();
  opened->client->load_all_graphs();
  const Graphs graphs = opened->client->graphs();
  BlameReport report;
  std::mutex showing;
  Progress progress;
  for_each_page(*source, audit_threads(), [&]() -> UseRuns {
    auto blamer = std::make_shared<Blamer>(*opened->store, graphs, reads_of(opened->catalogue->handlers));
    return [&, blamer](const std::vector<RunPlace>& page) {
      for (const RunPlace& place : page) add_to_report(report, *blamer, *opened->store, place.run);
      const std::lock_guard lock(showing);
      progress.show(report.summary());
    };
  });
  progress.wipe();
  settings.json ? print_json(report.json()) : print_blame_report(report.summary(), report.json());
  return exit_ok;
}

Status check_blame(const BlameOptions& options) {
  if (const Status chosen = need_selection(options.of, "blame"); !chosen) return chosen;
  if ((!options.step && !options.seq) || options.is_of_one()) return Done{};
  return Error{Code::invalid, "Expected one run whose step or event is meant, but found a selection of runs."};
}

}  // namespace

void add_blame(CommandLine& line) {
  auto& options = line.keep<BlameOptions>();
  CLI::App& command = add_command(
      line, "blame", "Which earlier outcomes the end of a run depends on, from its record alone", "cairn blame RUN",
      [&](const Settings& settings) { return blame_runs(settings, options); }, [&] { return check_blame(options); });
  add_selection(command, options.of, "Every run that failed");
  const CLI::Range steps(StepId{1}, std::numeric_limits<StepId>::max());
  const CLI::Range seqs(std::int64_t{1}, std::numeric_limits<std::int64_t>::max());
  CLI::Option* step = command.add_option("--step", options.step, "Explain this step in place of the end")->check(steps);
  step->type_name("N");
  command.add_option("--seq", options.seq, "Explain this event")->check(seqs)->excludes(step)->type_name("SEQ");
  command.add_option("--limit", options.limit, "At most so many outcomes of one run (default 100)")
      ->check(CLI::Range(std::size_t{1}, Blame::causes_max))
      ->type_name("N");
}

}  // namespace cairn
