// Distribution: the tables of runs over the nodes of a Citus cluster, each of our shards as a whole on one node. Safe
// from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

struct DistributeReport {
  std::vector<std::string> tables;             // that were distributed now; none: they were
  std::int64_t moved = 0;                      // shards, to even out the nodes
  std::map<std::string, std::int64_t> shards;  // of ours on each node, by its "host:port"
};

// A node of the cluster, and how many of our shards it has.
struct ClusterNode {
  std::string host;
  std::string port;
  std::int64_t shards = 0;
  Status reached = Done{};  // an attempt to connect to it; refuses `unavailable`
  bool is_here = false;     // the DSN names it
};
// Empty where the tables are not distributed. Throws PostgresError.
std::vector<ClusterNode> cluster_nodes(const std::string& dsn);

// Whether the database has the extension, and nodes that take shards.
Result<bool> is_citus_cluster(const std::string& dsn);

// The tables that distribute() would distribute, by their names; none in a database that is no such cluster or has no
// schema. Refuses as find_schema(), and `unavailable`.
Result<std::vector<std::string>> undistributed_tables(const std::string& dsn);

// Distributes the tables of a database of the newest schema, and moves shards until no node has two more of ours than
// another; may be run again, for tables that a migration added and for nodes that were added. Tables that hold runs are
// closed while they are distributed; moving a shard lets its runs go on where the servers' `wal_level` is logical, and
// else stops their writers for as long as its bytes take. Refuses `not_found` without a schema or the extension,
// `conflict` for a cluster without nodes, and while worker sessions are at work or other programs of Cairn are
// connected, unless all tables that are not distributed yet are new and empty; `unavailable`.
Result<DistributeReport> distribute(const std::string& dsn);

}  // namespace cairn
