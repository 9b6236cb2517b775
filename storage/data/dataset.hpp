// A data set for questions: the tables of one schema or several, read through a login with no other rights; and the
// sample that comes with the program. Safe from any thread; each call blocks its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/postgres/bounded_query.hpp"

namespace cairn {

inline constexpr const char* sample_schema = "sample_shop";
inline constexpr const char* sample_login = "cairn_data";

struct Dataset {
  std::optional<std::string> dsn;      // nothing: no database is known
  std::string login;                   // instead of the DSN's; "": the DSN's
  std::string schema = sample_schema;  // or several, separated by commas: names are looked for in this order
  QueryLimits limits;
  std::string load_dsn;  // where a missing sample is loaded; "": nowhere, and read_catalog() refuses
};

// A table of another schema than the first is named "schema.table", and so is one whose name has a point.
struct DataColumn {
  std::string table;
  std::string table_about;  // the table's comment
  std::string name;
  std::string type;
  std::string about;             // its comment
  bool is_key = false;           // one of its table's primary key
  bool is_unique = false;        // by itself
  bool is_indexed = false;       // equality is looked up, not scanned for
  std::int64_t table_rows = -1;  // about how many; -1: not known, as of a view
};

struct DataLink {  // a foreign key
  std::string table;
  std::string column;
  std::string to_table;
  std::string to_column;
  std::vector<std::pair<std::string, std::string>> more = {};  // further columns of the same key
};

struct DataCatalog {
  std::vector<DataColumn> columns;  // by table
  std::vector<DataLink> links;
  bool more = false;         // the limit of columns or keys, or of time, cut some off
  bool out_of_time = false;  // that was the limit of time
};

inline constexpr std::int64_t catalog_columns_max = 100'000;

// The tables and columns that the login may read. If there are none and `load_dsn` is given, loads the sample first.
// Refuses as run_bounded(), and `not_found` if there are none. At the limit of time: what has been read until then, if
// that is anything.
Result<DataCatalog> read_catalog(const Dataset& dataset);

// Runs one query over the data set, skips `skip` rows and returns at most `rows`, within the data set's limit. Refuses
// as run_bounded().
Result<QueryRows> ask_dataset(const Dataset& dataset, const std::string& text, std::int64_t skip, std::int64_t rows);

// Loads the sample into a database and creates its schema and the login `cairn_data` there. False if it was loaded
// already. Refuses `conflict` (another schema of that name), `unavailable` (also for a login without the rights).
Result<bool> load_sample(const std::string& dsn);

}  // namespace cairn
