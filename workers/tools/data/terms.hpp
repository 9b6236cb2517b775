// The state of reading a question, and the figures and names in it. Not thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workers/tools/data/clauses.hpp"
#include "workers/tools/data/picking.hpp"
#include "workers/tools/data/sketch.hpp"

namespace cairn {

// "sorted by X in descending order".
struct WantedOrder {
  bool is_named = false;  // by X, whether that was understood or not
  std::optional<Term> term = {};
  std::optional<bool> is_descending = {};
};

struct QuestionParts {
  const DataSchema& schema;
  Clauses& clauses;
  Picker& picker;
  std::optional<std::size_t> main = {};  // the table that is asked about
  bool finds_parts = false;              // values are looked for within texts
  bool is_top = false;                   // the first so many rows are asked for
  std::vector<Term> shown = {};          // besides what is asked for
  std::optional<WantedOrder> wanted_order = {};
  Sketch sketch = {};
  std::vector<std::string> faults = {};  // what cannot be left out and was not understood

  std::set<std::size_t> scope() const { return main ? std::set<std::size_t>{*main} : std::set<std::size_t>{}; }
};

bool is_figure_column(const SchemaColumn& column);
bool is_ordered_column(const SchemaColumn& column);

Term counted_term(std::size_t table);
Term plain_term(std::size_t column);

// Reads figures and names; what reads more of a question builds on it.
class TermReader {
 public:
  // REQUIRES: `parts` outlives it.
  explicit TermReader(QuestionParts& parts)
      : parts_(parts), schema_(parts.schema), clauses_(parts.clauses), picker_(parts.picker), sketch_(parts.sketch) {}

  // A figure or name from `i` on; moves `i` past it.
  std::optional<Term> term_at(std::size_t& i);
  // A table's rows by their name.
  Term named(std::size_t table);
  // The tables that stand next to it: "X of the T", "T's X".
  std::set<std::size_t> scope_at(std::size_t i) const;
  // "finance accounts": the schema of the table after it.
  bool names_schema(std::size_t i) const;

 protected:
  QuestionParts& parts_;
  const DataSchema& schema_;
  Clauses& clauses_;
  Picker& picker_;
  Sketch& sketch_;

 private:
  std::string function_at(std::size_t i) const;
  std::optional<Term> term_of(std::size_t at, const Mention& mention, const std::string& function, bool counts);
  std::optional<Term> counted_behind_value(std::size_t& i, std::size_t at);
};

}  // namespace cairn
