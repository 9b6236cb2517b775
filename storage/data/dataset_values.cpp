#include "storage/data/dataset_values.hpp"

#include <algorithm>
#include <map>

#include "storage/clock.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

constexpr std::int64_t values_max = 2'000;         // of one query
constexpr std::int64_t cells_at_once = 1'000'000;  // estimated, of the tables of one query
constexpr std::size_t value_letters_max = 200;     // longer texts are prose
constexpr std::int64_t unknown_rows = 2'000;       // taken of a view, whose size is not known

bool is_searched(const DataColumn& column) {
  return column.type == "text" || column.type.starts_with("character") || column.type == "name";
}

struct TextTable {
  std::string name;
  std::int64_t rows = 0;
  std::vector<const DataColumn*> columns;
  bool is_large() const { return rows > whole_rows_max; }
  bool is_view() const { return rows < 0; }
  std::int64_t cells() const {
    const std::int64_t read = is_view() ? unknown_rows : std::min(rows, whole_rows_max);
    return read * static_cast<std::int64_t>(columns.size());
  }
};

std::vector<TextTable> text_tables(const DataCatalog& catalog, const std::vector<std::string>& order) {
  std::vector<TextTable> tables;
  std::map<std::string, std::size_t> places;
  for (const DataColumn& column : catalog.columns) {
    if (!is_searched(column)) continue;
    const auto [at, is_new] = places.try_emplace(column.table, tables.size());
    if (is_new) tables.push_back({column.table, column.table_rows, {}});
    tables[at->second].columns.push_back(&column);
  }
  if (order.empty()) return tables;
  std::vector<TextTable> chosen;
  for (const std::string& name : order)
    if (const auto at = places.find(name); at != places.end()) chosen.push_back(tables[at->second]);
  return chosen;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + ("lower(" + quoted_text(word) + ")");
  return list;
}

class Searching {
 public:
  Searching(const Dataset& dataset, const ValueSearch& search)
      : dataset_(dataset), search_(search), ends_at_us_(steady_us() + dataset.limits.timeout_ms * 1'000) {}

  Result<FoundValues> of(const std::vector<TextTable>& tables) {
    std::vector<TextTable> batch;
    std::int64_t cells = 0;
    const bool has_large = std::any_of(tables.begin(), tables.end(), [](const TextTable& t) { return t.is_large(); });
    if (has_large)
      if (const Status known = search_statistics(tables); !known) return known.error();
    for (const TextTable& table : tables) {
      if (!batch.empty() && cells + table.cells() > cells_at_once) {
        if (const Status searched = search(batch); !searched) return searched.error();
        batch.clear();
        cells = 0;
      }
      batch.push_back(table);
      cells += table.cells();
    }
    if (const Status searched = search(batch); !searched) return searched.error();
    return std::move(found_);
  }

 private:
  // Runs within one of so many shares of the time that is left. True if it did; a query that ran out of time is no
  // refusal.
  Result<bool> ask(const std::string& text, std::size_t shares = 1) {
    const std::int64_t left_ms = (ends_at_us_ - steady_us()) / 1'000 / static_cast<std::int64_t>(shares);
    if (left_ms <= 0) return false;
    Dataset timed = dataset_;
    timed.limits.timeout_ms = left_ms;
    timed.limits.rows = values_max;
    const Result<QueryRows> rows = ask_dataset(timed, text, 0, values_max);
    if (!rows && rows.error().code == Code::limit) return false;
    if (!rows) return rows.error();
    found_.more = found_.more || rows->more;
    for (const Json& row : rows->rows) add({row[0], row[1], row[2], row[3], row[4].get<bool>(), row[5].get<bool>()});
    return true;
  }

  // Once for each column and word; a value that equals the word goes before one that holds it.
  void add(DataValue value) {
    const auto [at, is_new] =
        places_.try_emplace(value.table + "\n" + value.column + "\n" + value.word, found_.values.size());
    if (is_new)
      found_.values.push_back(std::move(value));
    else if (DataValue& known = found_.values[at->second]; value.is_equal && !known.is_equal)
      known = std::move(value);
  }

  // Rows (table, column, value, word, is_equal, has_variants) of a relation with (name, value) of one table's cells.
  std::string matched(const std::string& table, const std::string& cells) const {
    std::string words;
    const auto add_words = [&words](const std::vector<std::string>& list, const char* is_equal) {
      for (const std::string& word : list)
        words += (words.empty() ? "" : ", ") + ("(" + quoted_text(word) + ", lower(" + quoted_text(word) + "), ") +
                 is_equal + ")";
    };
    add_words(search_.equal, "true");
    add_words(search_.within, "false");
    return "select " + quoted_text(table) + "::text, cell.name, min(cell.value), word.told, word.equal, " +
           "count(distinct cell.value) > 1 from (" + cells + ") as cell(name, value) join (values " + words +
           ") as word(told, low, equal) on case when word.equal then lower(cell.value) = word.low else "
           "position(word.low in "
           "lower(cell.value)) > 0 end group by cell.name, word.told, word.equal";
  }

  std::string cells_of(const TextTable& table) const {
    std::string list;
    for (const DataColumn* column : table.columns)
      list += (list.empty() ? "" : ", ") +
              ("(" + quoted_text(column->name) + ", t." + quoted_name(column->name) + "::text)");
    std::string from = quoted_table(table.name) + " as t";
    if (table.is_large()) {
      const double percent = 100.0 * static_cast<double>(whole_rows_max) / static_cast<double>(table.rows);
      from += " tablesample system (" + std::to_string(percent) + ") repeatable (0)";
    }
    if (table.is_view())
      from = "(select * from " + quoted_table(table.name) + " limit " + std::to_string(whole_rows_max) + ") as t";
    return "select distinct cell.name, cell.value from " + from + " cross join lateral (values " + list +
           ") as cell(name, value) where length(cell.value) <= " + std::to_string(value_letters_max);
  }

  Status search(const std::vector<TextTable>& batch, std::size_t shares = 1) {
    if (batch.empty()) return Done{};
    std::string text;
    for (const TextTable& table : batch)
      text += (text.empty() ? "" : "\nunion all ") + matched(table.name, cells_of(table));
    const Result<bool> searched = ask(text, batch.size() > 1 ? 2 : shares);
    if (!searched) return searched.error();
    if (!*searched && batch.size() > 1) {  // one of them may be what took so long: it leaves time for the others
      for (std::size_t i = 0; i < batch.size(); ++i)
        if (Status alone = search({batch[i]}, batch.size() - i); !alone) return alone;
      return Done{};
    }
    for (const TextTable& table : batch) {
      if (!*searched) found_.not_searched.push_back(table.name);
      if (*searched && (table.is_large() || table.is_view())) found_.sampled.push_back(table.name);
      if (!table.is_large()) continue;
      if (Status indexed = search_indexes(table); !indexed) return indexed;
    }
    return Done{};
  }

  // As the word is written, in lower case and with a capital: an index knows no case.
  Status search_indexes(const TextTable& table) {
    if (search_.equal.empty()) return Done{};
    std::string text;
    for (const DataColumn* column : table.columns) {
      if (!column->is_indexed) continue;
      const std::string name = quoted_name(column->name);
      std::string words = list_of(search_.equal);
      for (const std::string& word : search_.equal)
        for (const char* made : {"", "initcap", "upper"})
          words.append(", ").append(made).append("(" + quoted_text(word) + ")");
      text += (text.empty() ? "" : "\nunion all ") +
              matched(table.name, "select distinct " + quoted_text(column->name) + ", " + name + "::text from " +
                                      quoted_table(table.name) + " where " + name + " in (" + words + ")");
    }
    if (text.empty()) return Done{};
    const Result<bool> searched = ask(text);
    return searched ? Status(Done{}) : Status(searched.error());
  }

  Status search_statistics(const std::vector<TextTable>& tables) {
    std::string text;
    for (const TextTable& table : tables) {
      if (!table.is_large()) continue;
      text +=
          (text.empty() ? "" : "\nunion all ") +
          matched(table.name, "select column_name, value from common where table_name = " + quoted_text(table.name));
    }
    const std::string common = statement("dataset_frequent_values").text;
    const Result<bool> searched = ask("with common(table_name, column_name, value) as (" + common + ")\n" + text);
    return searched ? Status(Done{}) : Status(searched.error());
  }

  const Dataset& dataset_;
  const ValueSearch& search_;
  std::int64_t ends_at_us_;
  FoundValues found_;
  std::map<std::string, std::size_t> places_;  // in the values found
};

}  // namespace

Result<FoundValues> find_values(const Dataset& dataset, const DataCatalog& catalog, const ValueSearch& search) {
  if (search.equal.empty() && search.within.empty()) return FoundValues{};
  return Searching(dataset, search).of(text_tables(catalog, search.tables));
}

}  // namespace cairn
