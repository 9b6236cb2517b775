// A sandbox for queries that others wrote. Each query has a connection of its own and a read-only transaction that is
// always rolled back; it runs as one cursor, from which a bounded number of rows is fetched, within a time limit that
// the server and this process both enforce. The rights of its login decide what it may read. A login is refused that no
// right limits (a superuser), or that owns, is a member of, or may look into anything of the schema cairn. Not
// bounded: the memory of one query, the WAL that functions such as pg_logical_emit_message write, and advisory locks.
// An embedded server bounds the memory of each of its processes, and grants such functions to Cairn's own roles alone.
// Safe from any thread; each call blocks its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct QueryLimits {
  std::int64_t rows = 200;
  std::int64_t timeout_ms = 5'000;
  std::int64_t value_chars = 500;  // longer values are cut
  std::int64_t columns = 50;
  bool partial = false;  // at the limit of time: the rows that have come, rather than a refusal
};

struct QueryColumn {
  std::string name;
  std::string type;  // number, text, date, boolean
};

struct QueryRows {
  std::vector<QueryColumn> columns;
  Json rows = Json::array();  // arrays of values, in the order of the columns
  bool more = false;          // the limit cut some off
  bool out_of_time = false;   // that was the limit of time: there may be more
};

struct BoundedQuery {
  std::string dsn;
  std::string login;      // instead of the DSN's; "": the DSN's
  std::string schema;     // where names without a schema are found: plain names, separated by commas
  std::string text;       // one query in SQL
  std::int64_t skip = 0;  // rows left out first
};

// Refuses `invalid` (not a single query, or the server refuses it: the sentence says why), `limit` (it ran too long, or
// has too many columns), `closed` (the login has too few rights, or too many), `unavailable`.
Result<QueryRows> run_bounded(const BoundedQuery& query, const QueryLimits& limits);

// As an identifier or a text of SQL.
std::string quoted_name(const std::string& name);
std::string quoted_text(const std::string& text);
// "table" or "schema.table", which is split at its first point.
std::string quoted_table(const std::string& table);

}  // namespace cairn
