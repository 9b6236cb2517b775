#include "workers/tools/data/metadata.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "engine/text.hpp"
#include "workers/tools/data/mentions.hpp"
#include "workers/tools/data/picking.hpp"
#include "workers/tools/data/schema.hpp"

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
      const bool is_same = value.value.size() == reference.size() &&
                           std::equal(value.value.begin(), value.value.end(), reference.begin(),
                                      [](char a, char b) { return lowered(a) == lowered(b); });
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

Json table_json(const DataColumn& column) {
  Json table = {{"table", column.table}, {"about", column.table_about}, {"columns", Json::array()}};
  if (column.table_rows >= 0) table["rows"] = column.table_rows;
  return table;
}

Json tables_json(const DataCatalog& catalog) {
  Json tables = Json::array();
  for (const DataColumn& column : catalog.columns) {
    if (tables.empty() || tables.back()["table"] != column.table) tables.push_back(table_json(column));
    Json described = {{"name", column.name}, {"type", column.type}, {"about", column.about}, {"is_key", column.is_key}};
    if (column.is_unique) described["is_unique"] = true;
    tables.back()["columns"].push_back(std::move(described));
  }
  return tables;
}

Json links_json(const DataCatalog& catalog) {
  Json links = Json::array();
  for (const DataLink& link : catalog.links) {
    links.push_back(
        {{"table", link.table}, {"column", link.column}, {"to_table", link.to_table}, {"to_column", link.to_column}});
    for (const auto& [column, to_column] : link.more) links.back()["and"].push_back({column, to_column});
  }
  return links;
}

std::string columns_text(const Json& metadata, const std::string& table) {
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
    return table + " is a table. " + about + " Its columns are " + columns_text(metadata, table) + ".";
  const std::string column = place["column"];
  if (place["as"] == "value")
    return place["value"].get<std::string>() + " is a value of the column " + column + " of the table " + table + ".";
  return column + " is a column of the table " + table + ", of the type " + place["type"].get<std::string>() + ". " +
         about;
}

}  // namespace

namespace {

constexpr std::size_t large_schema = 24;      // tables; a smaller one is shown as a whole
constexpr std::size_t neighbours_of_max = 4;  // the best tables bring their neighbours along
constexpr double weight_share_min = 0.18;     // of the best table's

std::string text_of_asked(const LookedUp& asked) {
  std::string text = asked.question;
  if (text.empty())
    for (const std::string& reference : asked.references) text += (text.empty() ? "" : ", ") + reference;
  return text;
}

// The catalogue of some of its tables, in their order.
DataCatalog part_of(const DataCatalog& catalog, const std::vector<std::string>& tables) {
  DataCatalog part;
  std::map<std::string, std::vector<const DataColumn*>> columns;
  for (const DataColumn& column : catalog.columns) columns[column.table].push_back(&column);
  for (const std::string& table : tables)
    for (const DataColumn* column : columns[table]) part.columns.push_back(*column);
  const std::set<std::string> chosen(tables.begin(), tables.end());
  for (const DataLink& link : catalog.links)
    if (chosen.contains(link.table) && chosen.contains(link.to_table)) part.links.push_back(link);
  return part;
}

std::size_t count_tables(const DataCatalog& catalog) {
  std::set<std::string> names;
  for (const DataColumn& column : catalog.columns) names.insert(column.table);
  return names.size();
}

Json values_json(const std::vector<DataValue>& values) {
  Json list = Json::array();
  for (const DataValue& value : values)
    list.push_back({{"table", value.table},
                    {"column", value.column},
                    {"value", value.value},
                    {"word", value.word},
                    {"is_equal", value.is_equal},
                    {"has_variants", value.has_variants}});
  return list;
}

// Names that nothing in the data answers to. A word with a capital within the question is a name.
Json unknown_names(const LookedUp& asked, const DataCatalog& catalog, const std::vector<DataValue>& values) {
  const DataSchema schema(catalog);
  const std::vector<Token> tokens = tokens_of(asked.question);
  const std::vector<Mention> mentions = find_mentions(tokens, schema, values);
  static const std::set<std::string> follows = {"by", "from", "for", "of", "named", "called", "with"};
  Json unknown = Json::array();
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const bool begins = tokens[i - 1].ends_sentence;
    const bool is_name = tokens[i].kind == TokenKind::word && tokens[i].is_capital && !begins &&
                         !is_grammar(tokens[i]) && tokens[i].text.size() > 1 && tokens[i].stem != "id" &&
                         month_of(tokens[i].lower) == 0;
    const bool is_linked = std::any_of(mentions.begin(), mentions.end(),
                                       [i](const Mention& mention) { return mention.first <= i && i <= mention.last; });
    // Capitals alone may be a word of the query's language.
    const bool is_all_capitals = std::all_of(tokens[i].text.begin(), tokens[i].text.end(),
                                             [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; });
    const bool stands_as_name = follows.contains(tokens[i - 1].lower);
    if (is_name && !is_linked && (!is_all_capitals || stands_as_name)) unknown.push_back(tokens[i].text);
  }
  return unknown;
}

constexpr std::size_t rivals_shown_max = 4;

// Words of the question that may be several things alike: [{"word", "places": [NAME...], "more"}]
Json rivals_in(const LookedUp& asked, const DataCatalog& catalog, const std::vector<DataValue>& values) {
  const DataSchema schema(catalog);
  const std::vector<Token> tokens = tokens_of(asked.question);
  const std::vector<Mention> mentions = find_mentions(tokens, schema, values);
  const Picker picker(schema, tokens, mentions);
  Json list = Json::array();
  std::set<std::string> seen;
  for (const Mention& mention : mentions) {
    std::vector<std::string> places = picker.rivals(mention);
    if (places.empty() || !seen.insert(lowered(picker.text(mention))).second) continue;
    const bool has_more = places.size() > rivals_shown_max;
    places.resize(std::min(places.size(), rivals_shown_max));
    list.push_back({{"word", picker.text(mention)}, {"places", std::move(places)}, {"more", has_more}});
  }
  return list;
}

}  // namespace

std::vector<std::string> tables_for(const LookedUp& asked, const DataCatalog& catalog,
                                    const std::vector<DataValue>& values) {
  const DataSchema schema(catalog);
  const std::vector<Token> tokens = tokens_of(text_of_asked(asked));
  const std::vector<double> weights = table_weights(find_mentions(tokens, schema, values), schema);
  std::vector<std::size_t> ranked;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) ranked.push_back(i);
  std::stable_sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  std::vector<std::size_t> chosen;
  std::set<std::size_t> seen;
  const auto add = [&](std::size_t table) {
    if (seen.insert(table).second) chosen.push_back(table);
  };
  const auto linked_to = [&](std::size_t table) {
    std::vector<std::size_t> near;
    for (const SchemaLink& link : schema.links()) {
      if (link.table == table) near.push_back(link.to_table);
      if (link.to_table == table) near.push_back(link.table);
    }
    return near;
  };
  for (const std::size_t table : ranked)
    if (weights[table] >= weights[ranked.front()] * weight_share_min) add(table);
  // Tables that join two of the chosen come before other neighbours.
  std::map<std::size_t, int> joins;
  for (const std::size_t table : std::vector<std::size_t>(chosen))
    for (const std::size_t near : linked_to(table)) ++joins[near];
  for (const auto& [table, count] : joins)
    if (count > 1) add(table);
  for (std::size_t i = 0; i < ranked.size() && i < neighbours_of_max; ++i)
    for (const std::size_t near : linked_to(ranked[i])) add(near);
  for (const std::size_t table : ranked) add(table);
  std::vector<std::string> names;
  for (const std::size_t table : chosen) names.push_back(schema.tables()[table].name);
  return names;
}

ValueSearch values_for(const LookedUp& asked) {
  ValueSearch search;
  std::set<std::string> seen;
  const auto add = [&](std::vector<std::string>& list, const std::string& text, std::string_view kind) {
    if (text.size() > 1 && seen.insert(std::string(kind) + lowered(text)).second) list.push_back(text);
  };
  const std::string text = text_of_asked(asked);
  for (const ValuePhrase& phrase : value_phrases(text, tokens_of(text))) {
    add(search.equal, phrase.text, "=");
    if (phrase.is_name && phrase.text.size() > 2) add(search.within, phrase.text, "~");
  }
  for (const std::string& reference : asked.references) add(search.equal, reference, "=");
  return search;
}

Json question_metadata(const LookedUp& asked, const DataCatalog& catalog, const FoundValues& found) {
  const std::size_t total = count_tables(catalog);
  std::vector<std::string> tables = tables_for(asked, catalog, found.values);
  if (total > large_schema) {
    tables.resize(std::min(tables.size(), total / 3));
  } else {
    for (const DataColumn& column : catalog.columns)
      if (std::find(tables.begin(), tables.end(), column.table) == tables.end()) tables.push_back(column.table);
  }
  const auto made = [&] { return metadata_results(asked.references, part_of(catalog, tables), found.values); };
  Json metadata = made();
  const auto complete = [&] {
    metadata["values"] = values_json(found.values);
    metadata["left_out"] = total - tables.size();
    if (!found.sampled.empty()) metadata["sampled"] = found.sampled;
    if (!found.not_searched.empty()) metadata["not_searched"] = found.not_searched;
    if (found.more) metadata["more_values"] = true;
    if (asked.question.empty()) return;
    metadata["unresolved"] = unknown_names(asked, catalog, found.values);
    if (Json rivals = rivals_in(asked, catalog, found.values); !rivals.empty()) metadata["rivals"] = std::move(rivals);
  };
  complete();
  while (tables.size() > 1 && canonical(metadata).size() > metadata_bytes_max) {
    tables.resize(tables.size() - std::max<std::size_t>(1, tables.size() / 8));
    metadata = made();
    complete();
  }
  return metadata;
}

std::string plain_word(std::string_view word) {
  std::string plain;
  for (const char c : word) plain += is_letter(c) ? lowered(c) : ' ';
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

std::vector<std::string> gaps_in(const Json& metadata) {
  constexpr std::size_t named_max = 5;
  std::vector<std::string> gaps;
  if (metadata.value("more", false)) gaps.emplace_back("The data has tables or keys that were not read.");
  const Json unread = metadata.value("not_searched", Json::array());
  if (!unread.empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min(unread.size(), named_max); ++i)
      names += (i == 0 ? "" : ", ") + unread[i].get<std::string>();
    if (unread.size() > named_max) names += " and " + std::to_string(unread.size() - named_max) + " more";
    gaps.push_back((unread.size() == 1 ? "The table " + names + " was" : "The tables " + names + " were") +
                   " not searched: the time did not suffice.");
  }
  if (metadata.value("more_values", false))
    gaps.emplace_back("Not all values that are like the names asked for were read.");
  return gaps;
}

std::string explain_metadata(const Json& metadata) {
  std::string text;
  for (const Json& place : metadata["found"]) text += (text.empty() ? "" : "\n") + place_in_words(metadata, place);
  for (const Json& reference : metadata["unresolved"])
    text += (text.empty() ? "" : "\n") + ("The data has nothing that is called " + reference.get<std::string>() + ".");
  for (const std::string& gap : gaps_in(metadata)) text += (text.empty() ? "" : "\n") + gap;
  return text;
}

}  // namespace cairn
