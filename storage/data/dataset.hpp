// A data set that questions are asked of: the tables of one schema, read through a login that may do no more. Where it
// is, what it has, and the sample that comes with the program. Safe from any thread; each call blocks its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/postgres/bounded_query.hpp"

namespace cairn {

inline constexpr const char* sample_schema = "sample_shop";
inline constexpr const char* sample_login = "cairn_data";

struct Dataset {
  std::optional<std::string> dsn;  // nothing: no database is known
  std::string login;               // in place of the DSN's; "": the DSN's
  std::string schema = sample_schema;
  QueryLimits limits;
  std::string load_dsn;  // where the sample is loaded into when it is missing; "": nowhere, its absence is told
};

struct DataColumn {
  std::string table;
  std::string table_about;  // the table's comment
  std::string name;
  std::string type;
  std::string about;  // its comment
  bool is_key = false;
};

struct DataLink {  // a foreign key
  std::string table;
  std::string column;
  std::string to_table;
  std::string to_column;
};

struct DataCatalog {
  std::vector<DataColumn> columns;  // by table
  std::vector<DataLink> links;
};

struct DataValue {
  std::string table;
  std::string column;
  std::string value;
};

// What the login may read. Loads the sample first if that is nothing and it may. Refuses as run_bounded, and
// `not_found` if it is nothing.
Result<DataCatalog> read_catalog(const Dataset& dataset);

// Where texts of the data equal one of the words, letter case aside. Refuses as run_bounded.
Result<std::vector<DataValue>> find_values(const Dataset& dataset, const DataCatalog& catalog,
                                           const std::vector<std::string>& words);

// Runs one query over it, leaving `skip` rows out and giving at most `rows`, and the data set's limit at most. Refuses
// as run_bounded.
Result<QueryRows> ask_dataset(const Dataset& dataset, const std::string& text, std::int64_t skip, std::int64_t rows);

// Loads the sample into a database, where its schema and the login `cairn_data` are made: false if it was there.
// Refuses `conflict` (somebody else's schema of that name), `unavailable` (also for a login that may not).
Result<bool> load_sample(const std::string& dsn);

}  // namespace cairn
