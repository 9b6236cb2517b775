#include "ops/commands/graphs/measured_questions.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "engine/text.hpp"
#include "ops/bench/rig/server.hpp"
#include "ops/commands/graphs/reference_query.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/ports/text_file.hpp"
#include "workers/runtime/worker.hpp"
#include "workers/tools/data/question.hpp"
#include "workers/tools/data/tools.hpp"

namespace cairn {
namespace {

constexpr std::int64_t rows_compared_max = 10'000;
constexpr std::chrono::seconds patience_a_question{120};

std::string text_member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

Result<std::vector<MeasuredQuestion>> read_questions(const MeasureOptions& options) {
  const Result<std::string> text = read_text_file(options.folder + "/questions.jsonl", "the questions");
  if (!text) return text.error();
  std::vector<MeasuredQuestion> questions;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<Json> read = parse_json(line, "a line of the questions");
    if (!read) return read.error();
    MeasuredQuestion question{text_member(*read, "db_name"), text_member(*read, "query_category"),
                              text_member(*read, "question"), text_member(*read, "query")};
    if (question.database.empty() || question.text.empty() || question.reference.empty())
      return Error{Code::invalid, "Expected a question with db_name, question and query, but got " + line + "."};
    if (const std::string more = text_member(*read, "instructions"); !more.empty()) {
      if (!question.text.ends_with('.') && !question.text.ends_with('?')) question.text += ".";
      question.text += " " + more;
    }
    const bool is_wanted = options.only.empty() ||
                           std::find(options.only.begin(), options.only.end(), question.database) != options.only.end();
    if (is_wanted) questions.push_back(std::move(question));
  }
  return questions;
}

// One database of the folder after the other, each in a schema of its name.
class Loaded {
 public:
  Loaded(const std::string& dsn, const MeasureOptions& options) : database_(dsn), options_(options) {}

  Status load(const std::string& name) {
    const Result<std::string> text = read_text_file(options_.folder + "/" + name + ".sql", "the database " + name);
    if (!text) return text.error();
    Administration& admin = database_.administration();
    admin.execute("create schema if not exists public; set search_path to public");
    try {
      admin.execute(*text);
    } catch (const PostgresError& failure) {
      if (failure.is_transient()) throw;
      const std::string says = failure.what();
      return Error{Code::invalid,
                   "Expected the database " + name + " to load, but: " + says.substr(0, says.find('\n')) + "."};
    }
    admin.execute("alter schema public rename to " + quoted_name(name));
    admin.execute("grant usage on schema " + quoted_name(name) + " to " + sample_login);
    admin.execute("grant select on all tables in schema " + quoted_name(name) + " to " + sample_login);
    admin.execute("analyze");
    return options_.comments ? add_comments(name) : Status(Done{});
  }

  Dataset dataset(const std::string& schemas) const {
    Dataset made;
    made.dsn = database_.dsn();
    made.login = sample_login;
    made.schema = schemas;
    return made;
  }

  // The columns that a reference reads, as TABLE.COLUMN.
  std::set<std::string> columns_of(const std::string& schema, const std::string& query) {
    Administration& admin = database_.administration();
    std::set<std::string> columns;
    admin.begin();
    try {
      admin.execute("set local search_path to " + quoted_name(schema));
      admin.execute("create view cairn_measured as select 1 from (" + query + "\n) as q");
      const AdminRows rows = admin.query("dataset_view_columns");
      for (std::size_t row = 0; row < rows.size(); ++row) columns.insert(rows.text(row, 0) + "." + rows.text(row, 1));
    } catch (const PostgresError&) {
      columns.clear();
    }
    admin.roll_back();
    return columns;
  }

 private:
  Status add_comments(const std::string& name) {
    const std::string path = options_.folder + "/" + name + ".json";
    if (!std::filesystem::exists(path)) return Done{};
    const Result<std::string> text = read_text_file(path, "the descriptions of " + name);
    if (!text) return text.error();
    const Result<Json> read = parse_json(*text, "the descriptions of " + name);
    if (!read) return read.error();
    const Result<DataCatalog> catalog = read_catalog(dataset(name));
    if (!catalog) return catalog.error();
    std::map<std::string, std::string> comments;
    const Json tables = read->value("table_metadata", Json::object());
    for (const auto& [table, columns] : tables.items())
      for (const Json& column : columns)
        comments[lowered(table + "." + text_member(column, "column_name"))] = text_member(column, "column_description");
    std::string statements;
    for (const DataColumn& column : catalog->columns) {
      const auto comment = comments.find(lowered(column.table + "." + column.name));
      if (comment == comments.end() || comment->second.empty()) continue;
      statements += "comment on column " + quoted_name(name) + "." + quoted_name(column.table) + "." +
                    quoted_name(column.name) + " is " + quoted_text(comment->second) + ";\n";
    }
    if (!statements.empty()) database_.administration().execute(statements);
    return Done{};
  }

  mutable FreshDatabase database_;
  const MeasureOptions& options_;
};

// --- linking ---------------------------------------------------------------------------------------------------------
struct Shown {
  std::set<std::string> tables;
  double share = 0;
};

Shown shown_tables(const Dataset& dataset, const std::string& question) {
  const Result<const QueryLanguage*> language = find_query_language("sql");
  const std::vector<ToolSpec> tools = data_tools(dataset, **language);
  const auto lookup =
      std::find_if(tools.begin(), tools.end(), [](const ToolSpec& tool) { return tool.name == "metadata_lookup"; });
  const Json analysis = read_data_question(question, "");
  ToolCall call;
  call.tool = lookup->name;
  call.inputs = {{"references", analysis["references"]}, {"question", question}};
  const ToolAnswer answer = std::get<NativeTool>(lookup->does)(call);
  Shown shown;
  if (!answer) return shown;
  const Json& metadata = answer->at("metadata_results");
  for (const Json& table : metadata["tables"]) shown.tables.insert(table["table"].get<std::string>());
  const auto count = static_cast<double>(shown.tables.size());
  shown.share = count / (count + metadata.value("left_out", 0.0));
  return shown;
}

void judge_linking(QuestionVerdict& verdict, Loaded& loaded, const std::vector<std::string>& schemas) {
  const std::string& own = verdict.question.database;
  std::string all = own;
  for (const std::string& schema : schemas)
    if (schema != own) all += "," + schema;
  const Shown of_own = shown_tables(loaded.dataset(own), verdict.question.text);
  const Shown of_all = shown_tables(loaded.dataset(all), verdict.question.text);
  verdict.shown = of_own.share;
  verdict.shown_all = of_all.share;
  for (const std::string& query : reference_queries(verdict.question.reference)) {
    const std::set<std::string> columns = loaded.columns_of(own, query);
    if (columns.empty()) continue;
    bool is_own = true;
    bool is_all = true;
    for (const std::string& column : columns) {
      const std::string table = column.substr(0, column.find('.'));
      is_own = is_own && of_own.tables.contains(table);
      is_all = is_all && of_all.tables.contains(table);
      if (!of_all.tables.contains(table)) verdict.unlinked = table;
    }
    verdict.is_linked = verdict.is_linked || is_own;
    verdict.is_linked_all = verdict.is_linked_all || is_all;
  }
}

// --- answers ---------------------------------------------------------------------------------------------------------
Result<std::unique_ptr<Catalogue>> catalogue_over(const Dataset& dataset, bool with_model) {
  CatalogueOptions options = catalogue_options_from_environment();
  if (!with_model) options.models = {};
  Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue(options);
  if (catalogue) (*catalogue)->dataset = dataset;
  return catalogue;
}

struct Answered {
  std::string outcome;
  std::string answer;
  std::string query;
  bool is_doubted = false;
};

Answered answered(Client& client, const RunId& run) {
  Answered found;
  const Result<RunState> state = client.state(run);
  if (!state) return found;
  const Json output = client.expand_blobs(state->output, 0);
  found.outcome = text_member(output, "outcome");
  found.answer = text_member(output, "answer");
  found.is_doubted = found.answer.find("not certain") != std::string::npos;
  for (const SubGoal* of_plan : plan_of(*state, root_branch)) {
    const SubGoal& goal = *of_plan;
    if (goal.status != GoalStatus::succeeded) continue;
    const Json outputs = client.expand_blobs(goal.outputs, 0);
    if (outputs.contains("es_query")) found.query = text_member(outputs["es_query"], "text");
    if (goal.tool != "metadata_lookup" && text_member(outputs, "tone") == "uncertain") found.is_doubted = true;
  }
  return found;
}

bool equals_reference(const Dataset& dataset, const MeasuredQuestion& question, const std::string& query) {
  Dataset wide = dataset;
  wide.limits.rows = rows_compared_max;
  const Result<QueryRows> rows = ask_dataset(wide, query, 0, rows_compared_max);
  if (!rows) return false;
  const std::vector<std::string> references = reference_queries(question.reference);
  return std::any_of(references.begin(), references.end(), [&](const std::string& reference) {
    const Result<QueryRows> wanted = ask_dataset(wide, reference, 0, rows_compared_max);
    return wanted && are_equal_rows(rows->rows, wanted->rows);
  });
}

void judge_answer(QuestionVerdict& verdict, const Dataset& dataset, const Answered& found) {
  verdict.is_doubted = found.is_doubted;
  verdict.query = found.query;
  verdict.says = found.answer;
  if (found.outcome == "clarification")
    verdict.outcome = "asked_back";
  else if ((found.outcome != "answered" && found.outcome != "partial") || found.query.empty())
    verdict.outcome = "failed";
  else
    verdict.outcome = equals_reference(dataset, verdict.question, found.query) ? "right" : "wrong";
}

Status ask_all(std::vector<QuestionVerdict*>& verdicts, const Dataset& dataset, bool with_model) {
  Result<std::unique_ptr<Catalogue>> catalogue = catalogue_over(dataset, with_model);
  if (!catalogue) return catalogue.error();
  const std::unique_ptr<Store> store = make_memory_store(1);
  Client client(*store, **catalogue, "measure");
  client.load_graphs();
  std::vector<RunId> runs;
  for (const QuestionVerdict* verdict : verdicts) {
    StartRun start;
    start.graph = "round_planner";
    start.input = {{"question", verdict->question.text}};
    const Result<Started> started = client.start(std::move(start), "");
    if (!started) return started.error();
    runs.push_back(started->run);
  }
  const auto limit = std::chrono::steady_clock::now() + patience_a_question * static_cast<int>(runs.size());
  const auto has_ended = [&](const RunId& run) {
    const std::optional<RunRow> row = store->run(run);
    return row && (is_ended(row->status) || row->waiting);
  };
  WorkerOptions options;
  options.until = [&] {
    return std::chrono::steady_clock::now() > limit || std::all_of(runs.begin(), runs.end(), has_ended);
  };
  Worker(*store, **catalogue, options).run();
  for (std::size_t i = 0; i < runs.size(); ++i) judge_answer(*verdicts[i], dataset, answered(client, runs[i]));
  return Done{};
}

}  // namespace

Result<std::vector<QuestionVerdict>> measure_questions(const std::string& dsn, const MeasureOptions& options) {
  const Result<std::vector<MeasuredQuestion>> questions = read_questions(options);
  if (!questions) return questions.error();
  try {
    Loaded loaded(dsn, options);
    if (const Result<bool> login = load_sample(loaded.dataset("").dsn.value()); !login) return login.error();
    std::vector<QuestionVerdict> verdicts;
    std::vector<std::string> schemas;
    for (const MeasuredQuestion& question : *questions) {
      verdicts.push_back({question, "", false, "", "", false, false, 0, 0, ""});
      if (std::find(schemas.begin(), schemas.end(), question.database) == schemas.end())
        schemas.push_back(question.database);
    }
    for (const std::string& schema : schemas)
      if (const Status is_loaded = loaded.load(schema); !is_loaded) return is_loaded.error();
    for (QuestionVerdict& verdict : verdicts) judge_linking(verdict, loaded, schemas);
    for (const std::string& schema : schemas) {
      std::vector<QuestionVerdict*> own;
      for (QuestionVerdict& verdict : verdicts)
        if (verdict.question.database == schema) own.push_back(&verdict);
      if (const Status asked = ask_all(own, loaded.dataset(schema), options.with_model); !asked) return asked.error();
    }
    return verdicts;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to measure on this server, but: ") + failure.what()};
  }
}

}  // namespace cairn
