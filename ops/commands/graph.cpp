#include <iostream>

#include "engine/graph_check.hpp"
#include "ops/answers/graph_formats.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {

Exit graph_list(const Settings& settings) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Table table({"NAME", "VERSION", "CURRENT"});
  for (const GraphRow& row : opened->store->graphs()) {
    if (settings.json) print_json(graph_json(row));
    table.add({row.name, row.version.substr(0, 12), row.current ? "yes" : ""});
  }
  if (!settings.json) table.print();
  return 0;
}

Exit graph_show(const Settings& settings, const std::string& name, const std::string& format) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<GraphRef> graph = find_graph(*opened->client, name);
  if (!graph) return graph.error();
  const Result<std::string> text = graph_as(**graph, format);
  if (!text) return text.error();
  if (!settings.json)
    std::cout << *text;
  else if (format == "json")
    print_json(parse_stored((*graph)->text));
  else
    print_json({{"name", (*graph)->name}, {"version", (*graph)->version}, {"format", format}, {"text", *text}});
  return 0;
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
  return faults.empty() ? 0 : 1;
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
  return 0;
}

}  // namespace cairn
