#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>

#include "engine/embedded.hpp"
#include "engine/graph_review.hpp"
#include "ops/answers/graph_formats.hpp"
#include "ops/answers/graph_surroundings.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/graphs/graph_test.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

struct GraphShowOptions {
  std::string name;
  std::string format = "json";
};

struct GraphCheckOptions {
  Json graph;
  bool is_strict = false;
  bool is_deployed = false;
};

std::string since_text(const GraphRow& row, TimeUs now_us) {
  return row.at_us == 0 ? "" : listed_time(row.at_us, now_us);
}

Exit graph_list(const Settings& settings, const ListPart& part) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  Table table({"NAME", "VERSION", "CURRENT", "SINCE", "BY"});
  table.keep(1);
  std::vector<ListRow> rows;
  for (const GraphRow& row : opened->store->graphs().names())
    rows.push_back(
        {row.name + "." + row.version.substr(0, 12),
         graph_json(row, *opened->catalogue),
         {row.name, row.version.substr(0, 12), row.current ? "yes" : "", since_text(row, now_us), row.actor}});
  print_list(settings, std::move(table), std::move(rows), part);
  return exit_ok;
}

// The version that begins so, as `graph list` shows it; the text itself if none does.
Result<std::string> version_meant(Store& store, const std::string& text) {
  constexpr std::size_t letters_min = 4;
  std::vector<std::string> found;
  for (const GraphRow& row : store.graphs().names()) {
    if (row.name == text) return text;
    if (text.size() >= letters_min && row.version.starts_with(text)) found.push_back(row.version);
  }
  if (found.size() > 1)
    return Error{Code::invalid, "Expected the beginning of one version, but " + std::to_string(found.size()) +
                                    " begin with " + text + "."};
  return found.empty() ? text : found.front();
}

Exit graph_show(const Settings& settings, const GraphShowOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<std::string> name = version_meant(*opened->store, options.name);
  if (!name) return name.error();
  const Result<GraphRef> graph = find_graph(*opened->client, *name);
  if (!graph) return with_nearest_graph(*opened->store, *name, graph.error());
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

// Faults first. `is_strict`: a warning is a fault.
Exit print_review(const Settings& settings, GraphReview review, bool is_strict) {
  if (is_strict) {
    std::move(review.warnings.begin(), review.warnings.end(), std::back_inserter(review.faults));
    review.warnings.clear();
  }
  if (settings.json) {
    print_json(review_json(review));
  } else {
    for (const std::string& fault : review.faults) print_paragraph(fault);
    for (const std::string& warning : review.warnings) print_paragraph("Warning: " + warning);
    if (review.faults.empty()) print_line("The graph may run.");
  }
  return review.faults.empty() ? exit_ok : exit_finding;
}

Exit graph_check(const Settings& settings, const GraphCheckOptions& options) {
  if (!options.is_deployed) {
    const Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
    if (!catalogue) return catalogue.error();
    return print_review(settings, review_graph(options.graph, surroundings_of(**catalogue)), options.is_strict);
  }
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Surroundings around = deployed_surroundings(*opened->catalogue, *opened->client, *opened->store);
  return print_review(settings, review_graph(options.graph, around), options.is_strict);
}

Exit graph_add(const Settings& settings, const Json& graph) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<GraphRef> added = opened->client->add_graph(graph);
  if (!added) return added.error();
  const Surroundings around = deployed_surroundings(*opened->catalogue, *opened->client, *opened->store);
  const std::vector<std::string> warnings = review_graph(graph, around).warnings;
  if (settings.json) {
    print_json({{"name", (*added)->name}, {"version", (*added)->version}, {"warnings", warnings}});
  } else {
    for (const std::string& warning : warnings) std::cerr << visible("Warning: " + warning) << '\n';
    print_paragraph((*added)->name + " " + (*added)->version);
  }
  return exit_ok;
}

Exit graph_rollback(const Settings& settings, const std::string& wanted) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<std::string> version = version_meant(*opened->store, wanted);
  if (!version) return version.error();
  const Result<GraphRef> graph = find_graph(*opened->client, *version);
  if (!graph && graph.error().code != Code::not_found) return graph.error();
  if (!graph || (*graph)->version != *version)
    return Error{Code::not_found,
                 "Expected a version of a graph, but none begins with " + wanted + ": see `cairn graph list`."};
  opened->client->store_graph(*graph, true);
  if (settings.json)
    print_json({{"name", (*graph)->name}, {"version", (*graph)->version}});
  else
    print_paragraph((*graph)->name + " " + (*graph)->version);
  return exit_ok;
}

// The text of `ops/guide/KIND.schema.json`.
Exit graph_schema(const Settings&, const std::string& kind) {
  for (const EmbeddedFile& file : document_schemas())
    if (file.name == kind + ".schema.json") std::cout << file.text;
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
  auto& check_options = line.keep<GraphCheckOptions>();
  auto& graph = line.keep<Json>();
  auto& kind = line.keep<std::string>() = "graph";
  CLI::App& group = add_group(line, "graph", "List, show, check, test, add and roll back graphs; their JSON Schema",
                              "cairn graph check order.json");
  auto& part = line.keep<ListPart>();
  add_list_part(add_command(line, group, "list", "The graphs and their versions", "cairn graph list",
                            paged([&](const Settings& settings) { return graph_list(settings, part); })),
                part);
  CLI::App& show =
      add_command(line, group, "show", "A graph as JSON or as a drawing", "cairn graph show order --format mermaid",
                  paged([&](const Settings& settings) { return graph_show(settings, show_options); }));
  show.add_option("NAME", show_options.name, "The graph's name, or a version, or the first letters of one")
      ->required()
      ->type_name("");
  show.add_option("--format", show_options.format, "json, mermaid, dot, or svg (by the program dot)")
      ->check(CLI::IsMember({"json", "mermaid", "dot", "svg"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  CLI::App& check =
      add_command(line, group, "check", "Every fault of a graph, one sentence each; exit 1 if there is one",
                  "cairn graph check order.json --strict",
                  paged([&](const Settings& settings) { return graph_check(settings, check_options); }));
  add_graph_file(check, check_options.graph);
  check.add_flag("--strict", check_options.is_strict, "A warning is a fault");
  check.add_flag("--deployed", check_options.is_deployed,
                 "Look at the graphs of the database too, and at what its workers have");
  add_tools(line, check);
  add_graph_test(line, group);
  CLI::App& schema =
      add_command(line, group, "schema", "The JSON Schema of a graph file, a tools file or a file of cases",
                  "cairn graph schema > graph.schema.json",
                  paged([&](const Settings& settings) { return graph_schema(settings, kind); }));
  schema.add_option("KIND", kind, "graph, tools or cases")
      ->check(CLI::IsMember({"graph", "tools", "cases"}))
      ->type_name("")
      ->capture_default_str();
  add_graph_file(
      add_command(line, group, "add", "Store a graph as the current version of its name", "cairn graph add order.json",
                  [&](const Settings& settings) { return graph_add(settings, graph); }),
      graph);
  auto& version = line.keep<std::string>();
  add_command(line, group, "rollback", "Make a version that is stored the current one of its name again",
              "cairn graph rollback 1d3ce1305838",
              [&](const Settings& settings) { return graph_rollback(settings, version); })
      .add_option("VERSION", version, "As `graph list` shows it, or its first letters")
      ->required()
      ->type_name("");
}

}  // namespace cairn
