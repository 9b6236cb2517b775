#include "workers/tools/data/metadata.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace cairn {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; }

std::string singular(std::string word) {
  if (word.size() > 4 && word.ends_with("ies")) return word.substr(0, word.size() - 3) + "y";
  const bool is_plural = word.size() > 3 && word.ends_with("s") && !word.ends_with("ss") && !word.ends_with("us");
  return is_plural ? word.substr(0, word.size() - 1) : word;
}

// The words of a comment, plain.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (is_letter(c)) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(plain_word(word));
      word.clear();
    }
  }
  return words;
}

// Whether the comment has the words of the reference, one after the other.
bool describes(const std::string& about, const std::string& reference) {
  const std::vector<std::string> wanted = words_of(reference);
  const std::vector<std::string> words = words_of(about);
  return !wanted.empty() && std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) != words.end();
}

Json column_place(const std::string& reference, const DataColumn& column) {
  return {{"reference", reference}, {"as", "column"},      {"table", column.table},
          {"column", column.name},  {"type", column.type}, {"about", column.about}};
}

Json table_place(const std::string& reference, const DataColumn& column) {
  return {{"reference", reference}, {"as", "table"}, {"table", column.table}, {"about", column.table_about}};
}

class Places {
 public:
  Places(const DataCatalog& catalog, const std::vector<DataValue>& values) : catalog_(catalog), values_(values) {}

  std::vector<Json> of(const std::string& reference) const {
    const std::string word = plain_word(reference);
    std::vector<Json> places = by_name(reference, word);
    if (places.empty()) places = by_value(reference);
    if (places.empty()) places = by_comment(reference);
    return places;
  }

 private:
  std::vector<Json> by_name(const std::string& reference, const std::string& word) const {
    std::vector<Json> tables;
    std::vector<Json> columns;
    const std::string* last_table = nullptr;
    for (const DataColumn& column : catalog_.columns) {
      const bool is_new = last_table == nullptr || *last_table != column.table;
      if (is_new && plain_word(column.table) == word) tables.push_back(table_place(reference, column));
      last_table = &column.table;
      const bool is_named = plain_word(column.name) == word || plain_word(column.table + "." + column.name) == word;
      if (is_named) columns.push_back(column_place(reference, column));
    }
    return tables.empty() ? columns : tables;
  }

  std::vector<Json> by_value(const std::string& reference) const {
    std::vector<Json> places;
    for (const DataValue& value : values_) {
      const bool is_same =
          value.value.size() == reference.size() &&
          std::equal(value.value.begin(), value.value.end(), reference.begin(), [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
          });
      if (is_same)
        places.push_back({{"reference", reference},
                          {"as", "value"},
                          {"table", value.table},
                          {"column", value.column},
                          {"value", value.value},
                          {"about", ""}});
    }
    return places;
  }

  std::vector<Json> by_comment(const std::string& reference) const {
    std::vector<Json> columns;
    std::vector<Json> tables;
    const std::string* last_table = nullptr;
    for (const DataColumn& column : catalog_.columns) {
      const bool is_new = last_table == nullptr || *last_table != column.table;
      if (is_new && describes(column.table_about, reference)) tables.push_back(table_place(reference, column));
      last_table = &column.table;
      if (!column.is_key && describes(column.about, reference)) columns.push_back(column_place(reference, column));
    }
    // A figure before a text: what is asked for by another name is most often added up.
    std::stable_partition(columns.begin(), columns.end(), [](const Json& place) {
      const std::string type = place["type"];
      return type.starts_with("numeric") || type.starts_with("integer") || type.starts_with("double");
    });
    columns.insert(columns.end(), tables.begin(), tables.end());
    if (columns.size() > 1) columns.resize(1);
    return columns;
  }

  const DataCatalog& catalog_;
  const std::vector<DataValue>& values_;
};

Json tables_json(const DataCatalog& catalog) {
  Json tables = Json::array();
  for (const DataColumn& column : catalog.columns) {
    if (tables.empty() || tables.back()["table"] != column.table)
      tables.push_back({{"table", column.table}, {"about", column.table_about}, {"columns", Json::array()}});
    tables.back()["columns"].push_back(
        {{"name", column.name}, {"type", column.type}, {"about", column.about}, {"is_key", column.is_key}});
  }
  return tables;
}

Json links_json(const DataCatalog& catalog) {
  Json links = Json::array();
  for (const DataLink& link : catalog.links)
    links.push_back(
        {{"table", link.table}, {"column", link.column}, {"to_table", link.to_table}, {"to_column", link.to_column}});
  return links;
}

std::string columns_told(const Json& metadata, const std::string& table) {
  std::string text;
  for (const Json& described : metadata["tables"]) {
    if (described["table"] != table) continue;
    for (const Json& column : described["columns"])
      text += (text.empty() ? "" : ", ") + column["name"].get<std::string>();
  }
  return text;
}

std::string place_in_words(const Json& metadata, const Json& place) {
  const std::string table = place["table"];
  const std::string about =
      place["about"].get<std::string>().empty() ? "It has no description." : place["about"].get<std::string>();
  if (place["as"] == "table")
    return table + " is a table. " + about + " Its columns are " + columns_told(metadata, table) + ".";
  const std::string column = place["column"];
  if (place["as"] == "value")
    return place["value"].get<std::string>() + " is a value of the column " + column + " of the table " + table + ".";
  return column + " is a column of the table " + table + ", of the type " + place["type"].get<std::string>() + ". " +
         about;
}

}  // namespace

std::string plain_word(std::string_view word) {
  std::string plain;
  for (const char c : word)
    plain += is_letter(c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : ' ';
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return singular(plain);
}

Json metadata_results(const std::vector<std::string>& references, const DataCatalog& catalog,
                      const std::vector<DataValue>& values) {
  Json found = Json::array();
  Json unresolved = Json::array();
  const Places places(catalog, values);
  for (const std::string& reference : references) {
    const std::vector<Json> meant = places.of(reference);
    for (const Json& place : meant) found.push_back(place);
    if (meant.empty()) unresolved.push_back(reference);
  }
  return {{"asked", references},
          {"found", std::move(found)},
          {"unresolved", std::move(unresolved)},
          {"tables", tables_json(catalog)},
          {"links", links_json(catalog)}};
}

bool has_rival_places(const Json& metadata) {
  std::map<std::string, int> places;
  for (const Json& place : metadata["found"])
    if (++places[place["reference"].get<std::string>()] > 1) return true;
  return false;
}

std::string explain_metadata(const Json& metadata) {
  std::string text;
  for (const Json& place : metadata["found"]) text += (text.empty() ? "" : "\n") + place_in_words(metadata, place);
  for (const Json& reference : metadata["unresolved"])
    text += (text.empty() ? "" : "\n") + ("The data has nothing that is called " + reference.get<std::string>() + ".");
  return text;
}

}  // namespace cairn
