// Test databases: one private cluster for each test program, databases cloned from a migrated one. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/postgres/connection.hpp"
#include "storage/store.hpp"

namespace cairn::test {

// A directory of this test program that is removed at its end.
std::string scratch_directory();

// The DSN of the cluster's first database, as its superuser. The cluster starts at the first call.
std::string cluster_dsn();

// The DSN of a new database with the schema.
std::string new_database(std::int32_t shards);
// The DSN of a new, empty database.
std::string new_empty_database();

// A Citus cluster, which ops/cluster starts and CAIRN_TEST_CLUSTER names: "SOCKETS PORT PORT ...", the coordinator
// first.
bool has_citus_cluster();
// The coordinator's DSN of a new database with the schema, distributed over the nodes.
std::string new_distributed_database(std::int32_t shards);
// The same database on each node, the coordinator first.
std::vector<std::string> on_each_node(const std::string& dsn);

// A store there; throws std::runtime_error.
std::unique_ptr<Store> store_on(const std::string& dsn, bool notify = false);

std::string with_user(const std::string& dsn, const std::string& user);

// One statement as a superuser; throws PostgresError.
PgResult ask(const std::string& dsn, const std::string& sql);
std::int64_t ask_number(const std::string& dsn, const std::string& sql);  // casts to bigint itself
std::string ask_text(const std::string& dsn, const std::string& sql);

}  // namespace cairn::test
