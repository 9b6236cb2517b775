// A data set's tables as questions are linked to them: names as stems, kinds of columns, and the links between tables:
// foreign keys, and where there are none, those that names and comments give. Immutable; safe from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "storage/data/dataset.hpp"

namespace cairn {

enum class ColumnKind { number, text, date, time, flag, other };

struct SchemaColumn {
  std::size_t table = 0;
  std::string name;
  std::string type;
  std::string about;
  ColumnKind kind = ColumnKind::other;
  bool is_key = false;                   // one of the primary key
  bool is_unique = false;                // by itself; by declaration or, without one, by its name
  std::vector<std::string> stems;        // of its name, without a prefix that all of the table's names have
  std::vector<std::string> about_stems;  // of its comment
};

struct SchemaTable {
  std::string name;
  std::string about;
  std::int64_t rows = -1;
  std::vector<std::string> stems;
  std::vector<std::string> core_stems;  // without words that say what kind of table it is: "header", "dim"
  std::vector<std::string> about_stems;
  std::vector<std::size_t> columns;
  std::string schema = {};  // as it stands before the name; "": none does
};

struct SchemaLink {  // from a row to the row, or with a weak one the rows, that it names
  std::size_t table = 0;
  std::size_t to_table = 0;
  std::vector<std::pair<std::size_t, std::size_t>> columns;
  bool is_declared = false;
  bool to_one = false;  // leads to at most one row
  double cost = 1;      // of a way through it
};

class DataSchema {
 public:
  explicit DataSchema(const DataCatalog& catalog);

  const std::vector<SchemaTable>& tables() const { return tables_; }
  const std::vector<SchemaColumn>& columns() const { return columns_; }
  const std::vector<SchemaLink>& links() const { return links_; }
  const SchemaTable& table_of(std::size_t column) const { return tables_[columns_[column].table]; }

  // The columns that identify rows together; none.
  std::vector<std::size_t> keys_of(std::size_t table) const;
  // The column that names a row for people; that which identifies rows; none.
  std::optional<std::size_t> label_of(std::size_t table) const;
  std::optional<std::size_t> key_of(std::size_t table) const;
  // Whether the column is there to name a row of another table.
  bool is_reference(std::size_t column) const;
  // A table of two or more references and nothing else of weight: it joins others.
  bool is_bridge(std::size_t table) const;

  std::string quoted_column(std::size_t column) const;  // with its table

 private:
  void add_columns(const DataCatalog& catalog);
  void strip_letters();
  void strip_prefixes();
  void add_declared_links(const DataCatalog& catalog);
  void add_view_links();
  void copy_links(std::size_t base, std::size_t view, const std::map<std::size_t, std::size_t>& columns);
  void add_likely_links();
  void guess_keys();

  std::vector<SchemaTable> tables_;
  std::vector<SchemaColumn> columns_;
  std::vector<SchemaLink> links_;
};

// The catalogue that metadata_results hold. Throws Json::exception if they have another form.
DataCatalog catalog_in(const Json& metadata);

}  // namespace cairn
