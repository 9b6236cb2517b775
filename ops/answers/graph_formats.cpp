#include "ops/answers/graph_formats.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>

#include "engine/graph_drawing.hpp"

namespace cairn {
namespace {

// A file in the temporary directory, removed on destruction.
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

}  // namespace

Json graph_json(const GraphRow& row) {
  return {{"name", row.name}, {"version", row.version}, {"current", row.current}};
}

Result<GraphRef> find_graph(Client& client, const std::string& name) {
  GraphRef graph = client.graphs().current(name);
  if (graph) return graph;
  client.load_all_graphs();
  graph = client.graphs().by_version(name);
  if (graph) return graph;
  return Error{Code::not_found, "Expected a graph named " + name + ", but there is none: see `cairn graph list`."};
}

Result<std::string> graph_as(const Graph& graph, const std::string& format) {
  if (format == "mermaid") return mermaid(graph);
  if (format == "dot") return dot(graph);
  if (format == "svg") return svg(dot(graph));
  return parse_stored(graph.text).dump(2) + "\n";
}

}  // namespace cairn
