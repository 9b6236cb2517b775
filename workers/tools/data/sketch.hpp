// A question as a query before it is SQL: which figures and columns of which tables, under which conditions; and its
// SQL. Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/result.hpp"
#include "workers/tools/data/schema.hpp"

namespace cairn {

// A column's condition; `sql` follows the quoted column: "= 'x'", "in (…)", "is null".
struct Condition {
  std::size_t column = 0;
  std::string sql;
  std::string says;   // "is x"
  std::string value;  // of an equality: values of one column are alternatives
  bool is_negated = false;
  bool is_either = false;  // joined by "or" to the condition before it
};

struct Term {
  std::string function;  // "", count, sum, avg, min, max
  std::optional<std::size_t> column;
  std::optional<std::size_t> table;  // of which the rows are counted
  std::string part;                  // of a date: day, week, month, quarter, year
  std::optional<std::size_t> minus;  // a column that is taken from it, as between two dates
  std::vector<Condition> only;       // rows that count
  bool is_figure() const { return !function.empty(); }
};

bool is_same_term(const Term& one, const Term& other);

struct Having {
  Term term;
  std::string sql;  // "> 3"
};

struct Sketch {
  std::vector<Term> outputs;
  std::vector<Term> groups;
  std::vector<Condition> conditions;
  std::vector<Having> havings;
  std::optional<Term> order;
  bool is_descending = true;
  bool sorts = false;  // the order chooses no rows and none may come or go by it
  std::int64_t limit = 0;
  std::int64_t offset = 0;  // places before the first row
  bool is_ratio = false;    // the last two outputs, the first by the second
  double ratio_times = 1;
  bool is_distinct = false;
  std::vector<std::size_t> hints;   // tables that the question names by the way
  std::vector<std::size_t> absent;  // tables in which a row of the result has none
  std::vector<std::string> doubts;  // what was taken for granted, as sentences
};

struct SketchQuery {
  std::string text;
  std::string ties;  // a query for true if more rows share the last place than `limit` lets through; "": no limit
  std::string says;
  std::vector<std::string> doubts;
};

// Refuses `invalid`: tables that nothing links.
Result<SketchQuery> write_sketch(const Sketch& sketch, const DataSchema& schema);

}  // namespace cairn
