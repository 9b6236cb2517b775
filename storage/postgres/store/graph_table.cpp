#include "storage/postgres/store/graph_table.hpp"

#include <utility>

#include "storage/postgres/rows.hpp"

namespace cairn {

void GraphTable::put(const GraphRow& graph) {
  const PgParameters name = PgParameters().add(graph.name).add(graph.version);
  placements_.whole().run([&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_statement());
    connection.send(statement("lock_graphs"));
    connection.send(statement("put_graph"), PgParameters(name).add(graph.text).add(graph.actor));
    if (graph.current) {
      connection.send(statement("retire_graph"), name);
      connection.send(statement("make_graph_current"), PgParameters(name).add(graph.actor));
    }
    connection.send(commit_statement());
    connection.sync();
    connection.finish();
  });
}

std::vector<GraphRow> GraphTable::all() { return read_graphs(placements_.whole().query("graphs")); }

std::int64_t GraphTable::mark() { return placements_.whole().query_widely("graphs_mark").int8(0, 0); }

std::vector<GraphRow> GraphTable::names() { return read_graphs(placements_.whole().query_widely("graph_names")); }

std::vector<GraphRow> GraphTable::of(std::span<const std::string> versions) {
  PgArray wanted(PgType::text);
  for (const std::string& version : versions) wanted.add(version);
  return read_graphs(placements_.whole().query_widely("graphs_of", PgParameters().add(std::move(wanted))));
}

}  // namespace cairn
