// The numbered migrations of the schema `cairn` and what a database has of them. Pure but for the database given.
// Not thread-safe.
#pragma once

#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "storage/postgres/administration.hpp"

namespace cairn {

struct Migration {
  int number = 0;
  std::string_view name;  // without number and ending
  std::string_view text;
};

// In order: 1, 2, 3 ...
std::vector<Migration> migrations();
int newest_schema();

struct SchemaFound {
  int version = 0;  // 0: none
  std::int32_t shards = 1;
  bool is_empty = false;  // version 0, but the schema is there, with nothing in it
};

// Refuses `unsupported` for a schema newer than this program, `conflict` for one that others made, `corrupt` for one
// that does not say its version. Throws PostgresError.
Result<SchemaFound> find_schema(Administration& database);

}  // namespace cairn
