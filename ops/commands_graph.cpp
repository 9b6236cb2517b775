#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/wait.h>

#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/print.hpp"

namespace cairn {
namespace {

Result<GraphRef> find_graph(const Client& client, const std::string& name) {
  GraphRef graph = client.graphs().current(name);
  if (!graph) graph = client.graphs().by_version(name);
  if (graph) return graph;
  return Error{Code::not_found, "Expected a graph named " + name + ", but there is none: see `cairn graph list`."};
}

// A file in the temporary directory that goes when we do.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) : path_(std::filesystem::temp_directory_path() / "cairn-graph-XXXXXX") {
    const int file = mkstemp(path_.data());
    CHECK(file >= 0);
    std::FILE* stream = fdopen(file, "w");
    CHECK(stream != nullptr && std::fwrite(text.data(), 1, text.size(), stream) == text.size());
    CHECK(std::fclose(stream) == 0);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::string> svg(const std::string& drawing) {
  const TemporaryFile file(drawing);
  std::FILE* dot_program = popen(("dot -Tsvg '" + file.path() + "' 2>/dev/null").c_str(), "r");
  if (dot_program == nullptr) return Error{Code::unsupported, "Expected to start the program dot, but it cannot be."};
  std::string picture;
  char block[4096];
  for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, dot_program)) > 0;) picture.append(block, got);
  const int status = pclose(dot_program);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return picture;
  return Error{Code::unsupported, "Expected the program dot to draw the graph, but it " +
                                      std::string(WIFEXITED(status) && WEXITSTATUS(status) == 127
                                                      ? "is not here: the package graphviz has it."
                                                      : "failed.")};
}

Result<std::string> drawn(const Graph& graph, const std::string& format) {
  if (format == "mermaid") return mermaid(graph);
  if (format == "dot") return dot(graph);
  if (format == "svg") return svg(dot(graph));
  return parse_stored(graph.text).dump(2) + "\n";
}

}  // namespace

Exit graph_list(const Settings& settings) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Table table({"NAME", "VERSION", "CURRENT"});
  for (const GraphRow& row : opened->store->graphs()) {
    if (settings.json) print_json({{"name", row.name}, {"version", row.version}, {"current", row.current}});
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
  const Result<std::string> text = drawn(**graph, format);
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
