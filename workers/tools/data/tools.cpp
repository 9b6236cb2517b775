#include "workers/tools/data/tools.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "workers/handlers/step_fields.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/data/explore.hpp"
#include "workers/tools/data/metadata.hpp"
#include "workers/tools/data/results.hpp"

namespace cairn {
namespace {

constexpr std::size_t references_max = 20;
constexpr std::int64_t page_size_default = 20;
constexpr std::int64_t page_number_max = 100'000;

Failure unfit_inputs(const std::string& wanted, const ToolCall& call) {
  return invalid_input("Expected " + call.tool + " to get " + wanted + ", but got " + excerpt(call.inputs, 200) + ".");
}

// The input that carries a slot: by its name or a part of it, as "metadata" for metadata_results.
const Json* carried(const ToolCall& call, const std::string& slot) {
  if (const auto exact = call.inputs.find(slot); exact != call.inputs.end()) return &*exact;
  for (const auto& [name, value] : call.inputs.items())
    if (value.is_object() && slot.find(name) != std::string::npos) return &value;
  return nullptr;
}

// --- words -----------------------------------------------------------------------------------------------------------
ToolAnswer common_helpdesk(const ToolCall&) {
  return Json{{"answer",
               "I answer questions on the data: how many there are of something, sums and averages, which is best or "
               "worst, the largest and the smallest, what a table or a column means, and where a figure rose or fell "
               "from one month to the next. Name what you mean as the data names it, a place or a month if it matters, "
               "and ask for example: \"How many orders were there in Berlin in March?\""},
              {"tone", "sure"}};
}

std::string list_of_tables(const Json& metadata) {
  std::string text;
  for (const Json& table : metadata.value("tables", Json::array()))
    text += (text.empty() ? "" : ", ") + table.at("table").get<std::string>();
  return text;
}

// For a question that names nothing of the data.
std::string tables_there_are(const DataCatalog& catalog) {
  constexpr std::size_t named_max = 20;
  std::vector<std::string> tables;
  for (const DataColumn& column : catalog.columns)
    if (tables.empty() || tables.back() != column.table) tables.push_back(column.table);
  std::string text;
  for (std::size_t i = 0; i < std::min(tables.size(), named_max); ++i) text += (i == 0 ? "" : ", ") + tables[i];
  if (tables.size() > named_max) text += " and " + std::to_string(tables.size() - named_max) + " more";
  return " It has the tables " + text + ".";
}

std::string rivals_in_words(const Json& metadata) {
  std::string text;
  for (const Json& rival : metadata.value("rivals", Json::array())) {
    std::string places;
    for (const Json& place : rival.at("places")) places += (places.empty() ? "" : ", ") + place.get<std::string>();
    text += "\"" + rival.at("word").get<std::string>() + "\" may be " + places +
            (rival.at("more").get<bool>() ? " or one of others" : "") + ". ";
  }
  return text;
}

ToolAnswer clarify_question(const ToolCall& call) {
  const Json* metadata = carried(call, "metadata_results");
  std::string unknown;
  if (metadata != nullptr && metadata->is_object())
    for (const Json& reference : metadata->value("unresolved", Json::array()))
      unknown += (unknown.empty() ? "" : " and ") + reference.get<std::string>();
  const std::string about = text_of(call.inputs, "about");
  const std::string rivals = metadata != nullptr && metadata->is_object() ? rivals_in_words(*metadata) : "";
  std::string asks = about.empty() ? "" : about + " ";
  if (!rivals.empty()) {
    asks += rivals + "Which of them do you mean?";
  } else if (unknown.empty()) {
    asks +=
        "What would you like to know: how many, how much, which is the largest, what a name means, or where a "
        "figure changed?";
  } else {
    asks += "I find nothing called " + unknown + " in the data. Which of its names do you mean? It has the tables " +
            list_of_tables(*metadata) + ".";
  }
  return Json{{"question", {{"asks", asks}}}, {"tone", "uncertain"}};
}

// --- metadata --------------------------------------------------------------------------------------------------------
// Values in the tables that the question speaks of; where a name is found in none of them, in the others as well.
Result<FoundValues> search_values(const Dataset& dataset, const DataCatalog& catalog, const LookedUp& asked) {
  ValueSearch search = values_for(asked);
  search.tables = tables_for(asked, catalog, {});
  const std::set<std::string> near(search.tables.begin(), search.tables.end());
  Result<FoundValues> found = FoundValues{};
  if (!search.tables.empty()) found = find_values(dataset, catalog, search);
  if (!found) return found;
  std::set<std::string> words;
  for (const DataValue& value : found->values) words.insert(value.word);
  ValueSearch further;
  for (const std::string& word : search.equal)
    if (!words.contains(word)) further.equal.push_back(word);
  for (const std::string& word : search.within)
    if (!words.contains(word)) further.within.push_back(word);
  std::set<std::string> seen;
  for (const DataColumn& column : catalog.columns)
    if (!near.contains(column.table) && seen.insert(column.table).second) further.tables.push_back(column.table);
  if (further.tables.empty() || (further.within.empty() && !near.empty())) return found;
  Result<FoundValues> more = find_values(dataset, catalog, further);
  if (!more) return more;
  std::move(more->values.begin(), more->values.end(), std::back_inserter(found->values));
  std::move(more->sampled.begin(), more->sampled.end(), std::back_inserter(found->sampled));
  std::move(more->not_searched.begin(), more->not_searched.end(), std::back_inserter(found->not_searched));
  found->more = found->more || more->more;
  return found;
}

ToolAnswer metadata_lookup(const Dataset& dataset, const ToolCall& call) {
  const Json references = call.inputs.value("references", Json());
  const bool fits = references.is_array() && !references.empty() && references.size() <= references_max &&
                    std::all_of(references.begin(), references.end(), [](const Json& one) { return one.is_string(); });
  if (!fits) return unfit_inputs("references, a list of 1 to 20 texts", call);
  const LookedUp asked{references.get<std::vector<std::string>>(), text_of(call.inputs, "question")};
  const Result<DataCatalog> catalog = read_catalog(dataset);
  if (!catalog) return failure_of(catalog.error());
  const Result<FoundValues> values = search_values(dataset, *catalog, asked);
  if (!values) return failure_of(values.error());
  Json metadata = question_metadata(asked, *catalog, *values);
  if (catalog->more) metadata["more"] = true;
  if (metadata["found"].empty() && (asked.question.empty() || tables_for(asked, *catalog, values->values).empty())) {
    return failure("not_found",
                   "Expected " + excerpt(references, 200) + " to be names of the data, but none of them is." +
                       tables_there_are(*catalog),
                   false);
  }
  const bool is_sure = gaps_in(metadata).empty() && metadata["unresolved"].empty() && !metadata.contains("rivals") &&
                       !has_rival_places(metadata);
  return Json{{"metadata_results", metadata}, {"tone", is_sure ? "sure" : "uncertain"}};
}

ToolAnswer explain(const ToolCall& call) {
  const Json* metadata = carried(call, "metadata_results");
  if (metadata == nullptr || !metadata->is_object()) return unfit_inputs("metadata_results", call);
  const bool is_sure = metadata->at("unresolved").empty() && gaps_in(*metadata).empty();
  return Json{{"explanation", explain_metadata(*metadata)}, {"tone", is_sure ? "sure" : "uncertain"}};
}

// --- queries ---------------------------------------------------------------------------------------------------------
ToolAnswer generate(const QueryLanguage& language, const ToolCall& call) {
  const std::string draft = text_of(call.inputs, "draft");
  if (!draft.empty()) {
    const Json query = {{"language", language.name}, {"text", draft}, {"says", "what the drafted query gives"}};
    return Json{{"es_query", query}, {"tone", "uncertain"}};
  }
  const Json* metadata = carried(call, "metadata_results");
  const Json* analysis = carried(call, "analysis_result");
  if (metadata == nullptr || analysis == nullptr) return unfit_inputs("metadata_results and analysis_result", call);
  const Result<Json> query = language.make(*analysis, *metadata);
  if (!query) return failure_of(query.error());
  return Json{{"es_query", *query}, {"tone", query->contains("doubts") ? "uncertain" : "sure"}};
}

struct Window {
  std::int64_t skip = 0;
  std::int64_t rows = 0;
};

ToolAnswer execute(const Dataset& dataset, const QueryLanguage& language, const ToolCall& call, const Window& window) {
  const Json* query = carried(call, "es_query");
  const std::string text = query == nullptr || !query->is_object() ? "" : text_of(*query, "text");
  if (text.empty()) return unfit_inputs("es_query, {\"language\", \"text\"}", call);
  if (text_of(*query, "language") != language.name)
    return unfit_inputs("a query in the language " + std::string(language.name), call);
  const Result<QueryRows> found = language.run(dataset, text, window.skip, window.rows);
  if (!found) return failure_of(found.error());
  Json columns = Json::array();
  for (const QueryColumn& column : found->columns) columns.push_back({{"name", column.name}, {"type", column.type}});
  Json results = {
      {"columns", std::move(columns)}, {"rows", found->rows}, {"more", found->more}, {"says", text_of(*query, "says")}};
  Json doubts = query->value("doubts", Json::array());
  if (const std::string ties = text_of(*query, "ties"); !ties.empty()) {
    const Result<QueryRows> shared = language.run(dataset, ties, 0, 1);
    if (shared && !shared->rows.empty() && shared->rows[0][0] == true)
      doubts.push_back("More rows share the last place than are shown.");
  }
  if (!doubts.empty()) results["doubts"] = doubts;
  const bool is_sure = doubts.empty() && !(found->more && window.skip == 0);
  return Json{{"es_results", std::move(results)}, {"tone", is_sure ? "sure" : "uncertain"}};
}

ToolAnswer execute_page(const Dataset& dataset, const QueryLanguage& language, const ToolCall& call) {
  const Json page = call.inputs.value("page", Json());
  const Json number = page.is_object() ? page.value("number", Json(1)) : Json();
  const Json size = page.is_object() ? page.value("size", Json(page_size_default)) : Json();
  const bool fits = number.is_number_integer() && size.is_number_integer() && number >= 1 &&
                    number <= page_number_max && size >= 1 && size <= dataset.limits.rows;
  if (!fits)
    return unfit_inputs("a page, {\"number\", \"size\": 1 to " + std::to_string(dataset.limits.rows) + "}", call);
  const auto rows = size.get<std::int64_t>();
  ToolAnswer answer = execute(dataset, language, call, {(number.get<std::int64_t>() - 1) * rows, rows});
  if (answer) {
    (*answer)["es_results"]["page"] = {{"number", number}, {"size", size}};
    (*answer)["tone"] = (*answer)["es_results"].contains("doubts") ? "uncertain" : "sure";
  }
  return answer;
}

// --- results ---------------------------------------------------------------------------------------------------------
// Results of a configured tool may have another form.
template <class Read>
ToolAnswer of_results(const ToolCall& call, const Read& read) {
  const Json* results = carried(call, "es_results");
  try {
    if (results != nullptr && results->is_object()) return read(*results);
  } catch (const Json::exception&) {
  }
  return unfit_inputs("es_results, {\"columns\", \"rows\"}", call);
}

ToolAnswer show(const ToolCall& call) {
  return of_results(call, [](const Json& results) {
    return Json{
        {"formatted_results", show_results(results)},
        {"tone", results.contains("doubts") || (results.value("more", false) && !results.contains("page")) ? "uncertain"
                                                                                                           : "sure"}};
  });
}

ToolAnswer analyze(const ToolCall& call) {
  return of_results(call, [](const Json& results) {
    const ResultAnalysis analysis = analyze_results(results);
    return Json{{"analysis", analysis.text},
                {"tone", analysis.is_sure && !results.contains("doubts") ? "sure" : "uncertain"}};
  });
}

ToolSpec spec(const std::string& name, const std::string& queue, std::vector<std::string> needs,
              std::vector<std::string> gives, NativeTool does) {
  gives.emplace_back("tone");
  ToolSpec tool;
  tool.name = name;
  tool.does = std::move(does);
  tool.timeout_ms = 60'000;
  tool.facts = {queue, std::move(needs), std::move(gives), ""};
  return tool;
}

ToolSpec about(ToolSpec tool, std::string text) {
  tool.facts.about = std::move(text);
  return tool;
}

}  // namespace

std::vector<ToolSpec> data_tools(const Dataset& dataset, const QueryLanguage& language) {
  const auto lookup = [&dataset](const ToolCall& call) { return metadata_lookup(dataset, call); };
  const auto make = [&language](const ToolCall& call) { return generate(language, call); };
  const auto run = [&dataset, &language](const ToolCall& call) {
    return execute(dataset, language, call, {0, dataset.limits.rows});
  };
  const auto run_page = [&dataset, &language](const ToolCall& call) { return execute_page(dataset, language, call); };
  const std::string written = language.name == "sql" ? "PostgreSQL's SQL" : std::string(language.name);
  const auto explore = [&dataset](ToolAnswer (*does)(const Dataset&, const ToolCall&)) {
    return [&dataset, does](const ToolCall& call) { return does(dataset, call); };
  };
  return {
      about(spec("common_helpdesk", "talk", {"$facts/common_question"}, {"answer"}, common_helpdesk),
            "Answers a common question that needs no data: greetings, what can be asked. Input question."),
      about(spec("metadata_lookup", "data", {"$main_goal/references"}, {"metadata_results"}, lookup),
            "Finds what names of the question mean in the data. Input references, a list of texts, without it those of "
            "the goal; and question, by which the tables are chosen."),
      about(spec("list_tables", "data", {}, {"tables"}, explore(list_tables)),
            "Lists the tables of the data, 100 at a time. Input from, how many to skip."),
      about(spec("describe_table", "data", {"table"}, {"table"}, explore(describe_table)),
            "Gives a table's columns and keys. Input table."),
      about(spec("sample_rows", "data", {"table"}, {"es_results"}, explore(sample_rows)),
            "Gives some rows of a table. Inputs table, rows (at most 20) and from, how many to skip."),
      about(spec("find_values", "data", {"values"}, {"found_values"}, explore(find_values_tool)),
            "Finds the columns that have or hold texts. Inputs values, a list of texts, and tables, where to look; "
            "without tables everywhere, as far as the time suffices. Texts of more than 200 letters are not read."),
      about(spec("es_query_gen", "es", {"*.metadata_results", "$main_goal/analysis_result"}, {"es_query"}, make),
            "Makes the query that answers the goal. Input metadata_results; draft, a query in " + written +
                ", if the goal's analysis cannot say what is asked."),
      about(spec("es_query_exec", "es", {"*.es_query"}, {"es_results"}, run), "Runs a query. Input es_query."),
      about(spec("page_query", "data", {"*.es_query", "page"}, {"es_results"}, run_page),
            "Runs a query for one page of its rows. Inputs es_query and page, {\"number\", \"size\"}."),
      about(spec("clarify_question", "talk", {"$facts/ambiguous"}, {"question"}, clarify_question),
            "Makes a question back to the person. Inputs about, a sentence on what is unclear, and metadata_results if "
            "there are any."),
      about(spec("explain_metadata", "data", {"*.metadata_results"}, {"explanation"}, explain),
            "Says what tables and columns mean. Input metadata_results."),
      about(spec("show_results", "data", {"*.es_results"}, {"formatted_results"}, show),
            "Shows rows as a text. Input es_results."),
      about(spec("analyze_results", "data", {"*.es_results", "$facts/wants_analysis"}, {"analysis"}, analyze),
            "Says what rows of figures mean. Input es_results.")};
}

}  // namespace cairn
