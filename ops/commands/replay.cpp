// What the record says about other ways: replay decides recorded runs again, diff sets two histories side by side.
#include "ops/audit/replay.hpp"

#include <memory>
#include <mutex>

#include "ops/audit/diff.hpp"
#include "ops/audit/run_source.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/terminal/print.hpp"
#include "workers/catalogue.hpp"

namespace cairn {
namespace {

constexpr std::int32_t replayed_events_page = 1'000;

// --- diff -----------------------------------------------------------------------------------------------------------

Result<DiffSide> side_of(Opened& opened, const std::string& text, std::optional<std::int64_t> seq) {
  const Result<RunId> run = run_argument(text);
  if (!run) return run.error();
  Result<RunState> state = opened.client->state(*run, seq);
  if (!state) return state.error();
  Client& client = *opened.client;
  return DiffSide{*std::move(state), [&client, id = *run](std::int64_t after) {
                    Result<std::vector<Event>> page = client.events(id, after, replayed_events_page);
                    return page ? *std::move(page) : std::vector<Event>{};
                  }};
}

void print_changes(const std::string& title, const Json& changes) {
  if (changes.empty()) return;
  print_line(painted(title, Paint::bold));
  for (const Json& change : changes) {
    const std::string path = change["path"];
    if (change.contains("a")) print_line("  " + painted("- " + path + " " + excerpt(change["a"], 100), Paint::red));
    if (change.contains("b")) print_line("  " + painted("+ " + path + " " + excerpt(change["b"], 100), Paint::green));
  }
}

std::string event_line(const Json& event) {
  if (event.is_null()) return "nothing more";
  return "event " + event["seq"].dump() + " " + event["type"].get<std::string>() + "  " + event_summary(event, 120);
}

void print_diff(const Json& diff) {
  for (const char* side : {"a", "b"}) {
    const Json& of = diff[side];
    print_line(std::string(side) + "  " + of["run"].get<std::string>() + "  event " + of["seq"].dump() + "  " +
               painted_status(of["status"].get<std::string>()) + "  cost " + of["cost"].dump() + "  " +
               duration_text(of["ms"].get<std::int64_t>() * 1000));
  }
  if (diff["same"] == true) return print_line("No event differs.");
  print_line(painted("First difference", Paint::bold));
  print_line("  a  " + event_line(diff["first"]["a"]));
  print_line("  b  " + event_line(diff["first"]["b"]));
  print_changes("Channels", diff["channels"]);
  print_changes("Plan", diff["plan"]);
  print_changes("Budgets", diff["budgets"]);
  print_changes("Questions", diff["questions"]);
  for (const char* side : {"a", "b"}) {
    const Json& decisions = diff["decisions"][side];
    if (!decisions.empty()) print_line(painted(std::string("Decisions of ") + side, Paint::bold));
    for (const Json& decision : decisions) print_line("  " + event_line(decision));
  }
}

// --- replay ---------------------------------------------------------------------------------------------------------

void print_replay(const std::string& summary, const Json& report) {
  print_line(summary);
  if (report["diverged"] != 0)
    print_line("Model calls cost " + report["cost"].dump() + ", of which " + report["cost_behind"].dump() +
               " lie behind a divergence.");
  Table table({"NODE", "EVENT", "DECISION", "RUNS", "EXAMPLE"});
  for (const Json& kind : report["divergences"]) {
    const Json& example = kind["examples"][0];
    table.add({kind["node"], kind["type"], kind["decision"].is_null() ? "" : kind["decision"].get<std::string>(),
               kind["runs"].dump(),
               example["run"].get<std::string>() + " event " + example["seq"].dump() + ": " +
                   example["says"].get<std::string>()});
  }
  if (!table.is_empty()) table.print();
  for (const Json& fault : report["faults"])
    print_line(fault["run"].get<std::string>() + ": " + fault["says"].get<std::string>());
}

// The runs that are meant, all of which are there.
Result<RunSource> source_of(Store& store, const RunSelection& selection) {
  if (selection.runs.empty()) return matching_runs(store, unlimited(selection.where.value_or(RunFilter{})));
  std::vector<RunPlace> places;
  for (const std::string& text : selection.runs) {
    const Result<RunId> run = run_argument(text);
    if (!run) return run.error();
    if (!store.run(*run)) return Error{Code::not_found, "Expected run " + text + ", but there is none."};
    places.push_back({*run, shard_of(*run, store.shards())});
  }
  return these_runs(std::move(places));
}

}  // namespace

Exit diff_runs(const Settings& settings, const DiffOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<DiffSide> a = side_of(*opened, options.a, options.from);
  if (!a) return a.error();
  const Result<DiffSide> b = side_of(*opened, options.b.empty() ? options.a : options.b, options.to);
  if (!b) return b.error();
  const Json diff = diff_json(*a, *b);
  settings.json ? print_json(diff) : print_diff(diff);
  return diff["same"] == true ? 0 : 1;
}

Exit replay_runs(const Settings& settings, const ReplayRunsOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  ReplayOptions how;
  if (options.graph) {
    const Result<GraphRef> graph = opened->client->try_graph(*options.graph);
    if (!graph) return graph.error();
    how.graph = *graph;
  }
  Ports ports(*opened->catalogue->model, *opened->catalogue->tools);
  how.ports = &ports;
  if (options.handlers) how.handlers = &opened->catalogue->handlers;
  const Result<RunSource> source = source_of(*opened->store, options.of);
  if (!source) return source.error();
  ReplayReport report;
  std::mutex showing;
  Progress progress;
  for_each_page(*source, audit_threads(), [&]() -> UseRuns {
    auto replayer = std::make_shared<Replayer>(*opened->store, opened->client->graphs(), how);
    return [&, replayer](const std::vector<RunPlace>& page) {
      std::vector<RunId> runs;
      for (const RunPlace& place : page) runs.push_back(place.run);
      replayer->replay(runs, [&](const Replayed& replayed) { report.add(replayed); });
      const std::lock_guard lock(showing);
      progress.show(report.summary());
    };
  });
  progress.wipe();
  settings.json ? print_json(report.json()) : print_replay(report.summary(), report.json());
  return report.is_clean() ? 0 : 1;
}

}  // namespace cairn
