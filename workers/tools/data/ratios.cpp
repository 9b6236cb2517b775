#include "workers/tools/data/ratios.hpp"

#include <algorithm>

#include "workers/tools/data/conditions.hpp"
#include "workers/tools/data/grouping.hpp"

namespace cairn {
namespace {

class Ratios : private TermReader {
 public:
  using TermReader::TermReader;

  bool read_ratio() {
    if (read_average_number()) return true;
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      const std::string& lower = clauses_[i].token->lower;
      const bool is_part = lower == "proportion" || lower == "percentage" || lower == "percent" ||
                           lower == "fraction" || lower == "share";
      if (!clauses_.is_open(i) || (lower != "ratio" && !is_part) || clauses_[i].mention != nullptr) continue;
      const std::size_t end = clauses_.sentence_end(i);
      std::size_t first = i + 1;
      if (clauses_.word(first) == "of" || clauses_.word(first) == "between") ++first;
      std::size_t middle = end;
      for (std::size_t k = first + 1; k < end && middle == end; ++k) {
        const bool splits = clauses_.is(k, {"to", "versus", "vs"}) ||
                            (clauses_.word(k) == "out" && clauses_.word(k + 1) == "of") ||
                            (clauses_.word(k) == "compared" && clauses_.word(k + 1) == "to");
        if (splits) middle = k;
      }
      sketch_.ratio_times = lower == "percentage" || lower == "percent" ? 100 : 1;
      clauses_.use(i);
      read_groups(parts_);
      return middle < end ? read_two_sides(first, middle, end) : read_share(first, end);
    }
    return false;
  }

 private:
  // "the average number of A per B", where each A has one B: all A by all B.
  bool read_average_number() {
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      if (!clauses_.is_open(i) || !clauses_.is(i, {"average", "mean"}) || !clauses_.is(i + 1, {"number", "count"}))
        continue;
      const std::size_t counted_at = clauses_.word(i + 2) == "of" ? i + 3 : i + 2;
      std::size_t at = counted_at + 1;
      if (clauses_.is(at, {"for", "of", "in", "by"})) ++at;
      if (!clauses_.is(at, {"per", "each", "every"})) continue;
      const auto counted = table_at(counted_at);
      const auto by = table_at(at + 1);
      if (!counted || !by || !has_one(*counted, *by)) continue;
      clauses_.use(i, at + 1);
      read_periods(parts_);
      read_comparisons(parts_);
      add_ratio(counted_term(*counted), counted_term(*by));
      return true;
    }
    return false;
  }

  std::optional<std::size_t> table_at(std::size_t i) const {
    const Mention* mention = clauses_.mention(i);
    return mention == nullptr || picker_.is_value(*mention) ? std::nullopt : picker_.table(*mention);
  }

  // Whether a key leads from each row of a table to one of the other.
  bool has_one(std::size_t table, std::size_t other) const {
    return std::any_of(schema_.links().begin(), schema_.links().end(), [&](const SchemaLink& link) {
      return link.table == table && link.to_table == other && link.to_one;
    });
  }

  std::optional<Term> side(std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      std::size_t at = k;
      if (!clauses_.is_open(k) || (clauses_[k].mention != nullptr && picker_.is_value(*clauses_[k].mention))) continue;
      std::optional<Term> term = term_at(at);
      if (!term) continue;
      if (!term->is_figure()) {
        const std::size_t table = schema_.columns()[*term->column].table;
        const SchemaColumn& column = schema_.columns()[*term->column];
        const bool is_name = schema_.label_of(table) == term->column || column.is_unique || !is_figure_column(column);
        if (is_name) {
          const bool is_whole = picker_.table(*clauses_[at - 1].mention) == std::optional(table);
          Term counted = is_whole ? counted_term(table) : *term;
          counted.function = "count";
          term = counted;
        }
      }
      return term;
    }
    return std::nullopt;
  }

  static bool is_same_column(const std::vector<Condition>& some, const Condition& one) {
    return std::any_of(some.begin(), some.end(), [&](const Condition& other) { return other.column == one.column; });
  }

  // A period of one side alone narrows both; of two, each its own side.
  void read_own_periods(std::size_t first, std::size_t middle, std::size_t end, std::vector<Condition>& above,
                        std::vector<Condition>& below) {
    const std::vector<Condition> of_above = read_periods(parts_, first, middle);
    const std::vector<Condition> of_below = read_periods(parts_, middle, end);
    const bool are_two = !of_above.empty() && !of_below.empty();
    for (const Condition& condition : of_above) (are_two ? above : sketch_.conditions).push_back(condition);
    for (const Condition& condition : of_below) (are_two ? below : sketch_.conditions).push_back(condition);
    read_periods(parts_);
  }

  bool read_two_sides(std::size_t first, std::size_t middle, std::size_t end) {
    std::vector<Condition> above = read_own_comparisons(parts_, first, middle);
    std::vector<Condition> below = read_own_comparisons(parts_, middle, end);
    read_own_periods(first, middle, end, above, below);
    for (Condition& condition : read_values(parts_, first, middle)) above.push_back(condition);
    for (Condition& condition : read_values(parts_, middle, end)) below.push_back(condition);
    clauses_.use(middle, clauses_.word(middle) == "out" ? middle + 1 : middle);
    std::optional<Term> over = side(first, middle);
    std::optional<Term> under = side(middle, end);
    if (!over && under) over = under;
    if (over && !under) under = over;
    if (!over || !under) {
      parts_.faults.emplace_back(
          "Expected two figures of which one is divided by the other, but it is not clear which.");
      return true;
    }
    // A condition at the end that only narrows both: on a column that the first side does not speak of.
    for (const Condition& condition : below) {
      if (is_same_column(above, condition) || above.empty())
        under->only.push_back(condition);
      else
        sketch_.conditions.push_back(condition);
    }
    over->only = above;
    if (above.empty() && under->only.size() == 1 && over->table == under->table)
      sketch_.doubts.emplace_back("The condition was taken for the second figure alone.");
    add_ratio(*over, *under);
    return true;
  }

  // "the percentage of T that …": of all T.
  bool read_share(std::size_t first, std::size_t end) {
    std::vector<Condition> only = read_own_comparisons(parts_, first, end);
    for (Condition& condition : read_values(parts_, first, end)) only.push_back(condition);
    std::optional<Term> whole = side(first, end);
    if (!whole && parts_.main) whole = counted_term(*parts_.main);
    read_flags(parts_);
    for (const Condition& condition : sketch_.conditions) only.push_back(condition);
    sketch_.conditions.clear();
    if (!whole || only.empty()) {
      parts_.faults.emplace_back("Expected a part and a whole, but it is not clear which.");
      return true;
    }
    Term part = *whole;
    part.only = only;
    add_ratio(part, *whole);
    return true;
  }

  void add_ratio(Term over, Term under) {
    sketch_.is_ratio = true;
    sketch_.doubts.emplace_back("A ratio can be meant in several ways.");
    sketch_.outputs.push_back(std::move(over));
    sketch_.outputs.push_back(std::move(under));
  }
};

}  // namespace

bool read_ratio(QuestionParts& parts) { return Ratios(parts).read_ratio(); }

}  // namespace cairn
