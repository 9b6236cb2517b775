#include "storage/data/dataset.hpp"

#include <algorithm>
#include <iterator>

#include "engine/embedded.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn {
namespace {

constexpr std::int64_t catalog_page = 20'000;

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

// Every row of a statement, page by page up to the limit; `more` says whether that, or the limit of time, cut some off.
Result<QueryRows> all_rows(const Dataset& dataset, std::string_view name) {
  Dataset timed = dataset;
  timed.limits.partial = true;
  QueryRows all;
  do {
    const auto skip = static_cast<std::int64_t>(all.rows.size());
    Result<QueryRows> page = run(timed, statement(name).text, skip, catalog_page);
    if (!page) return page;
    all.more = page->more;
    all.out_of_time = page->out_of_time;
    std::move(page->rows.begin(), page->rows.end(), std::back_inserter(all.rows));
  } while (all.more && !all.out_of_time && static_cast<std::int64_t>(all.rows.size()) < catalog_columns_max);
  return all;
}

// The tables that the login sees. There is no data if there are none, or if the sample's login does not exist yet.
Result<QueryRows> catalog_rows(const Dataset& dataset) {
  const auto read = [&] { return all_rows(dataset, "dataset_columns"); };
  Result<QueryRows> found = read();
  const bool is_missing =
      found ? found->rows.empty() && !found->more : is_sample(dataset) && found.error().code == Code::unavailable;
  if (!is_missing) return found;
  if (dataset.load_dsn.empty()) return found ? Result<QueryRows>(without_data(dataset)) : found;
  if (const Result<bool> loaded = load_sample(dataset.load_dsn); !loaded) return loaded.error();
  found = read();
  return found && found->rows.empty() && !found->more ? Result<QueryRows>(without_data(dataset)) : found;
}

void execute_files(std::string_view folder, Administration& database) {
  for (const EmbeddedFile& file : schema_files())
    if (file.name.starts_with(folder)) database.execute(std::string(file.text));
}

}  // namespace

Result<DataCatalog> read_catalog(const Dataset& dataset) {
  const Result<QueryRows> columns = catalog_rows(dataset);
  if (!columns) return columns.error();
  if (columns->rows.empty())
    return Error{Code::limit, "Expected to read the tables of the data in time, but not one came."};
  const Result<QueryRows> links = all_rows(dataset, "dataset_keys");
  if (!links) return links.error();
  DataCatalog catalog;
  catalog.more = columns->more || links->more;
  catalog.out_of_time = columns->out_of_time || links->out_of_time;
  for (const Json& row : columns->rows)
    catalog.columns.push_back({row[0], row[1], row[2], row[3], row[4], row[5].get<bool>(), row[6].get<bool>(),
                               row[7].get<bool>(), row[8].get<std::int64_t>()});
  Json key;
  for (const Json& row : links->rows) {
    if (row[4] == key)
      catalog.links.back().more.emplace_back(row[1], row[3]);
    else
      catalog.links.push_back({row[0], row[1], row[2], row[3]});
    key = row[4];
  }
  return catalog;
}

Result<QueryRows> ask_dataset(const Dataset& dataset, const std::string& text, std::int64_t skip, std::int64_t rows) {
  return run(dataset, text, skip, std::clamp<std::int64_t>(rows, 1, dataset.limits.rows));
}

Result<bool> load_sample(const std::string& dsn) {
  try {
    Administration database(dsn, "cairn dataset", no_limit);
    if (database.query("is_replica").boolean(0, 0)) return takes_no_writes(dsn);
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
