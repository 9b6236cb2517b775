#include "workers/tools/data/terms.hpp"

#include <algorithm>

#include "workers/tools/data/adjectives.hpp"

namespace cairn {

bool is_figure_column(const SchemaColumn& column) { return column.kind == ColumnKind::number; }
bool is_ordered_column(const SchemaColumn& column) {
  return column.kind == ColumnKind::number || column.kind == ColumnKind::date || column.kind == ColumnKind::time;
}

Term counted_term(std::size_t table) {
  Term term;
  term.function = "count";
  term.table = table;
  return term;
}

Term plain_term(std::size_t column) {
  Term term;
  term.column = column;
  return term;
}

// A table's rows by their name.
Term TermReader::named(std::size_t table) {
  if (const auto label = schema_.label_of(table)) return plain_term(*label);
  if (const auto key = schema_.key_of(table)) {
    sketch_.doubts.push_back("The rows of " + schema_.tables()[table].name + " have no name and are told by " +
                             schema_.columns()[*key].name + ".");
    return plain_term(*key);
  }
  for (const std::size_t column : schema_.tables()[table].columns)
    if (schema_.columns()[column].kind == ColumnKind::text) {
      sketch_.doubts.push_back("The rows of " + schema_.tables()[table].name + " are told by " +
                               schema_.columns()[column].name + ".");
      return plain_term(column);
    }
  return plain_term(schema_.tables()[table].columns.front());
}

std::set<std::size_t> TermReader::scope_at(std::size_t i) const {
  for (std::size_t k = i + 1; k < clauses_.size() && k <= i + 6; ++k) {
    if (clauses_[k].sentence != clauses_[i].sentence) break;
    if (clauses_[k].mention != nullptr && !picker_.is_value(*clauses_[k].mention))
      if (const auto table = picker_.table(*clauses_[k].mention)) {
        bool has_of = false;
        for (std::size_t w = i + 1; w < k; ++w) has_of = has_of || clauses_.is(w, {"of", "for"});
        if (has_of) return {*table};
        break;
      }
    const bool goes_on = clauses_[k].mention != nullptr ||
                         clauses_.is(k, {"of", "and", ",", "for", "all", "each", "every", "top"}) ||
                         clauses_.number(k) || adjective_of(clauses_.word(k)) != nullptr;
    if (!goes_on) break;
  }
  if (i > 0 && clauses_[i - 1].mention != nullptr)
    if (const auto table = picker_.table(*clauses_[i - 1].mention)) return {*table};
  return parts_.scope();
}

std::string TermReader::function_at(std::size_t i) const {
  const std::string_view word = clauses_.word(i);
  if (word == "average" || word == "mean" || word == "avg") return "avg";
  if (word == "total" || word == "sum" || word == "combined" || word == "overall") return "sum";
  if (word == "highest" || word == "maximum" || word == "largest" || word == "max" || word == "greatest" ||
      word == "latest")
    return "max";
  if (word == "lowest" || word == "minimum" || word == "smallest" || word == "min" || word == "earliest") return "min";
  return "";
}

bool TermReader::names_schema(std::size_t i) const {
  if (clauses_[i].mention != nullptr || clauses_.mention(i + 1) == nullptr) return false;
  const auto table = picker_.any_table(*clauses_.mention(i + 1));
  return table && schema_.tables()[*table].schema == clauses_[i].token->lower + ".";
}

std::optional<Term> TermReader::term_at(std::size_t& i) {
  std::size_t at = i;
  std::string function;
  bool counts = false;
  while (at < clauses_.size() && !clauses_[at].is_used) {
    if (clauses_.word(at) == "how" && clauses_.is(at + 1, {"many", "much"})) {
      counts = clauses_.word(at + 1) == "many";
      if (!counts) function = "sum";
      at += 2;
    } else if (clauses_.is(at, {"number", "count"}) ||
               (clauses_.is(at, {"total", "overall"}) && clauses_.is(at + 1, {"number", "count"}))) {
      counts = true;
      at += clauses_.is(at, {"total", "overall"}) ? 2 : 1;
      if (clauses_.word(at) == "of") ++at;
    } else if (const std::string named_function = function_at(at); !named_function.empty()) {
      function = named_function;
      ++at;
      if (clauses_.is(at, {"of", "and"}) && function != "max" && function != "min") ++at;
    } else if (clauses_.is(at, {"different", "distinct", "unique", "all", "their", "its", "corresponding", "every",
                                "his", "her", "whole"})) {
      if (clauses_.is(at, {"different", "distinct", "unique"})) sketch_.is_distinct = true;
      ++at;
    } else if (names_schema(at)) {
      ++at;
    } else {
      break;
    }
  }
  const Mention* mention = clauses_.mention(at);
  if (mention == nullptr) return std::nullopt;
  if (counts && picker_.is_value(*mention))
    if (std::optional<Term> term = counted_behind_value(i, at)) return term;
  std::optional<Term> term = term_of(at, *mention, function, counts);
  if (!term) return std::nullopt;
  clauses_.use(i, at);
  i = at + 1;
  return term;
}

// "how many red cards", "how many high severity faults": the value at `at` stays a condition.
std::optional<Term> TermReader::counted_behind_value(std::size_t& i, std::size_t at) {
  const auto is_next = [this](std::size_t k) {
    return clauses_.mention(k + 1) != nullptr && clauses_[k + 1].sentence == clauses_[k].sentence;
  };
  std::size_t noun = at;
  while (is_next(noun)) ++noun;
  const Mention& mention = *clauses_.mention(noun);
  if (noun == at || picker_.is_value(mention)) return std::nullopt;
  std::optional<Term> term = term_of(noun, mention, "", true);
  if (!term) return std::nullopt;
  const std::vector<Candidate>& values = clauses_.mention(at)->candidates;
  const bool is_of_value = std::any_of(values.begin(), values.end(), [&](const Candidate& candidate) {
    return candidate.kind == MentionKind::value && candidate.column == term->column;
  });
  if (term->column && is_of_value) {  // one value among themselves are one
    const std::size_t table = schema_.columns()[*term->column].table;
    sketch_.doubts.push_back("Each row of " + schema_.tables()[table].name + " was counted as one of \"" +
                             picker_.text(mention) + "\".");
    term = counted_term(table);
  }
  clauses_.use(i, at - 1);
  clauses_.use(noun);
  i = noun + 1;
  return term;
}

std::optional<Term> TermReader::term_of(std::size_t at, const Mention& mention, const std::string& function,
                                        bool counts) {
  const std::set<std::size_t> scope = scope_at(at);
  const auto table = picker_.table(mention);
  if (counts) {
    if (table) {
      if (function == "avg" || function == "max" || function == "min")
        sketch_.doubts.push_back("The number of " + picker_.text(mention) + " is given as it is: it has no " +
                                 (function == "avg" ? "average" : "highest or lowest") + " of its own.");
      return counted_term(*table);
    }
    if (const auto any = picker_.any_table(mention);
        any && mention.candidates.front().score < 0.95 && !picker_.is_value(mention)) {
      // "How many flights" where a column is nearer than the table: what is counted are rows.
      for (const Candidate& candidate : mention.candidates)
        if (candidate.kind == MentionKind::table && candidate.score >= 0.5) return counted_term(*any);
    }
    const auto column = picker_.column(mention, scope);
    if (!column) return std::nullopt;
    Term term = plain_term(*column);
    if (is_figure_column(schema_.columns()[*column]) && !schema_.is_reference(*column) &&
        !schema_.columns()[*column].is_unique) {
      term.function = "sum";
      sketch_.doubts.push_back("\"" + picker_.text(mention) + "\" was added up from " +
                               schema_.columns()[*column].name + ".");
    } else {
      term.function = "count";
    }
    if (function == "avg" || function == "max" || function == "min") term.function = function;
    return term;
  }
  if (!function.empty()) {
    const auto column = picker_.column(
        mention, scope,
        function == "avg" || function == "sum" ? Picker::Fits(is_figure_column) : Picker::Fits(is_ordered_column));
    const double table_score =
        table && mention.candidates.front().kind == MentionKind::table ? mention.candidates.front().score : 0;
    if (column && table_score < 0.9) {
      Term term = plain_term(*column);
      term.function = function;
      return term;
    }
    if (table && function == "sum") return counted_term(*table);
    if (!column) return std::nullopt;
    Term term = plain_term(*column);
    term.function = function;
    return term;
  }
  if (picker_.is_value(mention)) return std::nullopt;
  if (table) return named(*table);
  if (const auto column = picker_.column(mention, scope)) return plain_term(*column);
  return std::nullopt;
}

}  // namespace cairn
