#include "workers/tools/data/query.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "storage/postgres/bounded_query.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/tools/data/metadata.hpp"
#include "workers/tools/data/reading.hpp"
#include "workers/tools/data/sketch.hpp"

namespace cairn {
namespace {

constexpr std::size_t parts_max = 8;  // by which a change is analysed
constexpr std::array<const char*, 13> month_names = {"",        "January",  "February", "March",  "April",
                                                     "May",     "June",     "July",     "August", "September",
                                                     "October", "November", "December"};

std::int64_t number_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

bool is_figure(const std::string& type) {
  return type.starts_with("numeric") || type.starts_with("double") || type == "real" || type.find("int") == 0 ||
         type == "bigint" || type == "smallint";
}
bool is_date(const std::string& type) { return type == "date" || type.starts_with("timestamp"); }
bool is_text(const std::string& type) { return type == "text" || type.starts_with("character"); }

struct Column {
  std::string table;
  std::string name;
  std::string type;
  bool is_key = false;

  std::string quoted() const { return quoted_table(table) + "." + quoted_name(name); }
  std::string in_words() const { return table + "." + name; }
};

struct Refused {
  Error error;
};
[[noreturn]] void refuse(const std::string& sentence) { throw Refused{{Code::invalid, sentence}}; }

// --- the catalog as the query sees it --------------------------------------------------------------------------------
class Names {
 public:
  explicit Names(const Json& metadata) : metadata_(metadata) {
    for (const Json& table : metadata.at("tables"))
      for (const Json& column : table.at("columns"))
        columns_.push_back({table.at("table"), column.at("name"), column.at("type"), column.at("is_key").get<bool>()});
  }

  std::vector<Column> columns_of(const std::string& table) const {
    std::vector<Column> found;
    for (const Column& column : columns_)
      if (column.table == table) found.push_back(column);
    return found;
  }

  Column column(const std::string& table, const std::string& name) const {
    for (const Column& column : columns_)
      if (column.table == table && column.name == name) return column;
    refuse("Expected the data to have " + table + "." + name + ", but it has not.");
  }

  bool is_link(const Column& column) const {
    return std::any_of(links().begin(), links().end(), [&](const Json& link) {
      return link.at("table") == column.table && link.at("column") == column.name;
    });
  }

  const Json& links() const { return metadata_.at("links"); }

  // Where a reference was found; null if nowhere.
  const Json* place(const std::string& reference) const {
    for (const Json& place : metadata_.at("found"))
      if (plain_word(text_of(place, "reference")) == plain_word(reference)) return &place;
    return nullptr;
  }

  const Json& places() const { return metadata_.at("found"); }

  // The column that names a row for people: "name", else its first text.
  std::optional<Column> label_of(const std::string& table) const {
    std::optional<Column> label;
    for (const Column& column : columns_of(table)) {
      if (column.name == "name") return column;
      if (!label && is_text(column.type) && !column.is_key) label = column;
    }
    return label;
  }

  // Decimal figures are amounts more often than whole ones.
  std::optional<Column> figure_of(const std::string& table) const {
    std::optional<Column> figure;
    for (const Column& column : columns_of(table)) {
      if (!is_figure(column.type) || column.is_key || is_link(column)) continue;
      if (!figure || (!figure->type.starts_with("numeric") && column.type.starts_with("numeric"))) figure = column;
    }
    return figure;
  }

  std::optional<Column> date_of(const std::string& table) const {
    for (const Column& column : columns_of(table))
      if (is_date(column.type)) return column;
    return std::nullopt;
  }

  // The table most others are linked from: where things happen.
  std::string busiest() const {
    std::map<std::string, int> counts;
    for (const Column& column : columns_) counts[column.table] += 0;
    for (const Json& link : links()) ++counts[link.at("table").get<std::string>()];
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end()) refuse("Expected a table to ask, but the data has none.");
    return most->first;
  }

 private:
  const Json& metadata_;
  std::vector<Column> columns_;
};

// --- tables and what links them --------------------------------------------------------------------------------------
// Joins go from a row to the one row that it names, so that nothing is counted twice.
class Tables {
 public:
  Tables(const Names& names, std::string base) : names_(names), base_(std::move(base)) {
    joined_.insert(base_);
    text_ = quoted_table(base_);
  }

  // `word`: "join", or "left join" where a row that names none counts too.
  void reach(const std::string& table, const std::string& word = "join") {
    if (joined_.contains(table)) return;
    std::map<std::string, const Json*> by;  // table -> the link that leads to it
    std::deque<std::string> open(joined_.begin(), joined_.end());
    while (!open.empty() && !by.contains(table)) {
      const std::string from = open.front();
      open.pop_front();
      for (const Json& link : names_.links()) {
        const std::string to = link.at("to_table");
        if (link.at("table") != from || joined_.contains(to) || by.contains(to)) continue;
        by[to] = &link;
        open.push_back(to);
      }
    }
    if (!by.contains(table)) refuse("Expected " + base_ + " to be linked to " + table + " by a key, but it is not.");
    join(table, by, word);
  }

  const std::string& base() const { return base_; }
  const std::string& text() const { return text_; }

 private:
  void join(const std::string& table, const std::map<std::string, const Json*>& by, const std::string& word) {
    if (joined_.contains(table)) return;
    const Json& link = *by.at(table);
    const std::string from = link.at("table");
    join(from, by, word);
    const auto add_pair = [&](const Json& column, const Json& to_column) {
      text_ +=
          quoted_table(from) + "." + quoted_name(column) + " = " + quoted_table(table) + "." + quoted_name(to_column);
    };
    text_ += "\n" + word + " " + quoted_table(table) + " on ";
    add_pair(link.at("column"), link.at("to_column"));
    for (const Json& pair : link.value("and", Json::array())) {
      text_ += " and ";
      add_pair(pair.at(0), pair.at(1));
    }
    joined_.insert(table);
  }

  const Names& names_;
  std::string base_;
  std::string text_;
  std::set<std::string> joined_;
};

// --- the query -------------------------------------------------------------------------------------------------------
class Query {
 public:
  Query(const Json& analysis, const Json& metadata)
      : analysis_(analysis), kind_(text_of(analysis, "kind")), names_(metadata), tables_(names_, base_table()) {}

  Json made() {
    add_filters();
    if (kind_ == "change") return change();
    return kind_ == "list" ? list() : figure();
  }

 private:
  std::string base_table() const {
    if (const Json* place = measure_place()) return text_of(*place, "table");
    for (const Json& place : names_.places())
      if (place.at("as") == "table" && !is_group(place)) return text_of(place, "table");
    return names_.busiest();
  }

  const Json* measure_place() const {
    const std::string measure = text_of(analysis_, "measure");
    const Json* place = measure.empty() ? nullptr : names_.place(measure);
    return place != nullptr && place->at("as") == "column" ? place : nullptr;
  }

  bool is_group(const Json& place) const {
    const std::string group = text_of(analysis_, "group_by");
    return !group.empty() && plain_word(text_of(place, "reference")) == plain_word(group);
  }

  void add_filters() {
    std::map<std::string, std::vector<std::string>> wanted;  // column -> values: one of them
    for (const Json& place : names_.places()) {
      if (place.at("as") != "value") continue;
      const Column column = names_.column(place.at("table"), place.at("column"));
      tables_.reach(column.table);
      wanted[column.quoted()].push_back(quoted_text(place.at("value")));
      filters_in_words_.push_back(column.in_words() + " is " + text_of(place, "value"));
    }
    for (const auto& [column, values] : wanted) {
      std::string list;
      for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
      filters_.push_back(column + " in (" + list + ")");
    }
    if (kind_ != "change" && (number_of(analysis_, "month") > 0 || number_of(analysis_, "year") > 0)) add_period();
  }

  Column date() const {
    if (const std::optional<Column> date = names_.date_of(tables_.base())) return *date;
    refuse("Expected " + tables_.base() + " to have a date, but it has none.");
  }

  // The first day of the month or year that is asked for; without a year, of the latest in the data.
  std::string period_start() const {
    const std::int64_t year = number_of(analysis_, "year");
    const Column column = date();
    const std::string year_text = year > 0 ? std::to_string(year)
                                           : "(select extract(year from max(" + quoted_name(column.name) +
                                                 "))::int from " + quoted_table(column.table) + ")";
    return "make_date(" + year_text + ", " + std::to_string(std::max<std::int64_t>(number_of(analysis_, "month"), 1)) +
           ", 1)";
  }

  std::string period_in_words() const {
    const std::int64_t month = number_of(analysis_, "month");
    const std::int64_t year = number_of(analysis_, "year");
    const std::string of_year = year > 0 ? std::to_string(year) : "of the latest year in the data";
    return month > 0 ? std::string(month_names.at(static_cast<std::size_t>(month))) + " " + of_year : of_year;
  }

  void add_period() {
    const std::string length = number_of(analysis_, "month") > 0 ? "1 month" : "1 year";
    const std::string column = date().quoted();
    filters_.push_back(column + " >= " + period_start() + " and " + column + " < " + period_start() + " + interval '" +
                       length + "'");
    filters_in_words_.push_back(date().in_words() + " is in " + period_in_words());
  }

  std::string where() const {
    std::string text;
    for (const std::string& filter : filters_) text += (text.empty() ? "\nwhere " : "\n  and ") + filter;
    return text;
  }

  std::string where_in_words() const {
    std::string text;
    for (const std::string& filter : filters_in_words_) text += (text.empty() ? ", where " : " and ") + filter;
    return text;
  }

  Column measure() const {
    if (const Json* place = measure_place()) {
      Column column = names_.column(place->at("table"), place->at("column"));
      const bool may_be_date = (kind_ == "minimum" || kind_ == "maximum" || kind_ == "list") && is_date(column.type);
      if (is_figure(column.type) || may_be_date) return column;
      refuse("Expected a figure to add up, but " + column.in_words() + " is of the type " + column.type + ".");
    }
    if (const std::optional<Column> figure = names_.figure_of(tables_.base())) return *figure;
    refuse("Expected " + tables_.base() + " to have a figure, but it has none.");
  }

  std::optional<Column> group() const {
    const std::string wanted = text_of(analysis_, "group_by");
    if (wanted.empty()) return std::nullopt;
    const Json* place = names_.place(wanted);
    if (place == nullptr) refuse("Expected " + wanted + " to be a name of the data, but it is none.");
    if (place->at("as") != "table") return names_.column(place->at("table"), place->at("column"));
    const std::optional<Column> label = names_.label_of(place->at("table"));
    if (!label) refuse("Expected the rows of " + text_of(*place, "table") + " to have a name, but they have none.");
    return label;
  }

  std::string figure_text() const {
    if (kind_ == "count") return "count(*)";
    const char* function = kind_ == "average" ? "avg" : kind_ == "minimum" ? "min" : kind_ == "maximum" ? "max" : "sum";
    const std::string value = std::string(function) + "(" + measure().quoted() + ")";
    return kind_ == "average" ? "round(" + value + ", 2)" : value;
  }

  std::string figure_in_words() const {
    if (kind_ == "count") return "the number of " + tables_.base();
    return "the " + kind_ + " of " + measure().in_words();
  }

  std::string direction() const { return text_of(analysis_, "order") == "ascending" ? "" : " desc"; }

  std::string limit() const {
    const std::int64_t limit = number_of(analysis_, "limit");
    return limit > 0 && number_of(analysis_, "page") == 0 ? "\nlimit " + std::to_string(limit) : "";
  }

  static Json query(std::string text, std::string says) {
    return {{"language", "sql"}, {"text", std::move(text)}, {"says", std::move(says)}};
  }

  Json figure() {
    const std::optional<Column> by = group();
    const std::string name = kind_ == "count" ? "count" : kind_;
    if (!by)
      return query("select " + figure_text() + " as " + quoted_name(name) + "\nfrom " + tables_.text() + where(),
                   figure_in_words() + where_in_words());
    tables_.reach(by->table);
    return query("select " + by->quoted() + ", " + figure_text() + " as " + quoted_name(name) + "\nfrom " +
                     tables_.text() + where() + "\ngroup by " + by->quoted() + "\norder by 2" + direction() + ", 1" +
                     limit(),
                 figure_in_words() + " for each " + by->in_words() + where_in_words());
  }

  Json list() {
    std::string columns;
    std::string key;
    const auto add = [&columns](const std::string& text) { columns += (columns.empty() ? "" : ", ") + text; };
    for (const Column& column : names_.columns_of(tables_.base())) {
      if (column.is_key && key.empty()) key = column.quoted();
      if (!names_.is_link(column)) add(column.quoted());
    }
    for (const Json& link : names_.links()) {
      const std::optional<Column> label = names_.label_of(link.at("to_table"));
      if (link.at("table") != tables_.base() || !label) continue;
      tables_.reach(label->table, "left join");
      add(label->quoted() + " as " + quoted_name(plain_word(label->table)));
    }
    std::string order = key;
    std::string words = tables_.base();
    const std::string wanted = text_of(analysis_, "order");
    if (wanted == "descending" || wanted == "ascending") {
      order = measure().quoted() + direction() + (key.empty() ? "" : ", " + key);
      words += " by " + measure().in_words() + (wanted == "ascending" ? ", smallest first" : ", largest first");
    }
    return query("select " + columns + "\nfrom " + tables_.text() + where() +
                     (order.empty() ? "" : "\norder by " + order) + limit(),
                 words + where_in_words());
  }

  // The columns by which a change can be analysed: the texts of the base table and of those it names.
  std::vector<Column> parts() {
    std::vector<Column> found;
    const auto add_texts = [&](const std::string& table) {
      for (const Column& column : names_.columns_of(table))
        if (is_text(column.type) && !column.is_key && found.size() < parts_max) found.push_back(column);
    };
    for (const Json& link : names_.links()) {
      if (link.at("table") != tables_.base()) continue;
      tables_.reach(link.at("to_table"), "left join");
      add_texts(link.at("to_table"));
    }
    add_texts(tables_.base());
    if (found.empty()) refuse("Expected " + tables_.base() + " to have parts to compare, but it has none.");
    return found;
  }

  // Each part's figure in the month and in the one before it: that of all rows first, then what changed most.
  Json change() {
    if (number_of(analysis_, "month") == 0)
      refuse("Expected a month to compare with the one before, but none is named.");
    const std::vector<Column> columns = parts();
    const std::string on = date().quoted();
    const std::string start = period_start();
    std::string part = "case";
    std::string value = "case";
    std::string sets = "()";
    for (const Column& column : columns) {
      part += " when grouping(" + column.quoted() + ") = 0 then " + quoted_text(column.in_words());
      value += " when grouping(" + column.quoted() + ") = 0 then coalesce(" + column.quoted() + "::text, '–')";
      sets += ", (" + column.quoted() + ")";
    }
    filters_.push_back(on + " >= " + start + " - interval '1 month' and " + on + " < " + start +
                       " + interval '1 month'");
    const std::string sum = "coalesce(sum(" + measure().quoted() + ") filter (where " + on;
    return query("select * from (select " + part + " else 'all' end as part, " + value +
                     " else 'all' end as value,\n  " + sum + " < " + start + "), 0) as before,\n  " + sum +
                     " >= " + start + "), 0) as now\nfrom " + tables_.text() + where() + "\ngroup by grouping sets (" +
                     sets + ")) as parts\norder by part <> 'all', abs(now - before) desc, part, value",
                 "the sum of " + measure().in_words() + " in " + period_in_words() + where_in_words() +
                     ", against the month before");
  }

  const Json& analysis_;
  const std::string kind_;
  Names names_;
  Tables tables_;
  std::vector<std::string> filters_;
  std::vector<std::string> filters_in_words_;
};

// The query as it is read from the question, with the data's names at hand.
Result<Json> query_of_question(const std::string& question, const Json& metadata) {
  const DataSchema schema(catalog_in(metadata));
  std::vector<DataValue> values;
  for (const Json& value : metadata.at("values"))
    values.push_back({value.at("table"), value.at("column"), value.at("value"), value.at("word"),
                      value.at("is_equal").get<bool>(), value.at("has_variants").get<bool>()});
  Result<Sketch> sketch = read_question(question, schema, values);
  if (!sketch) return sketch.error();
  Result<SketchQuery> written = write_sketch(*sketch, schema);
  if (!written) return written.error();
  Json query = {{"language", "sql"}, {"text", written->text}, {"says", written->says}};
  if (!written->ties.empty()) query["ties"] = written->ties;
  if (!written->doubts.empty()) query["doubts"] = written->doubts;
  return query;
}

bool has_unread_words(const Json& query) {
  const Json doubts = query.value("doubts", Json::array());
  return std::any_of(doubts.begin(), doubts.end(), [](const Json& doubt) {
    const std::string text = doubt;
    return text.ends_with("was not understood.") || text.ends_with("was not used.");
  });
}

// All of its references have one place each, so that the words alone suffice.
bool is_plain(const Json& analysis, const Json& metadata) {
  std::set<std::string> found;
  for (const Json& place : metadata.at("found")) found.insert(text_of(place, "reference"));
  const Json references = analysis.value("references", Json::array());
  return !has_rival_places(metadata) && found.size() == references.size() && !found.empty();
}

// The query as the question says it, or else as its analysis alone has it.
Result<Json> query_without_gaps(const Json& analysis, const Json& metadata) {
  const std::string question = text_of(analysis, "question");
  const bool by_words = question.empty() || !metadata.contains("values") || text_of(analysis, "kind") == "change" ||
                        number_of(analysis, "page") > 0;
  if (by_words) return Query(analysis, metadata).made();
  Result<Json> read = query_of_question(question, metadata);
  if ((read && !has_unread_words(*read)) || !is_plain(analysis, metadata)) return read;
  try {
    Json query = Query(analysis, metadata).made();
    query["doubts"] = {"The question was read by its words alone."};
    return query;
  } catch (const Refused&) {
    return read;
  }
}

}  // namespace

Result<Json> sql_query(const Json& analysis, const Json& metadata) {
  try {
    Result<Json> query = query_without_gaps(analysis, metadata);
    if (!query) return query;
    for (std::string& gap : gaps_in(metadata)) (*query)["doubts"].push_back(std::move(gap));
    return query;
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const Json::exception&) {
    return Error{Code::invalid,
                 "Expected metadata_results and analysis_result as the lookup and the analysis give "
                 "them, but they have another form."};
  }
}

}  // namespace cairn
