#include "workers/tools/data/explore.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "storage/data/dataset_values.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/data/metadata.hpp"

namespace cairn {
namespace {

constexpr std::size_t texts_max = 20;
constexpr std::int64_t from_max = 1'000'000;

Failure unfit(const std::string& wanted, const ToolCall& call) {
  return invalid_input("Expected " + call.tool + " to get " + wanted + ", but got " + excerpt(call.inputs, 200) + ".");
}

// A whole number from 0 to a limit; nothing if it is none.
std::optional<std::int64_t> count_of(const ToolCall& call, const char* name, std::int64_t otherwise,
                                     std::int64_t most) {
  const Json value = call.inputs.value(name, Json(otherwise));
  if (!value.is_number_integer() || value < 0 || value > most) return std::nullopt;
  return value.get<std::int64_t>();
}

// Texts of a list; nothing if it is none, or too long.
std::optional<std::vector<std::string>> texts_of(const ToolCall& call, const char* name) {
  const Json list = call.inputs.value(name, Json::array());
  const bool fits = list.is_array() && list.size() <= texts_max &&
                    std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_string(); });
  if (!fits) return std::nullopt;
  return list.get<std::vector<std::string>>();
}

constexpr const char* cut_by_time = "The time did not suffice for all of it.";

// A part that the limit of time left is a result, and says so.
Json with_cut(Json result, bool out_of_time) {
  if (out_of_time) result["cut"] = cut_by_time;
  return result;
}
const char* tone_of(bool is_part) { return is_part ? "uncertain" : "sure"; }

bool has_table(const DataCatalog& catalog, const std::string& table) {
  return std::any_of(catalog.columns.begin(), catalog.columns.end(),
                     [&](const DataColumn& column) { return column.table == table; });
}

// Refuses a table that is not in the catalogue, which may have been cut before it.
Failure absent_table(const DataCatalog& catalog, const std::string& table) {
  if (catalog.out_of_time)
    return failure(
        "limit", "Expected the catalogue of the data in time, but it was not read as far as \"" + table + "\".", true);
  return failure("not_found", "Expected a table of the data, but \"" + table + "\" is none.", false);
}

}  // namespace

ToolAnswer list_tables(const Dataset& dataset, const ToolCall& call) {
  const auto from = count_of(call, "from", 0, from_max);
  if (!from) return unfit("from, a whole number", call);
  const Result<DataCatalog> catalog = read_catalog(dataset);
  if (!catalog) return failure_of(catalog.error());
  Json tables = Json::array();
  for (const DataColumn& column : catalog->columns) {
    if (tables.empty() || tables.back()["table"] != column.table) {
      tables.push_back({{"table", column.table}, {"about", column.table_about}, {"columns", 0}});
      if (column.table_rows >= 0) tables.back()["rows"] = column.table_rows;
    }
    tables.back()["columns"] = tables.back()["columns"].get<int>() + 1;
  }
  const std::size_t all = tables.size();
  const std::size_t first = std::min(static_cast<std::size_t>(*from), all);
  const std::size_t last = std::min(first + tables_listed_max, all);
  Json listed = Json::array();
  for (std::size_t i = first; i < last; ++i) listed.push_back(tables[i]);
  Json part = {{"tables", std::move(listed)}, {"from", first}, {"all", all}, {"more", last < all || catalog->more}};
  return Json{{"tables", with_cut(std::move(part), catalog->out_of_time)}, {"tone", tone_of(catalog->more)}};
}

ToolAnswer describe_table(const Dataset& dataset, const ToolCall& call) {
  const std::string name = text_of(call.inputs, "table");
  if (name.empty()) return unfit("table, a name", call);
  const Result<DataCatalog> catalog = read_catalog(dataset);
  if (!catalog) return failure_of(catalog.error());
  DataCatalog part;
  for (const DataColumn& column : catalog->columns)
    if (column.table == name) part.columns.push_back(column);
  if (part.columns.empty()) return absent_table(*catalog, name);
  for (const DataLink& link : catalog->links)
    if (link.table == name || link.to_table == name) part.links.push_back(link);
  const Json metadata = metadata_results({}, part, {});
  Json table = metadata["tables"][0];
  table["links"] = metadata["links"];
  // The last table may have been cut between its columns, and keys may be missing.
  return Json{{"table", with_cut(std::move(table), catalog->out_of_time)}, {"tone", tone_of(catalog->more)}};
}

ToolAnswer sample_rows(const Dataset& dataset, const ToolCall& call) {
  const std::string name = text_of(call.inputs, "table");
  const auto from = count_of(call, "from", 0, from_max);
  const auto rows = count_of(call, "rows", 5, sample_rows_max);
  if (name.empty() || !from || !rows)
    return unfit(
        "table, a name, and from and rows, whole numbers of which rows is at most " + std::to_string(sample_rows_max),
        call);
  const Result<DataCatalog> catalog = read_catalog(dataset);
  if (!catalog) return failure_of(catalog.error());
  if (!has_table(*catalog, name)) return absent_table(*catalog, name);
  Dataset timed = dataset;
  timed.limits.partial = true;
  const Result<QueryRows> found = ask_dataset(timed, "select * from " + quoted_table(name), *from, *rows);
  if (!found) return failure_of(found.error());
  Json columns = Json::array();
  for (const QueryColumn& column : found->columns) columns.push_back({{"name", column.name}, {"type", column.type}});
  Json results = {
      {"columns", std::move(columns)}, {"rows", found->rows}, {"more", found->more}, {"says", "some rows of " + name}};
  return Json{{"es_results", with_cut(std::move(results), found->out_of_time)}, {"tone", tone_of(found->out_of_time)}};
}

ToolAnswer find_values_tool(const Dataset& dataset, const ToolCall& call) {
  const auto values = texts_of(call, "values");
  const auto tables = texts_of(call, "tables");
  if (!values || values->empty() || !tables)
    return unfit("values, a list of 1 to 20 texts, and tables, a list of names", call);
  const Result<DataCatalog> catalog = read_catalog(dataset);
  if (!catalog) return failure_of(catalog.error());
  for (const std::string& table : *tables)
    if (!has_table(*catalog, table)) return absent_table(*catalog, table);
  const Result<FoundValues> found = find_values(dataset, *catalog, {*values, *values, *tables});
  if (!found) return failure_of(found.error());
  Json list = Json::array();
  for (const DataValue& value : found->values)
    list.push_back({{"table", value.table},
                    {"column", value.column},
                    {"value", value.value},
                    {"word", value.word},
                    {"is_equal", value.is_equal}});
  const bool is_part = catalog->more || found->more || !found->sampled.empty() || !found->not_searched.empty();
  Json part = {{"values", std::move(list)},
               {"sampled", found->sampled},
               {"not_searched", found->not_searched},
               {"more", found->more}};
  return Json{{"found_values", with_cut(std::move(part), catalog->out_of_time)}, {"tone", tone_of(is_part)}};
}

}  // namespace cairn
