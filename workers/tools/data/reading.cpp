#include "workers/tools/data/reading.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "workers/tools/data/clauses.hpp"
#include "workers/tools/data/conditions.hpp"
#include "workers/tools/data/picking.hpp"

namespace cairn {
namespace {

constexpr std::size_t unread_max = 3;  // words without a meaning in the data; with more, another thing is asked

// An adjective, the columns that it compares, and whether the most of them is meant.
struct Adjective {
  std::string_view word;
  bool is_most;
  std::string_view columns;  // stems, best first; "": any figure that is named
};
constexpr std::array<Adjective, 36> adjectives = {{
    {"most", true, ""},
    {"highest", true, ""},
    {"largest", true, ""},
    {"greatest", true, ""},
    {"biggest", true, ""},
    {"maximum", true, ""},
    {"top", true, ""},
    {"best", true, "rating scor star"},
    {"max", true, ""},
    {"least", false, ""},
    {"lowest", false, ""},
    {"smallest", false, ""},
    {"fewest", false, ""},
    {"minimum", false, ""},
    {"worst", false, "rating scor star"},
    {"min", false, ""},
    {"longest", true, "length duration distanc time"},
    {"shortest", false, "length duration distanc time"},
    {"tallest", true, "height altitud elevation"},
    {"oldest", false, "birthdat born found year dat"},
    {"youngest", true, "birthdat born ag"},
    {"newest", true, "dat year"},
    {"latest", true, "dat year"},
    {"recent", true, "dat year"},
    {"earliest", false, "dat year tim"},
    {"cheapest", false, "pric cost fare far"},
    {"expensive", true, "pric cost fare far"},
    {"busiest", true, ""},
    {"richest", true, "wealth income"},
    {"fastest", true, "speed"},
    {"slowest", false, "speed"},
    {"heaviest", true, "weight"},
    {"lightest", false, "weight"},
    {"deepest", true, "depth"},
    {"populous", true, "population"},
    {"popular", true, "popularity"},
}};

const Adjective* adjective_of(std::string_view word) {
  const auto found =
      std::find_if(adjectives.begin(), adjectives.end(), [&](const Adjective& one) { return one.word == word; });
  return found == adjectives.end() ? nullptr : &*found;
}

bool is_figure_column(const SchemaColumn& column) { return column.kind == ColumnKind::number; }
bool is_ordered_column(const SchemaColumn& column) {
  return column.kind == ColumnKind::number || column.kind == ColumnKind::date || column.kind == ColumnKind::time;
}

class Reading {
 public:
  Reading(const DataSchema& schema, const std::vector<Token>& tokens, const std::vector<Mention>& mentions)
      : schema_(schema), clauses_(tokens, mentions), picker_(schema, tokens, mentions), parts_{schema,  clauses_,
                                                                                               picker_, {},
                                                                                               false,   {},
                                                                                               {}} {}

  Result<Sketch> read() {
    read_instructions();
    find_main();
    read_order();
    if (!read_ratio()) read_plainly();
    add_conditions();
    read_absence(parts_);
    read_flags(parts_);
    read_rest();
    if (!parts_.faults.empty()) return Error{Code::invalid, parts_.faults.front()};
    if (!sketch().order) sketch().limit = 0;
    for (std::string& doubt : picker_.take_doubts()) sketch().doubts.push_back(std::move(doubt));
    drop_repeated_doubts();
    return std::move(sketch());
  }

 private:
  Sketch& sketch() { return parts_.sketch; }

  // --- what is said about the answer ---------------------------------------------------------------------------------
  // Sentences on how to look for it: "Always filter names using ILIKE". Others that make rules are left, with a doubt.
  void read_instructions() {
    for (std::size_t i = 0; i < clauses_.size(); i = clauses_.sentence_end(i)) {
      const std::size_t end = clauses_.sentence_end(i);
      const std::string first = clauses_[i].token->lower;
      const auto says = [&](std::string_view word) {
        for (std::size_t k = i; k < end; ++k)
          if (clauses_[k].token->lower == word) return true;
        return false;
      };
      const bool matches = says("ilike") || says("wildcard") || says("insensitively") || says("insensitive");
      const bool is_exact = says("exact");
      const bool is_rule = first == "always" || first == "match" || first == "filter" || first == "to" ||
                           first == "represent" || first == "express" || first == "round" || first == "ignore" ||
                           first == "assume" || first == "note" || first == "consider" || first == "use" ||
                           (matches && i > 0);
      if (!is_rule || i == 0) continue;
      parts_.finds_parts = parts_.finds_parts || (matches && !is_exact);
      const bool is_known = (matches || is_exact) && end - i <= 16;
      if (!is_known)
        sketch().doubts.push_back("A rule for the answer was not understood: it begins with \"" +
                                  clauses_[i].token->text + "\".");
      clauses_.use(i, end - 1);
    }
  }

  void find_main() {
    for (std::size_t i = 0; i < clauses_.size() && !parts_.main; ++i) {
      const Mention* mention = clauses_.mention(i);
      if (mention == nullptr || picker_.is_value(*mention)) continue;
      if (const auto table = picker_.table(*mention); table && !is_verb(i)) parts_.main = table;
    }
    if (parts_.main) return;
    // The table of the first column that is named.
    for (std::size_t i = 0; i < clauses_.size() && !parts_.main; ++i)
      if (const Mention* mention = clauses_.mention(i); mention != nullptr && mention->score() >= 0.5)
        if (const auto column = Picker(picker_).column(*mention, {})) parts_.main = schema_.columns()[*column].table;
  }

  // "written", "taught": they lead to a table and do not ask for it.
  bool is_verb(std::size_t i) const {
    const std::string& word = clauses_[i].token->lower;
    const Mention& mention = *clauses_[i].mention;
    if (mention.last > mention.first) return false;
    return word.ends_with("ed") || word.ends_with("ing") || word.ends_with("wrote") || word.ends_with("itten") ||
           word.ends_with("aught");
  }

  void read_order() {
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      const std::string& lower = clauses_[i].token->lower;
      if (!clauses_.is_open(i)) continue;
      if (lower == "alphabetically" || lower == "alphabetical") {
        clauses_.use(i);
        if (clauses_.word(i - 1) == "in") clauses_.use(i - 1);
        if (clauses_[i + 1 < clauses_.size() ? i + 1 : i].token->lower == "order") clauses_.use(i + 1);
        continue;
      }
      if (lower == "starting" || (clauses_.word(i) == "from" && i + 1 < clauses_.size() &&
                                  adjective_of(clauses_[i + 1].token->lower) != nullptr)) {
        read_from_to(i);
        continue;
      }
      const bool is_order =
          (lower == "ordered" || lower == "order" || lower == "sorted" || lower == "sort" || lower == "arranged" ||
           lower == "ranked" || lower == "rank") ||
          (lower == "in" && (clauses_.is(i + 1, {"descending", "ascending", "increasing", "decreasing"})));
      if (!is_order) continue;
      std::size_t end = i;
      const std::size_t last = clauses_.sentence_end(i);
      bool has_by = lower == "in";
      for (; end < last; ++end) {
        const std::string& at = clauses_[end].token->lower;
        has_by = has_by || at == "by";
        if (end > i && at == "descending") sketch().is_descending = true;
        if (end > i && at == "ascending") sketch().is_descending = false;
        const bool is_verb_again = end > i + 2 && clauses_.is(end, {"give", "return", "show", "include", "list"});
        if (is_verb_again) break;
      }
      if (!has_by) continue;
      clauses_.use(i, end - 1);
      if (i > 0 && clauses_.is(i - 1, {",", "and"})) clauses_.use(i - 1);
    }
  }

  // "from the best ratings to the lowest": what it goes by is shown too.
  void read_from_to(std::size_t i) {
    const std::size_t last = clauses_.sentence_end(i);
    for (std::size_t k = i; k < last; ++k) {
      const Adjective* adjective = adjective_of(clauses_[k].token->lower);
      const Mention* mention = clauses_.mention(k + 1);
      if (adjective == nullptr || mention == nullptr) continue;
      const auto column = picker_.column(*mention, parts_.scope(), is_ordered_column);
      if (!column) return;
      Term by;
      by.column = column;
      shown_.push_back(by);
      sketch().order = by;
      sketch().is_descending = adjective->is_most;
      clauses_.use(i, last - 1);
      return;
    }
  }

  // --- terms ---------------------------------------------------------------------------------------------------------
  Term counted(std::size_t table) const {
    Term term;
    term.function = "count";
    term.table = table;
    return term;
  }
  Term plain(std::size_t column) const {
    Term term;
    term.column = column;
    return term;
  }
  // A table's rows by their name.
  Term named(std::size_t table) {
    if (const auto label = schema_.label_of(table)) return plain(*label);
    if (const auto key = schema_.key_of(table)) {
      sketch().doubts.push_back("The rows of " + schema_.tables()[table].name + " have no name and are told by " +
                                schema_.columns()[*key].name + ".");
      return plain(*key);
    }
    for (const std::size_t column : schema_.tables()[table].columns)
      if (schema_.columns()[column].kind == ColumnKind::text) {
        sketch().doubts.push_back("The rows of " + schema_.tables()[table].name + " are told by " +
                                  schema_.columns()[column].name + ".");
        return plain(column);
      }
    return plain(schema_.tables()[table].columns.front());
  }

  // The tables that stand next to it: "X of the T", "T's X".
  std::set<std::size_t> scope_at(std::size_t i) const {
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

  std::string function_at(std::size_t i) const {
    const std::string_view word = clauses_.word(i);
    if (word == "average" || word == "mean" || word == "avg") return "avg";
    if (word == "total" || word == "sum" || word == "combined" || word == "overall") return "sum";
    if (word == "highest" || word == "maximum" || word == "largest" || word == "max" || word == "greatest" ||
        word == "latest")
      return "max";
    if (word == "lowest" || word == "minimum" || word == "smallest" || word == "min" || word == "earliest")
      return "min";
    return "";
  }

  // "finance accounts": the schema of the table behind it.
  bool names_schema(std::size_t i) const {
    if (clauses_[i].mention != nullptr || clauses_.mention(i + 1) == nullptr) return false;
    const auto table = picker_.any_table(*clauses_.mention(i + 1));
    return table && schema_.tables()[*table].schema == clauses_[i].token->lower + ".";
  }

  // A figure or name from `i` on; moves `i` behind it.
  std::optional<Term> term_at(std::size_t& i) {
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
        if (clauses_.is(at, {"different", "distinct", "unique"})) sketch().is_distinct = true;
        ++at;
      } else if (names_schema(at)) {
        ++at;
      } else {
        break;
      }
    }
    const Mention* mention = clauses_.mention(at);
    if (mention == nullptr) return std::nullopt;
    const std::optional<Term> term = term_of(at, *mention, function, counts);
    if (!term) return std::nullopt;
    clauses_.use(i, at);
    i = at + 1;
    return term;
  }

  std::optional<Term> term_of(std::size_t at, const Mention& mention, const std::string& function, bool counts) {
    const std::set<std::size_t> scope = scope_at(at);
    const auto table = picker_.table(mention);
    if (counts) {
      if (table) return counted(*table);
      if (const auto any = picker_.any_table(mention);
          any && mention.candidates.front().score < 0.95 && !picker_.is_value(mention)) {
        // "How many flights" where a column is nearer than the table: what is counted are rows.
        for (const Candidate& candidate : mention.candidates)
          if (candidate.kind == MentionKind::table && candidate.score >= 0.5) return counted(*any);
      }
      const auto column = picker_.column(mention, scope);
      if (!column) return std::nullopt;
      Term term = plain(*column);
      if (is_figure_column(schema_.columns()[*column]) && !schema_.is_reference(*column) &&
          !schema_.columns()[*column].is_unique) {
        term.function = "sum";
        sketch().doubts.push_back("\"" + picker_.text(mention) + "\" was added up from " +
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
        Term term = plain(*column);
        term.function = function;
        return term;
      }
      if (table && function == "sum") return counted(*table);
      if (!column) return std::nullopt;
      Term term = plain(*column);
      term.function = function;
      return term;
    }
    if (picker_.is_value(mention)) return std::nullopt;
    if (table) return named(*table);
    if (const auto column = picker_.column(mention, scope)) return plain(*column);
    return std::nullopt;
  }

  // --- ratios --------------------------------------------------------------------------------------------------------
  bool read_ratio() {
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
      sketch().ratio_times = lower == "percentage" || lower == "percent" ? 100 : 1;
      clauses_.use(i);
      read_groups();
      return middle < end ? read_two_sides(first, middle, end) : read_share(first, end);
    }
    return false;
  }

  std::optional<Term> side(std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      std::size_t at = k;
      if (!clauses_.is_open(k) || (clauses_[k].mention != nullptr && picker_.is_value(*clauses_[k].mention))) continue;
      std::optional<Term> term = term_at(at);
      if (!term) continue;
      if (!term->is_figure()) {
        const std::size_t table = schema_.columns()[*term->column].table;
        const bool is_name =
            schema_.label_of(table) == term->column || !is_figure_column(schema_.columns()[*term->column]);
        if (is_name) {
          const bool is_whole = picker_.table(*clauses_[at - 1].mention) == std::optional(table);
          Term counted_term = is_whole ? counted(table) : *term;
          counted_term.function = "count";
          term = counted_term;
        }
      }
      return term;
    }
    return std::nullopt;
  }

  static bool is_same_column(const std::vector<Condition>& some, const Condition& one) {
    return std::any_of(some.begin(), some.end(), [&](const Condition& other) { return other.column == one.column; });
  }

  bool read_two_sides(std::size_t first, std::size_t middle, std::size_t end) {
    std::vector<Condition> above = read_own_comparisons(parts_, first, middle);
    std::vector<Condition> below = read_own_comparisons(parts_, middle, end);
    read_periods(parts_);
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
        sketch().conditions.push_back(condition);
    }
    over->only = above;
    if (above.empty() && under->only.size() == 1 && over->table == under->table)
      sketch().doubts.emplace_back("The condition was taken for the second figure alone.");
    add_ratio(*over, *under);
    return true;
  }

  // "the percentage of T that …": of all T.
  bool read_share(std::size_t first, std::size_t end) {
    std::vector<Condition> only = read_own_comparisons(parts_, first, end);
    for (Condition& condition : read_values(parts_, first, end)) only.push_back(condition);
    std::optional<Term> whole = side(first, end);
    if (!whole && parts_.main) whole = counted(*parts_.main);
    read_flags(parts_);
    for (const Condition& condition : sketch().conditions) only.push_back(condition);
    sketch().conditions.clear();
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
    sketch().is_ratio = true;
    sketch().doubts.emplace_back("A ratio can be meant in several ways.");
    sketch().outputs.push_back(std::move(over));
    sketch().outputs.push_back(std::move(under));
  }

  // --- plain questions -----------------------------------------------------------------------------------------------
  void read_plainly() {
    read_text_patterns(parts_);
    read_periods(parts_);
    read_comparisons(parts_);
    read_groups();
    read_superlatives();
    read_outputs();
  }

  // "each month", "monthly"; then the date of the table.
  std::optional<std::string> part_of_time(std::size_t i) const {
    static const std::map<std::string, std::string, std::less<>> parts = {
        {"day", "day"},       {"daily", "day"},       {"week", "week"},         {"weekly", "week"}, {"month", "month"},
        {"monthly", "month"}, {"quarter", "quarter"}, {"quarterly", "quarter"}, {"year", "year"},   {"yearly", "year"},
        {"annual", "year"},   {"annually", "year"},   {"years", "year"},        {"months", "month"}};
    if (i >= clauses_.size()) return std::nullopt;
    const auto found = parts.find(clauses_[i].token->lower);
    return found == parts.end() ? std::nullopt : std::optional(found->second);
  }

  bool add_time_group(std::size_t i, const std::string& part) {
    if (clauses_[i].mention != nullptr) {
      const auto named_column = picker_.column(*clauses_[i].mention, parts_.scope(), [](const SchemaColumn& column) {
        return column.kind == ColumnKind::number;
      });
      if (named_column && part == "year") {
        sketch().groups.push_back(plain(*named_column));
        return true;
      }
    }
    std::vector<std::size_t> dates;
    std::set<std::size_t> tables = parts_.scope();
    if (tables.empty()) tables = picker_.anchors();
    for (const std::size_t table : tables)
      for (const std::size_t column : schema_.tables()[table].columns)
        if (schema_.columns()[column].kind == ColumnKind::date) dates.push_back(column);
    for (const Condition& condition : sketch().conditions)
      if (schema_.columns()[condition.column].kind == ColumnKind::date) dates.insert(dates.begin(), condition.column);
    if (dates.empty()) return false;
    if (dates.size() > 1) sketch().doubts.push_back("The date was taken for " + schema_.columns()[dates[0]].name + ".");
    Term term = plain(dates[0]);
    term.part = part;
    sketch().groups.push_back(term);
    return true;
  }

  bool follows_figure(std::size_t i) const {
    for (std::size_t k = 0; k < i; ++k)
      if (clauses_.is(k, {"number", "count", "total", "average", "sum", "many", "mean"})) return true;
    return false;
  }

  void read_groups() {
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      if (!clauses_.is_open(i)) continue;
      if (const auto part = part_of_time(i);
          part && (clauses_[i].token->lower.ends_with("ly") || clauses_[i].token->lower == "annual")) {
        if (add_time_group(i, *part)) clauses_.use(i);
        continue;
      }
      const bool is_each =
          clauses_.is(i, {"each", "per", "every", "across"}) || (clauses_.word(i) == "over" && part_of_time(i + 1));
      const bool is_grouped =
          (clauses_[i].token->lower == "grouped" || clauses_[i].token->lower == "split" ||
           clauses_[i].token->lower == "differ" || clauses_[i].token->lower == "vary" ||
           clauses_[i].token->lower == "varies" || clauses_[i].token->lower == "broken") &&
          (clauses_.word(i + 1) == "by" || clauses_.word(i + 2) == "by" || clauses_.word(i + 1) == "across");
      const bool is_by = clauses_.word(i) == "by" && follows_figure(i) && clauses_.mention(i + 1) != nullptr && i > 0 &&
                         !(clauses_[i - 1].token->lower.ends_with("ed") ||
                           clauses_[i - 1].token->lower.ends_with("en") || clauses_[i - 1].token->lower == "taught");
      if (!is_each && !is_grouped && !is_by) continue;
      std::size_t at = is_grouped && clauses_.word(i + 2) == "by" ? i + 3 : is_grouped ? i + 2 : i + 1;
      if (clauses_.is(at, {"different", "of", "their", "all"})) ++at;
      const std::size_t first = at;
      while (add_group(at)) {
        if (clauses_.is(at, {"and", ","}) && clauses_.mention(at + 1) != nullptr &&
            !picker_.is_value(*clauses_.mention(at + 1)))
          ++at;
        else
          break;
      }
      if (at == first) continue;
      clauses_.use(i, at - 1);
      if (i > 0 && clauses_.is(i - 1, {"for", "in", "by", "at", "of", "from", "to", "with"})) clauses_.use(i - 1);
    }
  }

  bool add_group(std::size_t& at) {
    if (const auto part = part_of_time(at);
        part && (clauses_[at].mention == nullptr || picker_.table(*clauses_[at].mention) == std::nullopt))
      if (add_time_group(at, *part)) {
        ++at;
        return true;
      }
    const Mention* mention = clauses_.mention(at);
    if (mention == nullptr) return false;
    const auto table = picker_.table(*mention);
    // "each domain ID": the table, and right behind it a column of its own.
    const Mention* next = clauses_.mention(at + 1);
    if (table && next != nullptr && !picker_.is_value(*next)) {
      const auto own =
          picker_.column(*next, {*table}, [&](const SchemaColumn& column) { return column.table == *table; });
      if (own && next->score() >= 0.7 && !picker_.table(*next)) {
        sketch().groups.push_back(plain(*own));
        at += 2;
        return true;
      }
    }
    if (table) {
      const auto column = Picker(picker_).column(*mention, parts_.scope());
      const bool has_column_here = column && parts_.main && schema_.columns()[*column].table == *parts_.main &&
                                   *table != *parts_.main && !schema_.is_reference(*column) &&
                                   mention->candidates.front().kind == MentionKind::column;
      sketch().groups.push_back(has_column_here ? plain(*column) : named(*table));
    } else if (const auto column = picker_.column(*mention, group_scope(*mention))) {
      sketch().groups.push_back(plain(*column));
    } else {
      return false;
    }
    ++at;
    return true;
  }

  // "each type of food": a column of the table that is asked, if it has one.
  std::set<std::size_t> group_scope(const Mention&) const { return parts_.scope(); }

  void read_superlatives() {
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      if (!clauses_.is_open(i)) continue;
      if (clauses_.word(i) == "top" && clauses_.number(i + 1)) {
        sketch().limit = static_cast<std::int64_t>(*clauses_.number(i + 1));
        is_top_ = true;
        clauses_.use(i, i + 1);
        read_top_by(i);
        continue;
      }
      const Adjective* adjective = adjective_of(clauses_[i].token->lower);
      if (adjective == nullptr ||
          (clauses_[i].mention != nullptr && clauses_[i].mention->last > clauses_[i].mention->first))
        continue;
      if (i > 0 && clauses_.word(i - 1) == "at") continue;  // "at least"
      read_superlative(i, *adjective);
    }
  }

  // "top 3 T by X"
  void read_top_by(std::size_t i) {
    for (std::size_t k = i; k < clauses_.sentence_end(i); ++k) {
      if (clauses_.word(k) != "by" && !(clauses_.word(k) == "terms" && clauses_.word(k + 1) == "of")) continue;
      std::size_t at = clauses_.word(k) == "by" ? k + 1 : k + 2;
      if (const std::optional<Term> by = term_at(at)) {
        order_by(*by, true);
        clauses_.use(k);
      }
      return;
    }
  }

  void order_by(Term by, bool is_most) {
    sketch().order = std::move(by);
    sketch().is_descending = is_most;
    if (sketch().limit == 0) sketch().limit = 1;
  }

  // Whether what is asked for is the highest figure itself, and not the row that has it.
  bool is_asked_itself(std::size_t i) const {
    if (sketch().limit > 0 || is_top_) return false;
    for (std::size_t k = i; k-- > 0;) {
      if (clauses_[k].sentence != clauses_[i].sentence) break;
      if (clauses_[k].mention != nullptr) return false;
      if (!clauses_.is(
              k, {"what", "is", "are", "was", "were", "show", "me", "find", "give", "get", "return", "list", "tell"}))
        return false;
    }
    return true;
  }
  const Sketch& sketch() const { return parts_.sketch; }

  // The place of the number in "the ten largest", or "which five products have the largest"; none.
  std::optional<std::size_t> count_before(std::size_t i) const {
    const auto is_count = [this](std::size_t at) {
      return clauses_.is_open(at) && clauses_.number(at) && *clauses_.number(at) >= 1 && *clauses_.number(at) <= 1'000;
    };
    if (i > 0 && is_count(i - 1)) return i - 1;
    for (std::size_t k = 0; k + 1 < i; ++k) {
      const Mention* mention = clauses_.mention(k + 1);
      const bool begins = k == 0 || clauses_.is(k - 1, {"which", "what", "the", "list", "show", "find", "give", "me"});
      if (begins && is_count(k) && mention != nullptr && clauses_[k].sentence == clauses_[i].sentence &&
          picker_.table(*mention) == parts_.main)
        return k;
    }
    return std::nullopt;
  }

  void read_superlative(std::size_t i, const Adjective& adjective) {
    std::size_t at = i + 1;
    if (clauses_[i].token->lower == "most" && at < clauses_.size()) {  // "most recent", "most expensive"
      if (const Adjective* inner = adjective_of(clauses_[at].token->lower); inner != nullptr) {
        clauses_.use(i);
        return read_superlative(at, *inner);
      }
    }
    if (const auto counted_at = count_before(i)) {
      sketch().limit = static_cast<std::int64_t>(*clauses_.number(*counted_at));
      is_top_ = true;
      clauses_.use(*counted_at);
    }
    bool counts = false;
    while (clauses_.is(at, {"number", "count", "total", "of", "amount", "average"})) {
      counts = counts || clauses_.is(at, {"number", "count"});
      ++at;
    }
    const bool averages = clauses_.word(i + 1) == "average" || clauses_.word(i + 1) == "mean";
    const Mention* mention = clauses_.mention(at);
    if (mention != nullptr && clauses_[i].token->lower == "number") return;
    const bool has_target = mention != nullptr && !picker_.is_value(*mention);
    if (has_target && !counts && is_asked_itself(i) && !picker_.table(*mention) && adjective.columns.empty()) {
      if (picker_.column(*mention, scope_at(at), is_ordered_column)) return;  // term_at reads it
    }
    if (has_target && adjective.columns.empty() &&
        order_by_mention(i, at, *mention, counts, averages, adjective.is_most))
      return;
    order_by_adjective(i, adjective);
  }

  bool order_by_mention(std::size_t i, std::size_t at, const Mention& mention, bool counts, bool averages,
                        bool is_most) {
    const auto table = picker_.table(mention);
    if (table && (counts || table != parts_.main) &&
        !(clauses_.is(i, {"largest", "biggest", "smallest", "highest", "lowest"}) && !counts)) {
      order_by(counted(*table), is_most);
      clauses_.use(i, at);
      return true;
    }
    const auto column = picker_.column(mention, scope_at(at), is_ordered_column);
    if (!column) {
      if (!counts) return false;
      const auto any = picker_.column(mention, parts_.scope());
      if (!any) return false;
      Term term = plain(*any);
      term.function = "count";
      order_by(term, is_most);
      clauses_.use(i, at);
      return true;
    }
    if (table == parts_.main && parts_.main && !counts) return false;
    Term by = plain(*column);
    const bool is_total = clauses_.word(i + 1) == "total";
    const bool is_elsewhere = parts_.main && schema_.columns()[*column].table != *parts_.main;
    if (averages)
      by.function = "avg";
    else if (is_total || !sketch().groups.empty() || (is_elsewhere && clauses_.is(i, {"most"})))
      by.function = "sum";
    if (is_elsewhere && by.function.empty())
      sketch().doubts.push_back("Its order by " + schema_.columns()[*column].name + " was taken row by row.");
    order_by(by, is_most);
    clauses_.use(i, at);
    return true;
  }

  // "the longest river": by a column that the adjective speaks of.
  void order_by_adjective(std::size_t i, const Adjective& adjective) {
    if (!parts_.main) return;
    std::string wanted(adjective.columns.empty() ? std::string_view("") : adjective.columns);
    if (wanted.empty() && clauses_.is(i, {"largest", "biggest", "smallest"}))
      wanted = "area size population capacity amount";
    if (wanted.empty() && clauses_.is(i, {"highest", "lowest"})) wanted = "altitud height elevation";
    if (wanted.empty()) return;
    std::string stem;
    for (const char c : wanted + " ") {
      if (c != ' ') {
        stem += c;
        continue;
      }
      for (const std::size_t column : schema_.tables()[*parts_.main].columns) {
        const SchemaColumn& of = schema_.columns()[column];
        if (!is_ordered_column(of) || std::find(of.stems.begin(), of.stems.end(), stem) == of.stems.end()) continue;
        sketch().doubts.push_back("\"" + clauses_[i].token->text + "\" was taken to be by " + of.name + ".");
        order_by(plain(column), adjective.is_most);
        clauses_.use(i);
        return;
      }
      stem.clear();
    }
  }

  void read_outputs() {
    std::vector<Term> outputs;
    // A later sentence or clause that says what to return wins over the question's own words.
    std::size_t returned = clauses_.size();
    for (std::size_t i = 1; i < clauses_.size(); ++i) {
      const bool begins = clauses_[i].sentence != clauses_[i - 1].sentence &&
                          clauses_.is(i, {"return", "give", "show", "include", "list", "display"});
      if (begins && clauses_.is_open(i)) returned = i;
    }
    if (returned < clauses_.size()) outputs = list_from(returned + 1, clauses_.sentence_end(returned));
    std::vector<Term> asked = first_outputs();
    if (outputs.empty()) outputs = asked;
    for (const Term& term : shown_) outputs.push_back(term);
    if (returned >= clauses_.size()) {
      for (const Term& more : further_outputs()) outputs.push_back(more);
      const bool shows_order = is_top_ && sketch().order && !asked.empty() && is_entity(asked.front()) &&
                               asked.size() == 1 && !asks_for_column_;
      if (shows_order) outputs.push_back(*sketch().order);
    }
    const bool all_figures =
        std::all_of(outputs.begin(), outputs.end(), [](const Term& term) { return term.is_figure(); });
    if (outputs.empty() && parts_.main) outputs.push_back(named(*parts_.main));
    if (sketch().order && all_figures && sketch().groups.empty() && parts_.main && !outputs.empty() &&
        outputs.front().is_figure() && !sketch().order->is_figure())
      sketch().doubts.emplace_back("It is not clear whether the figure or the row that has it is asked for.");
    sketch().outputs = std::move(outputs);
  }

  // Whether it names the rows of its table, as named() does.
  bool is_entity(const Term& term) const {
    if (term.is_figure() || !term.column) return false;
    const std::size_t table = schema_.columns()[*term.column].table;
    const auto label = schema_.label_of(table);
    return term.column == (label ? label : schema_.key_of(table));
  }

  std::vector<Term> list_from(std::size_t first, std::size_t last) {
    std::vector<Term> terms;
    for (std::size_t i = first; i < last;) {
      if (!clauses_.is_open(i)) {
        ++i;
        continue;
      }
      const std::size_t before = i;
      if (const std::optional<Term> term = term_at(i)) {
        terms.push_back(*term);
        if (clauses_.is(i, {"of", "for"}) && clauses_.mention(i + 1) != nullptr &&
            picker_.table(*clauses_.mention(i + 1))) {
          clauses_.use(i, i + 1);
          i += 2;
        }
      }
      if (i == before) ++i;
    }
    return terms;
  }

  // The terms between the question's word and its first verb or condition.
  std::vector<Term> first_outputs() {
    std::vector<Term> terms;
    std::size_t i = 0;
    bool has_begun = false;
    while (i < clauses_.size()) {
      if (clauses_[i].is_used) {
        if (has_begun && !clauses_.is(i, {"and", ",", "of"})) {
          // A part that was read already ends the list, but a figure may follow a group's or an order's words.
          break;
        }
        ++i;
        continue;
      }
      if (clauses_.mention(i) != nullptr && picker_.is_value(*clauses_.mention(i))) {
        if (has_begun) break;
        ++i;
        continue;
      }
      const std::size_t before = i;
      if (const std::optional<Term> term = term_at(i)) {
        asks_for_column_ = asks_for_column_ || (!term->is_figure() && !picker_.table(*clauses_[i - 1].mention));
        terms.push_back(*term);
        has_begun = true;
        skip_owner(i);
        while (clauses_.is(i, {"and", ",", "as", "well", "along", "with", "together"}) && goes_on(i)) ++i;
        const bool listed = i > before && clauses_.is(i - 1, {"and", ",", "as", "with"});
        if (!listed && !(clauses_.mention(i) != nullptr)) break;
        if (!listed) break;
        continue;
      }
      if (has_begun) break;
      ++i;
    }
    return terms;
  }

  bool goes_on(std::size_t i) const {
    for (std::size_t k = i + 1; k < clauses_.size() && k <= i + 5; ++k) {
      if (clauses_[k].sentence != clauses_[i].sentence || clauses_[k].is_used) return false;
      if (clauses_[k].mention != nullptr) return !picker_.is_value(*clauses_[k].mention);
      if (!clauses_.is(k, {"as", "well", "their", "its", "and", ",", "number", "of", "total", "average", "with",
                           "corresponding", "all", "his"}))
        return false;
    }
    return false;
  }

  // "of the T": whose column it is.
  void skip_owner(std::size_t& i) {
    std::size_t at = i;
    if (!clauses_.is(at, {"of", "for"})) return;
    ++at;
    while (clauses_.is(at, {"all", "those", "these"}) ||
           (at < clauses_.size() && clauses_[at].is_used && clauses_[at].mention == nullptr))
      ++at;
    const Mention* mention = clauses_.mention(at);
    if (mention == nullptr || picker_.is_value(*mention) || !picker_.table(*mention)) return;
    owner_ = picker_.table(*mention);
    clauses_.use(i, at);
    i = at + 1;
  }

  // "… and how many P did they write?"
  std::vector<Term> further_outputs() {
    std::vector<Term> terms;
    for (std::size_t i = 0; i + 1 < clauses_.size(); ++i) {
      if (!clauses_.is_open(i) || !clauses_.is(i, {"and", ","})) continue;
      std::size_t at = i + 1;
      const bool asks = clauses_.word(at) == "how" ||
                        (clauses_.word(at) == "what" && clauses_.is(at + 1, {"is", "are", "was", "were"})) ||
                        clauses_.is(at, {"number", "total", "average", "their", "its", "return", "show"});
      if (!asks) continue;
      if (clauses_.word(at) == "what") at += 2;
      if (clauses_.is(at, {"return", "show"})) ++at;
      if (const std::optional<Term> term = term_at(at)) {
        terms.push_back(*term);
        clauses_.use(i);
        skip_owner(at);
      } else if (clauses_.word(at) == "how" && sketch().order && sketch().order->is_figure()) {
        terms.push_back(*sketch().order);  // "and how many?"
      }
    }
    return terms;
  }

  void add_conditions() {
    for (Condition& condition : read_values(parts_, 0, clauses_.size()))
      sketch().conditions.push_back(std::move(condition));
    // "both A and B": rows that have each of them.
    bool has_both = false;
    for (std::size_t i = 0; i < clauses_.size(); ++i) has_both = has_both || clauses_.word(i) == "both";
    if (!has_both || sketch().is_ratio) return;
    std::map<std::size_t, int> values;
    for (const Condition& condition : sketch().conditions)
      if (!condition.value.empty()) ++values[condition.column];
    for (const auto& [column, count] : values) {
      if (count < 2) continue;
      Term each = plain(column);
      each.function = "count";
      sketch().havings.push_back({each, "= " + std::to_string(count)});
    }
  }

  // --- what is left --------------------------------------------------------------------------------------------------
  void read_rest() {
    for (std::size_t i = 0; i < clauses_.size(); ++i)
      if (const Mention* mention = clauses_[i].mention; mention != nullptr)
        if (const auto table = picker_.table(*mention); table && (table == parts_.main || is_used_table(*table)))
          picker_.doubt_table(*mention);
    std::vector<std::string> unread;
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      if (!clauses_.is_open(i) || names_schema(i)) continue;
      if (clauses_[i].mention != nullptr) {
        const auto table = picker_.table(*clauses_[i].mention);
        if (table) {
          sketch().hints.push_back(*table);
          if (!is_used_table(*table) && !is_verb(i))
            sketch().doubts.push_back("\"" + picker_.text(*clauses_[i].mention) + "\" changed nothing.");
        } else {
          if (const auto any = picker_.any_table(*clauses_[i].mention)) sketch().hints.push_back(*any);
          sketch().doubts.push_back("\"" + picker_.text(*clauses_[i].mention) + "\" was not used.");
        }
        continue;
      }
      const Token& token = *clauses_[i].token;
      if (is_grammar(token) && !clauses_.is(i, {"not", "no", "without", "never", "both", "most", "highest", "lowest",
                                                "least", "best", "latest", "last", "previous"}))
        continue;
      unread.push_back(token.text);
    }
    for (const std::string& word : unread) sketch().doubts.push_back("\"" + word + "\" was not understood.");
    if (unread.size() > unread_max)
      parts_.faults.push_back(
          "Expected to understand the question, but too many of its words have no meaning in the data: " + unread[0] +
          ", " + unread[1] + ", " + unread[2] + " and others.");
  }

  bool is_used_table(std::size_t table) const {
    const auto uses = [&](const Term& term) {
      return (term.column && schema_.columns()[*term.column].table == table) || term.table == std::optional(table);
    };
    return owner_ == std::optional(table) || std::any_of(sketch().outputs.begin(), sketch().outputs.end(), uses) ||
           std::any_of(sketch().groups.begin(), sketch().groups.end(), uses);
  }

  void drop_repeated_doubts() {
    std::vector<std::string> kept;
    for (std::string& doubt : sketch().doubts)
      if (std::find(kept.begin(), kept.end(), doubt) == kept.end()) kept.push_back(std::move(doubt));
    sketch().doubts = std::move(kept);
  }

  const DataSchema& schema_;
  Clauses clauses_;
  Picker picker_;
  QuestionParts parts_;
  std::vector<Term> shown_;
  std::optional<std::size_t> owner_;
  bool is_top_ = false;
  bool asks_for_column_ = false;
};

}  // namespace

Result<Sketch> read_question(const std::string& question, const DataSchema& schema,
                             const std::vector<DataValue>& values) {
  const std::vector<Token> tokens = tokens_of(question);
  const std::vector<Mention> mentions = find_mentions(tokens, schema, values);
  if (mentions.empty()) return Error{Code::invalid, "Expected a name of the data in the question, but there is none."};
  return Reading(schema, tokens, mentions).read();
}

}  // namespace cairn
