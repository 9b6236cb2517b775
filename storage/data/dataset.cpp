#include "storage/data/dataset.hpp"

#include <algorithm>

#include "engine/embedded.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

constexpr std::int64_t catalog_rows_max = 5'000;
constexpr std::int64_t values_max = 200;

Result<QueryRows> run(const Dataset& dataset, const std::string& text, std::int64_t skip, std::int64_t rows) {
  if (!dataset.dsn) return Error{Code::unavailable, "Expected a database with data to ask, but none is known here."};
  QueryLimits limits = dataset.limits;
  limits.rows = rows;
  return run_bounded({*dataset.dsn, dataset.login, dataset.schema, text, skip}, limits);
}

bool is_sample(const Dataset& dataset) { return dataset.login == sample_login && dataset.schema == sample_schema; }

Error without_data(const Dataset& dataset) {
  const std::string hint = is_sample(dataset) ? " `cairn dataset load` brings the sample." : "";
  return {Code::not_found,
          "Expected data in the schema " + dataset.schema + ", but the login sees no table there." + hint};
}

// The tables that the login sees. There is no data if there are none, or if the sample's login does not exist yet.
Result<QueryRows> catalog_rows(const Dataset& dataset) {
  const auto read = [&] { return run(dataset, statement("dataset_columns").text, 0, catalog_rows_max); };
  Result<QueryRows> found = read();
  const bool is_missing = found ? found->rows.empty() : is_sample(dataset) && found.error().code == Code::unavailable;
  if (!is_missing) return found;
  if (dataset.load_dsn.empty()) return found ? Result<QueryRows>(without_data(dataset)) : found;
  if (const Result<bool> loaded = load_sample(dataset.load_dsn); !loaded) return loaded.error();
  found = read();
  return found && found->rows.empty() ? Result<QueryRows>(without_data(dataset)) : found;
}

bool is_text(const DataColumn& column) {
  return column.type == "text" || column.type.starts_with("character") || column.type == "name";
}

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + ("lower(" + quoted_text(word) + ")");
  return list;
}

void execute_files(std::string_view folder, Administration& database) {
  for (const EmbeddedFile& file : schema_files())
    if (file.name.starts_with(folder)) database.execute(std::string(file.text));
}

}  // namespace

Result<DataCatalog> read_catalog(const Dataset& dataset) {
  const Result<QueryRows> columns = catalog_rows(dataset);
  if (!columns) return columns.error();
  const Result<QueryRows> links = run(dataset, statement("dataset_keys").text, 0, catalog_rows_max);
  if (!links) return links.error();
  DataCatalog catalog;
  for (const Json& row : columns->rows)
    catalog.columns.push_back({row[0], row[1], row[2], row[3], row[4], row[5].get<bool>()});
  for (const Json& row : links->rows) catalog.links.push_back({row[0], row[1], row[2], row[3]});
  return catalog;
}

Result<std::vector<DataValue>> find_values(const Dataset& dataset, const DataCatalog& catalog,
                                           const std::vector<std::string>& words) {
  std::string text;
  for (const DataColumn& column : catalog.columns) {
    if (!is_text(column) || words.empty()) continue;
    const std::string name = quoted_name(column.name);
    text += (text.empty() ? "" : "\nunion all ") + ("select " + quoted_text(column.table) + ", ") +
            quoted_text(column.name) + ", v from (select distinct " + name + "::text as v from " +
            quoted_name(column.table) + " where lower(" + name + "::text) in (" + list_of(words) + ")) as found";
  }
  std::vector<DataValue> values;
  if (text.empty()) return values;
  const Result<QueryRows> found = run(dataset, text, 0, values_max);
  if (!found) return found.error();
  for (const Json& row : found->rows) values.push_back({row[0], row[1], row[2]});
  return values;
}

Result<QueryRows> ask_dataset(const Dataset& dataset, const std::string& text, std::int64_t skip, std::int64_t rows) {
  return run(dataset, text, skip, std::clamp<std::int64_t>(rows, 1, dataset.limits.rows));
}

Result<bool> load_sample(const std::string& dsn) {
  try {
    Administration database(dsn, "cairn dataset", no_limit);
    database.begin();
    database.query("lock_migrations");
    const std::string owner = database.query("dataset_loaded").text(0, 0);
    if (owner == "others")
      return Error{Code::conflict, "Expected to load the sample into a schema of its own, but there is another " +
                                       std::string(sample_schema) + "."};
    if (owner == "cairn") return false;
    execute_files("dataset/", database);
    database.commit();
    return true;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to load the sample data set, but: ") + failure.what()};
  }
}

}  // namespace cairn
