#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <random>

#include "engine/graph_parsing.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/graphs/graph_shelf.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/chain.hpp"
#include "workers/simulation/shrink.hpp"
#include "workers/simulation/simulation.hpp"

namespace cairn {
namespace {

using simulation::Cast;
using simulation::Course;

constexpr int shrink_tries = 300;

struct SimulateOptions {
  std::string graph;  // a file, or the name of a graph that is built in or in the database
  std::uint64_t seeds = 1'000;
  std::optional<std::uint64_t> seed;  // the first one; none: drawn
  Json handlers = Json::object();     // their outcomes; see workers/simulation/script.hpp
  Json input = Json::object();
};

Cast cast_of(const Catalogue& catalogue, const Json& says) {
  Cast cast;
  cast.handlers = catalogue.handlers;
  cast.tools = catalogue.tools->table();
  cast.says = says;
  const Json tools = says.value("tools", Json::object());
  for (const auto& [name, outcomes] : tools.items()) cast.tools.try_emplace(name);
  return cast;
}

struct Tally {
  std::int64_t seeds = 0;
  std::int64_t events = 0;
  std::int64_t happenings = 0;
  double seconds = 0;
  std::map<std::string, std::int64_t> faults;
  std::map<std::string, std::int64_t> runs;

  void add(const Course& course) {
    ++seeds;
    events += course.events;
    happenings += course.happenings;
    for (const auto& [kind, times] : course.faults) faults[kind] += times;
    for (const auto& [status, times] : course.endings) runs[status] += times;
  }
  std::int64_t per_second() const { return static_cast<std::int64_t>(static_cast<double>(seeds) / seconds); }
};

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [name, times] : counts) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(times);
  return text.empty() ? "none" : text;
}

void print_tally(const Settings& settings, std::uint64_t first, const Tally& tally, const Json& finding) {
  if (settings.json)
    return print_json({{"seed", first},
                       {"seeds", tally.seeds},
                       {"seeds_per_second", tally.per_second()},
                       {"events", tally.events},
                       {"faults", tally.faults},
                       {"runs", tally.runs},
                       {"finding", finding}});
  print_line(std::to_string(tally.seeds) + " seeds from " + std::to_string(first) + ", " +
             std::to_string(tally.per_second()) + " a second, " + std::to_string(tally.events) + " events");
  print_line("faults: " + counts_text(tally.faults));
  print_line("runs:   " + counts_text(tally.runs));
  if (finding.is_null()) return print_line("Nothing was found.");
  print_line("Found with seed " + std::to_string(finding["seed"].get<std::uint64_t>()) + " (repeat it with --seed " +
             std::to_string(finding["seed"].get<std::uint64_t>()) + " --seeds 1):");
  for (const Json& line : finding["lines"]) print_line(line.get<std::string>());
}

Exit simulate_graph(const Settings& settings, const SimulateOptions& options) {
  const Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  const Result<std::vector<Json>> graphs = graphs_for(settings, **catalogue, options.graph);
  if (!graphs) return graphs.error();
  std::vector<GraphRef> parsed;
  for (const Json& graph : *graphs) parsed.push_back(stored_graph(graph, graph_version(canonical(graph))));
  const HandlerTable& handlers = (*catalogue)->handlers;
  if (const Status fit = simulation::check_script(options.handlers, parsed, handlers); !fit) return fit.error();

  throw_on_check_failures();
  const Cast cast = cast_of(**catalogue, options.handlers);
  const std::uint64_t first = options.seed ? *options.seed : std::random_device{}();
  Tally tally;
  Json finding;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + options.seeds && finding.is_null(); ++seed) {
    const simulation::Scenario scenario = simulation::scenario_for(seed, *graphs, options.input);
    const Course course = simulate_and_compare(scenario, cast);
    tally.add(course);
    if (course.finding.empty()) continue;
    const simulation::Shrunk shrunk = shrink(scenario, cast, shrink_tries);
    finding = {{"seed", seed}, {"says", shrunk.finding}, {"lines", lines_of(shrunk, cast)}};
  }
  tally.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  print_tally(settings, first, tally, finding);
  return finding.is_null() ? exit_ok : exit_finding;
}

}  // namespace

void add_simulate(CommandLine& line) {
  auto& options = line.keep<SimulateOptions>();
  CLI::App& command =
      add_command(line, "simulate",
                  "Run a graph in virtual time under crashes, outages and late answers; exit 1 if something breaks",
                  [&](const Settings& settings) { return simulate_graph(settings, options); });
  command.add_option("GRAPH", options.graph, "The graph's name, or a file with it")->required()->type_name("");
  command.add_option("--seeds", options.seeds, "So many simulations")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "The first seed (default: drawn); a seed always does the same")
      ->type_name("S");
  add_text(command, "--handlers", "FILE", "What handlers and tools do, as JSON (default: any label, and failures)",
           [&](const std::string& path) { return assign(options.handlers, json_file(path, "the handlers")); });
  add_text(command, "--input", "JSON|@FILE|@-", "The runs' input, a JSON object (default {})",
           [&](const std::string& text) { return assign(options.input, object_argument(text, "the input")); });
}

}  // namespace cairn
