#include "workers/tools/data/schema.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "engine/text.hpp"
#include "workers/tools/data/words.hpp"

namespace cairn {
namespace {

ColumnKind kind_of(const std::string& type) {
  const auto begins = [&type](std::string_view word) { return type.starts_with(word); };
  if (begins("date") || begins("timestamp")) return ColumnKind::date;
  if (begins("time")) return ColumnKind::time;
  if (begins("bool")) return ColumnKind::flag;
  if (begins("interval")) return ColumnKind::other;
  if (begins("int") || begins("bigint") || begins("smallint") || begins("numeric") || begins("double") ||
      begins("real") || begins("money"))
    return ColumnKind::number;
  if (begins("text") || begins("character") || begins("varchar") || begins("name") || begins("citext"))
    return ColumnKind::text;
  return ColumnKind::other;
}

std::vector<std::string> text_stems(const std::string& text) {
  std::vector<std::string> stems;
  for (const Token& token : tokens_of(text))
    if (token.kind == TokenKind::word) stems.push_back(token.stem);
  return stems;
}

bool ends_with(const std::vector<std::string>& words, const std::vector<std::string>& end) {
  return words.size() >= end.size() && std::equal(end.rbegin(), end.rend(), words.rbegin());
}

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string bare(const std::string& table) { return table.substr(table.rfind('.') + 1); }

// The words of a table's name but for those that only say what kind of table it is; all of them, if no others are.
std::vector<std::string> core_of(const std::vector<std::string>& stems) {
  static const std::vector<std::string> kinds =
      name_stems("tbl table dim fact header head master main info data record base entity stg view vw");
  std::vector<std::string> core;
  std::copy_if(stems.begin(), stems.end(), std::back_inserter(core),
               [](const std::string& stem) { return !holds(kinds, stem); });
  return core.empty() ? stems : core;
}

// "id", "code" and "key" alone name no other table.
bool is_key_word(const std::string& stem) { return stem == "id" || stem == "cod" || stem == "key" || stem == "uuid"; }

bool may_join(const SchemaColumn& a, const SchemaColumn& b) { return a.kind == b.kind; }

bool is_id_name(const SchemaColumn& column) {
  const std::string name = lowered(column.name);
  return name.size() > 2 && name.ends_with("id");
}

constexpr std::size_t alike_min = 3;    // names that begin alike
constexpr std::size_t letters_min = 2;  // with so many letters

// How many letters all of the names begin with; 0 if that is no prefix: too few names or letters, or one of them has
// signs, which part its words.
std::size_t common_letters(const std::vector<std::string>& names) {
  if (names.size() < alike_min) return 0;
  std::size_t length = names.front().size();
  for (const std::string& name : names) {
    if (name.find_first_of("_. -") != std::string::npos) return 0;
    length = std::min(length, name.size());
    const auto end = name.begin() + static_cast<std::ptrdiff_t>(length);
    length = static_cast<std::size_t>(std::mismatch(name.begin(), end, names.front().begin()).first - name.begin());
  }
  const bool leaves_words =
      std::all_of(names.begin(), names.end(), [&](const std::string& n) { return n.size() >= length + 2; });
  return length >= letters_min && leaves_words ? length : 0;
}

// "custid" as cust and id, "dailyprice" as daily and price: before or after a word that names often have.
std::vector<std::string> compound_stems(const std::string& name) {
  constexpr std::array<std::string_view, 22> ends = {
      "id",    "date", "datetime", "name",    "type",    "status", "price", "amount",   "code",    "time", "number",
      "count", "city", "state",    "country", "address", "email",  "phone", "currency", "balance", "user", "score"};
  std::string_view best;
  for (const std::string_view end : ends)
    if (name.size() >= end.size() + 3 && name.ends_with(end) && end.size() > best.size()) best = end;
  if (best.empty()) return name_stems(name);
  std::vector<std::string> stems = name_stems(name.substr(0, name.size() - best.size()));
  for (std::string& stem : name_stems(best)) stems.push_back(std::move(stem));
  return stems;
}

// Between tables without declared keys: the column that a column names by its own name or comment.
class LinkCosts {
 public:
  explicit LinkCosts(const std::vector<SchemaTable>& tables) : tables_(tables) {}

  // The cost of a link from one column to another; nothing if there is none.
  std::optional<double> cost(const SchemaColumn& from, const SchemaColumn& to) const {
    if (from.table == to.table || !may_join(from, to)) return std::nullopt;
    const SchemaTable& table = tables_[to.table];
    const bool same_name = lowered(from.name) == lowered(to.name) && !is_plain(from);
    if (to.is_unique && same_name) return 1.2;
    if (to.is_unique && names_key_of(from, to, table)) return 1.2;
    if (to.is_unique && about_names(from, table)) return 1.4;
    if (same_name && from.kind == ColumnKind::number && is_id_name(from)) return 2.0;
    if (same_name && from.kind == ColumnKind::text && names_something(from)) return 2.2;
    return std::nullopt;
  }

 private:
  static bool is_plain(const SchemaColumn& column) {
    return column.stems.size() == 1 &&
           (is_key_word(column.stems[0]) || column.stems[0] == "nam" || column.stems[0] == "name");
  }

  static bool names_something(const SchemaColumn& column) {
    return column.stems.size() >= 2 && (column.stems.back() == "nam" || is_key_word(column.stems.back()));
  }

  // restaurant_id for restaurant.id; custId for customer.custId; semester for semester.semester_id.
  static bool names_key_of(const SchemaColumn& from, const SchemaColumn& to, const SchemaTable& table) {
    std::vector<std::string> whole = table.stems;
    whole.insert(whole.end(), to.stems.begin(), to.stems.end());
    if (from.stems.size() >= 2 && is_key_word(from.stems.back()) && is_key_word(to.stems.back()) &&
        (ends_with(from.stems, whole) || (to.stems.size() >= 2 && ends_with(from.stems, to.stems))))
      return true;
    if (from.stems.size() >= 2 && is_key_word(from.stems.back()) && to.stems.size() == 1 && is_key_word(to.stems[0])) {
      const std::vector<std::string> before(from.stems.begin(), from.stems.end() - 1);
      return before == table.stems || ends_with(before, table.stems) ||
             (before.size() == 1 && likeness(before[0], table.stems.back()) >= 0.7);
    }
    return from.stems == table.stems && is_key_word(to.stems.back());
  }

  // "Foreign key referencing the organization": the comment speaks of a key and names the table.
  static bool about_names(const SchemaColumn& from, const SchemaTable& table) {
    const bool speaks_of_key =
        holds(from.about_stems, "id") || holds(from.about_stems, "foreign") || holds(from.about_stems, "referenc");
    if (!speaks_of_key || from.is_key || table.stems.empty() || holds(from.about_stems, "uniqu")) return false;
    return std::all_of(table.stems.begin(), table.stems.end(),
                       [&](const std::string& stem) { return holds(from.about_stems, stem); });
  }

  const std::vector<SchemaTable>& tables_;
};

}  // namespace

DataSchema::DataSchema(const DataCatalog& catalog) {
  add_columns(catalog);
  strip_prefixes();
  guess_keys();
  for (SchemaTable& table : tables_) table.core_stems = core_of(table.stems);
  add_declared_links(catalog);
  add_view_links();
  add_likely_links();
}

void DataSchema::add_columns(const DataCatalog& catalog) {
  std::map<std::string, int> keys;
  for (const DataColumn& column : catalog.columns) keys[column.table] += column.is_key ? 1 : 0;
  for (const DataColumn& column : catalog.columns) {
    if (tables_.empty() || tables_.back().name != column.table)
      tables_.push_back({column.table,
                         column.table_about,
                         column.table_rows,
                         name_stems(bare(column.table)),
                         {},
                         text_stems(column.table_about),
                         {},
                         column.table.substr(0, column.table.size() - bare(column.table).size())});
    SchemaColumn added;
    added.table = tables_.size() - 1;
    added.name = column.name;
    added.type = column.type;
    added.about = column.about;
    added.kind = kind_of(column.type);
    added.is_key = column.is_key;
    added.is_unique = column.is_unique || (column.is_key && keys[column.table] == 1);
    added.stems = name_stems(column.name);
    added.about_stems = text_stems(column.about);
    tables_.back().columns.push_back(columns_.size());
    columns_.push_back(std::move(added));
  }
}

// The same of names in small letters alone, as a server keeps those that were not quoted: "sbtx" of sbtxid, sbtxtype.
void DataSchema::strip_letters() {
  std::vector<std::string> table_names;
  for (const SchemaTable& table : tables_) {
    table_names.push_back(lowered(bare(table.name)));
    std::vector<std::string> names;
    for (const std::size_t column : table.columns) names.push_back(lowered(columns_[column].name));
    const std::size_t length = common_letters(names);
    for (std::size_t i = 0; length > 0 && i < names.size(); ++i)
      columns_[table.columns[i]].stems = compound_stems(names[i].substr(length));
  }
  const std::size_t length = common_letters(table_names);
  for (std::size_t i = 0; length > 0 && i < tables_.size(); ++i)
    tables_[i].stems = compound_stems(table_names[i].substr(length));
}

// "sbTx" of sbTxId, sbTxType, …: it says nothing of any one of them. The same of tables that all begin alike.
void DataSchema::strip_prefixes() {
  strip_letters();
  const auto common = [](const std::vector<std::vector<std::string>*>& names) {
    std::size_t length = names.size() < 3 ? 0 : names.front()->size() - 1;
    for (const auto* name : names) {
      length = std::min(length, name->size() - 1);
      const auto differs =
          std::mismatch(name->begin(), name->begin() + static_cast<std::ptrdiff_t>(length), names.front()->begin());
      length = static_cast<std::size_t>(differs.first - name->begin());
    }
    for (auto* name : names) name->erase(name->begin(), name->begin() + static_cast<std::ptrdiff_t>(length));
  };
  std::vector<std::vector<std::string>*> names;
  for (SchemaTable& table : tables_) {
    std::vector<std::vector<std::string>*> of_table;
    for (const std::size_t column : table.columns) of_table.push_back(&columns_[column].stems);
    if (of_table.size() >= 3 && std::none_of(of_table.begin(), of_table.end(), [](auto* n) { return n->empty(); }))
      common(of_table);
    if (!table.stems.empty()) names.push_back(&table.stems);
  }
  if (names.size() >= 3) common(names);
}

// Where no key is declared: "id", "TABLE_id", or a letter of the table and "id" as its only name of that form.
void DataSchema::guess_keys() {
  for (const SchemaTable& table : tables_) {
    const bool has_key = std::any_of(table.columns.begin(), table.columns.end(),
                                     [&](std::size_t column) { return columns_[column].is_key; });
    if (has_key || table.stems.empty()) continue;
    for (const std::size_t at : table.columns) {
      SchemaColumn& column = columns_[at];
      if (column.stems.empty()) continue;
      std::vector<std::string> whole = table.stems;
      whole.emplace_back("id");
      const std::string name = lowered(column.name);
      const bool is_letter_id =
          name.size() == 3 && name.ends_with("id") && table.stems.size() == 1 && name[0] == table.stems[0][0];
      const bool is_name = column.stems.back() == "nam" && column.stems.size() == 2 && table.stems.size() == 1 &&
                           column.stems[0] == table.stems[0];
      if ((column.stems.size() == 1 && column.stems[0] == "id") || column.stems == whole || is_letter_id || is_name) {
        column.is_unique = true;
        break;
      }
    }
  }
}

void DataSchema::add_declared_links(const DataCatalog& catalog) {
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < columns_.size(); ++i) places[{tables_[columns_[i].table].name, columns_[i].name}] = i;
  for (const DataLink& link : catalog.links) {
    SchemaLink added;
    added.is_declared = added.to_one = true;
    std::vector<std::pair<std::string, std::string>> pairs = {{link.column, link.to_column}};
    pairs.insert(pairs.end(), link.more.begin(), link.more.end());
    for (const auto& [column, to_column] : pairs) {
      const auto from = places.find({link.table, column});
      const auto to = places.find({link.to_table, to_column});
      if (from != places.end() && to != places.end()) added.columns.emplace_back(from->second, to->second);
    }
    if (added.columns.size() != pairs.size()) continue;
    added.table = columns_[added.columns[0].first].table;
    added.to_table = columns_[added.columns[0].second].table;
    links_.push_back(std::move(added));
  }
}

// A view that shows the rows of one table has that table's keys and is joined as it is.
void DataSchema::add_view_links() {
  std::map<std::size_t, std::map<std::string, std::size_t>> names;
  for (std::size_t i = 0; i < columns_.size(); ++i) names[columns_[i].table][columns_[i].name] = i;
  for (std::size_t view = 0; view < tables_.size(); ++view) {
    if (tables_[view].rows >= 0 || !keys_of(view).empty()) continue;
    std::optional<std::size_t> base;
    std::map<std::size_t, std::size_t> shown;  // columns of the base to those of the view
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      if (tables_[table].rows < 0 || keys_of(table).empty()) continue;
      std::map<std::size_t, std::size_t> same;
      for (const std::size_t column : tables_[table].columns)
        if (const auto at = names[view].find(columns_[column].name);
            at != names[view].end() && columns_[at->second].type == columns_[column].type)
          same[column] = at->second;
      const std::vector<std::size_t> keys = keys_of(table);
      const bool has_keys = std::all_of(keys.begin(), keys.end(), [&](std::size_t key) { return same.contains(key); });
      if (!has_keys || same.size() * 5 < tables_[view].columns.size() * 4 || same.size() <= shown.size()) continue;
      base = table;
      shown = std::move(same);
    }
    if (base) copy_links(*base, view, shown);
  }
}

void DataSchema::copy_links(std::size_t base, std::size_t view, const std::map<std::size_t, std::size_t>& columns) {
  for (const auto& [from, to] : columns) {
    columns_[to].is_key = columns_[from].is_key;
    columns_[to].is_unique = columns_[from].is_unique;
  }
  std::vector<SchemaLink> copies;
  for (const SchemaLink& link : links_) {
    if (link.table != base && link.to_table != base) continue;
    SchemaLink copy = link;
    bool is_whole = true;
    for (auto& [from, to] : copy.columns) {
      std::size_t& own = link.table == base ? from : to;
      is_whole = is_whole && columns.contains(own);
      if (is_whole) own = columns.at(own);
    }
    (link.table == base ? copy.table : copy.to_table) = view;
    copy.is_declared = false;
    copy.cost = 1.1;
    if (is_whole) copies.push_back(std::move(copy));
  }
  links_.insert(links_.end(), copies.begin(), copies.end());
}

void DataSchema::add_likely_links() {
  std::set<std::pair<std::size_t, std::size_t>> linked;
  std::set<std::size_t> bound;  // columns of a declared link
  for (const SchemaLink& link : links_) {
    linked.insert({link.table, link.to_table});
    linked.insert({link.to_table, link.table});
    for (const auto& pair : link.columns) bound.insert(pair.first);
  }
  // By kind and last part of the name, so that not every pair of a large schema is looked at.
  const LinkCosts costs(tables_);
  std::map<std::pair<std::size_t, std::size_t>, SchemaLink> best;
  std::vector<std::size_t> targets;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (!columns_[i].stems.empty()) targets.push_back(i);
  std::map<std::string, std::vector<std::size_t>> by_name;
  std::vector<std::size_t> unique;
  for (const std::size_t i : targets) {
    by_name[lowered(columns_[i].name)].push_back(i);
    if (columns_[i].is_unique) unique.push_back(i);
  }
  const auto consider = [&](std::size_t from, std::size_t to) {
    const std::optional<double> cost = costs.cost(columns_[from], columns_[to]);
    if (!cost) return;
    const std::pair<std::size_t, std::size_t> ends = {columns_[from].table, columns_[to].table};
    if (linked.contains(ends)) return;
    SchemaLink link{ends.first, ends.second, {{from, to}}, false, columns_[to].is_unique, *cost};
    const auto [at, is_new] = best.try_emplace(ends, link);
    if (!is_new && at->second.cost > *cost) at->second = link;
  };
  for (const std::size_t from : targets) {
    if (bound.contains(from)) continue;
    for (const std::size_t to : unique) consider(from, to);
    const std::vector<std::size_t>& alike = by_name[lowered(columns_[from].name)];
    if (alike.size() <= 12)
      for (const std::size_t to : alike) consider(from, to);
  }
  for (auto& [ends, link] : best) links_.push_back(std::move(link));
}

std::vector<std::size_t> DataSchema::keys_of(std::size_t table) const {
  std::vector<std::size_t> keys;
  std::copy_if(tables_[table].columns.begin(), tables_[table].columns.end(), std::back_inserter(keys),
               [this](std::size_t column) { return columns_[column].is_key; });
  if (keys.empty())
    if (const auto unique = key_of(table)) keys.push_back(*unique);
  return keys;
}

std::optional<std::size_t> DataSchema::label_of(std::size_t table) const {
  std::optional<std::size_t> label;
  double best = 0;
  for (const std::size_t at : tables_[table].columns) {
    const SchemaColumn& column = columns_[at];
    if (column.stems.empty() || column.kind != ColumnKind::text) continue;
    const std::string& last = column.stems.back();
    const bool is_name = last == "nam" || last == "titl" || last == "label";
    double score = is_name ? (column.stems.size() == 1 ? 1.0 : 0.8) : 0;
    if (is_name && column.stems.size() == 2 && !tables_[table].stems.empty() &&
        likeness(column.stems[0], tables_[table].stems.back()) >= 0.7)
      score = 0.95;
    if (column.stems == tables_[table].stems) score = 0.9;  // keyword.keyword
    if (score > best) {
      best = score;
      label = at;
    }
  }
  return label;
}

std::optional<std::size_t> DataSchema::key_of(std::size_t table) const {
  for (const std::size_t at : tables_[table].columns)
    if (columns_[at].is_unique && columns_[at].is_key) return at;
  for (const std::size_t at : tables_[table].columns)
    if (columns_[at].is_unique) return at;
  return std::nullopt;
}

bool DataSchema::is_reference(std::size_t column) const {
  return std::any_of(links_.begin(), links_.end(), [&](const SchemaLink& link) {
    return link.cost < 2 && std::any_of(link.columns.begin(), link.columns.end(),
                                        [&](const auto& pair) { return pair.first == column; });
  });
}

bool DataSchema::is_bridge(std::size_t table) const {
  const auto& columns = tables_[table].columns;
  const auto references = std::count_if(columns.begin(), columns.end(), [&](std::size_t c) { return is_reference(c); });
  return references >= 2 && columns.size() <= static_cast<std::size_t>(references) + 1;
}

std::string DataSchema::quoted_column(std::size_t column) const {
  return quoted_table(table_of(column).name) + "." + quoted_name(columns_[column].name);
}

DataCatalog catalog_in(const Json& metadata) {
  DataCatalog catalog;
  for (const Json& table : metadata.at("tables"))
    for (const Json& column : table.at("columns"))
      catalog.columns.push_back({table.at("table"), table.at("about"), column.at("name"), column.at("type"),
                                 column.at("about"), column.at("is_key").get<bool>(), column.value("is_unique", false),
                                 column.value("is_indexed", false), table.value("rows", std::int64_t{-1})});
  for (const Json& link : metadata.at("links")) {
    DataLink read{link.at("table"), link.at("column"), link.at("to_table"), link.at("to_column")};
    for (const Json& pair : link.value("and", Json::array())) read.more.emplace_back(pair.at(0), pair.at(1));
    catalog.links.push_back(std::move(read));
  }
  return catalog;
}

}  // namespace cairn
