#include <CLI/CLI.hpp>
#include <iostream>

#include "engine/graph_check.hpp"
#include "ops/answers/graph_formats.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

struct GraphShowOptions {
  std::string name;
  std::string format = "json";
};

Exit graph_list(const Settings& settings) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Table table({"NAME", "VERSION", "CURRENT"});
  for (const GraphRow& row : opened->store->graph_names()) {
    if (settings.json) print_json(graph_json(row));
    table.add({row.name, row.version.substr(0, 12), row.current ? "yes" : ""});
  }
  if (!settings.json) table.print();
  return exit_ok;
}

Exit graph_show(const Settings& settings, const GraphShowOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<GraphRef> graph = find_graph(*opened->client, options.name);
  if (!graph) return graph.error();
  const Result<std::string> text = graph_as(**graph, options.format);
  if (!text) return text.error();
  if (!settings.json)
    std::cout << visible(*text);
  else if (options.format == "json")
    print_json(parse_stored((*graph)->text));
  else
    print_json({{"name", (*graph)->name}, {"version", (*graph)->version}, {"format", options.format}, {"text", *text}});
  return exit_ok;
}

Exit graph_check(const Settings& settings, const Json& graph) {
  const Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  const std::vector<std::string> faults = graph_faults(graph, (*catalogue)->handlers.labels());
  if (settings.json)
    print_json({{"ok", faults.empty()}, {"faults", faults}});
  else if (faults.empty())
    print_line("The graph may run.");
  if (!settings.json)
    for (const std::string& fault : faults) print_line(fault);
  return faults.empty() ? exit_ok : exit_finding;
}

Exit graph_add(const Settings& settings, const Json& graph) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<GraphRef> added = opened->client->add_graph(graph);
  if (!added) return added.error();
  if (settings.json)
    print_json({{"name", (*added)->name}, {"version", (*added)->version}});
  else
    print_line((*added)->name + " " + (*added)->version);
  return exit_ok;
}

void add_graph_file(CLI::App& command, Json& graph) {
  add_text(command, "FILE", "", "The graph as JSON; - is stdin", [&](const std::string& path) {
    return assign(graph, path == "-" ? json_argument("@-", "the graph") : json_file(path, "the graph"));
  })->required();
}

}  // namespace

void add_graph(CommandLine& line) {
  auto& show_options = line.keep<GraphShowOptions>();
  auto& graph = line.keep<Json>();
  CLI::App& group = add_group(line, "graph", "List, show, check and add graphs");
  add_command(line, group, "list", "The graphs and their versions", graph_list);
  CLI::App& show = add_command(line, group, "show", "A graph as JSON or as a drawing",
                               [&](const Settings& settings) { return graph_show(settings, show_options); });
  show.add_option("NAME", show_options.name, "The graph's name, or a version of it")->required()->type_name("");
  show.add_option("--format", show_options.format, "json, mermaid, dot, or svg (by the program dot)")
      ->check(CLI::IsMember({"json", "mermaid", "dot", "svg"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_graph_file(add_command(line, group, "check", "Every fault of a graph, one sentence each; exit 1 if there is one",
                             [&](const Settings& settings) { return graph_check(settings, graph); }),
                 graph);
  add_graph_file(add_command(line, group, "add", "Store a graph as the current version of its name",
                             [&](const Settings& settings) { return graph_add(settings, graph); }),
                 graph);
}

}  // namespace cairn
