#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <random>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/graphs/graph_shelf.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "workers/simulation/seeds.hpp"

namespace cairn {
namespace {

using simulation::FoundSeed;
using simulation::SeedsReport;

struct SimulateOptions {
  std::string graph;  // a file, or the name of a graph that is built in or in the database
  std::uint64_t seeds = 1'000;
  std::optional<std::uint64_t> seed;  // the first one; none: drawn
  Json handlers = Json::object();     // their outcomes; see workers/simulation/script.hpp
  Json input = Json::object();
};

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [name, times] : counts) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(times);
  return text.empty() ? "none" : text;
}

Json finding_json(const std::optional<FoundSeed>& found) {
  if (!found) return nullptr;
  return {{"seed", found->seed}, {"says", found->says}, {"lines", found->lines}};
}

void print_report(const Settings& settings, std::uint64_t first, const SeedsReport& report) {
  if (settings.json)
    return print_json({{"seed", first},
                       {"seeds", report.seeds},
                       {"seeds_per_second", report.per_second()},
                       {"events", report.events},
                       {"faults", report.faults},
                       {"runs", report.runs},
                       {"finding", finding_json(report.found)}});
  print_paragraph(std::to_string(report.seeds) + " seeds from " + std::to_string(first) + ", " +
                  std::to_string(report.per_second()) + " a second, " + std::to_string(report.events) + " events");
  print_paragraph("faults: " + counts_text(report.faults));
  print_paragraph("runs:   " + counts_text(report.runs));
  if (!report.found) return print_line("Nothing was found.");
  const std::string seed = std::to_string(report.found->seed);
  print_paragraph("Found with seed " + seed + " (repeat it with --seed " + seed + " --seeds 1):");
  for (const std::string& line : report.found->lines) print_paragraph(line);
}

Exit simulate_graph(const Settings& settings, const SimulateOptions& options) {
  const Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  Result<std::vector<Json>> graphs = graphs_for(settings, **catalogue, options.graph);
  if (!graphs) return graphs.error();
  const std::uint64_t first = options.seed ? *options.seed : std::random_device{}();
  const Result<SeedsReport> report = simulation::simulate_seeds({.graphs = *std::move(graphs),
                                                                 .input = options.input,
                                                                 .says = options.handlers,
                                                                 .first = first,
                                                                 .count = options.seeds,
                                                                 .catalogue = catalogue->get()},
                                                                (*catalogue)->handlers, (*catalogue)->tools->table());
  if (!report) return report.error();
  print_report(settings, first, *report);
  return report->found ? exit_finding : exit_ok;
}

}  // namespace

void add_simulate(CommandLine& line) {
  auto& options = line.keep<SimulateOptions>();
  CLI::App& command =
      add_command(line, "simulate",
                  "Run a graph in virtual time under crashes, outages and late answers; exit 1 if something breaks",
                  "cairn simulate order.json --seeds 2000",
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
