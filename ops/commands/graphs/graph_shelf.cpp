#include "ops/commands/graphs/graph_shelf.hpp"

#include <filesystem>
#include <optional>
#include <set>

#include "engine/graph_review.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "storage/chain.hpp"

namespace cairn {
namespace {

Error unknown_graph(const std::string& name) {
  return {Code::not_found, "Expected a graph named " + name + " or a file of that name, but there is none."};
}

// Graphs by name: built in, from a file of the folder, or else from the database.
class GraphShelf {
 public:
  GraphShelf(const Settings& settings, const Catalogue& catalogue, std::filesystem::path folder)
      : settings_(settings), catalogue_(catalogue), folder_(std::move(folder)) {}

  Result<Json> find(const std::string& name) {
    for (const GraphRef& graph : catalogue_.graphs)
      if (graph->name == name) return parse_stored(graph->text);
    if (const std::filesystem::path file = folder_ / (name + ".json"); std::filesystem::is_regular_file(file))
      return json_file(file.string(), "the graph " + name);
    if (!opened_) {
      Result<Opened> opened = open_database(settings_);
      if (!opened) return opened.error();
      opened_ = *std::move(opened);
    }
    const Result<GraphRef> graph = opened_->client->find_graph(name);
    if (!graph) return graph.error();
    if (*graph == nullptr || (*graph)->name != name) return unknown_graph(name);
    return parse_stored((*graph)->text);
  }

  // The graph and all that it calls.
  Result<std::vector<Json>> with_called(Json graph) {
    std::vector<Json> graphs{std::move(graph)};
    std::set<std::string> names{graphs.front().value("name", "")};
    for (std::size_t at = 0; at < graphs.size(); ++at) {
      const Json nodes = graphs[at].at("nodes");
      for (const auto& [name, node] : nodes.items()) {
        const Json by_item = node.value("map", Json());
        const Json& caller = by_item.is_object() ? by_item : node;
        if (!caller.contains("call") || !names.insert(caller["call"].get<std::string>()).second) continue;
        Result<Json> called = find(caller["call"].get<std::string>());
        if (!called) return called.error();
        graphs.push_back(*std::move(called));
      }
    }
    return graphs;
  }

 private:
  const Settings& settings_;
  const Catalogue& catalogue_;
  std::filesystem::path folder_;
  std::optional<Opened> opened_;
};

}  // namespace

Result<std::vector<Json>> graphs_with(const Settings& settings, const Catalogue& catalogue, Json graph,
                                      const std::filesystem::path& folder) {
  const Result<GraphRef> parsed =
      parse_reviewed_graph(graph, graph_version(canonical(graph)), surroundings_of(catalogue));
  if (!parsed) return parsed.error();
  return GraphShelf(settings, catalogue, folder).with_called(std::move(graph));
}

Result<std::vector<Json>> graphs_for(const Settings& settings, const Catalogue& catalogue, const std::string& name) {
  const bool is_file = std::filesystem::is_regular_file(name);
  const std::filesystem::path folder = is_file ? std::filesystem::path(name).parent_path() : "";
  Result<Json> graph = is_file ? json_file(name, "the graph") : GraphShelf(settings, catalogue, folder).find(name);
  if (!graph) return graph.error();
  return graphs_with(settings, catalogue, *std::move(graph), folder);
}

}  // namespace cairn
