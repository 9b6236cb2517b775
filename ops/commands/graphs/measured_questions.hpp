// Databases with questions and reference queries, loaded into a database of their own, asked, and judged. Not
// thread-safe.
//
// The folder: NAME.sql creates and fills a database's tables in the schema public; NAME.json, if there is one,
// describes its columns ({"table_metadata": {TABLE: [{"column_name", "column_description"}...]}}); questions.jsonl has
// a line for each question: {"question", "query", "db_name", "instructions"?, "query_category"?}.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/result.hpp"
#include "storage/data/dataset.hpp"

namespace cairn {

struct MeasuredQuestion {
  std::string database;
  std::string category;
  std::string text;  // with its instructions
  std::string reference;
};

struct QuestionVerdict {
  MeasuredQuestion question;
  std::string outcome;  // right, wrong, asked_back, failed
  bool is_doubted = false;
  std::string query;
  std::string says;
  bool is_linked = false;      // all that its reference reads is shown, of its own database
  bool is_linked_all = false;  // the same, of all databases as one large schema
  double shown = 0;            // the share of the tables that is shown, of its own database
  double shown_all = 0;
  std::string unlinked;  // the first table that is not shown
};

struct MeasureOptions {
  std::string folder;
  std::vector<std::string> only;  // databases; none: all
  bool comments = true;           // descriptions are loaded as comments
  bool with_model = false;        // the model of the environment answers, instead of the rule book
};

// `dsn`: of a server where databases may be created, by a login that may. Refuses `not_found` (the folder), `invalid`
// (a file that is not of its form), `unavailable`.
Result<std::vector<QuestionVerdict>> measure_questions(const std::string& dsn, const MeasureOptions& options);

}  // namespace cairn
