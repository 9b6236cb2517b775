#include "workers/tools/data/grouping.hpp"

#include <map>

namespace cairn {
namespace {

class Grouping : private TermReader {
 public:
  using TermReader::TermReader;

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
      if (clauses_.word(i) == "every" && !follows_figure(i))
        sketch_.doubts.emplace_back("\"every\" was taken for \"each\".");
      clauses_.use(i, at - 1);
      if (i > 0 && clauses_.is(i - 1, {"for", "in", "by", "at", "of", "from", "to", "with"})) clauses_.use(i - 1);
    }
  }

 private:
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
        sketch_.groups.push_back(plain_term(*named_column));
        return true;
      }
    }
    std::vector<std::size_t> dates;
    std::set<std::size_t> tables = parts_.scope();
    if (tables.empty()) tables = picker_.anchors();
    for (const std::size_t table : tables)
      for (const std::size_t column : schema_.tables()[table].columns)
        if (schema_.columns()[column].kind == ColumnKind::date) dates.push_back(column);
    for (const Condition& condition : sketch_.conditions)
      if (schema_.columns()[condition.column].kind == ColumnKind::date) dates.insert(dates.begin(), condition.column);
    if (dates.empty()) return false;
    if (dates.size() > 1) sketch_.doubts.push_back("The date was taken for " + schema_.columns()[dates[0]].name + ".");
    Term term = plain_term(dates[0]);
    term.part = part;
    sketch_.groups.push_back(term);
    return true;
  }

  bool follows_figure(std::size_t i) const {
    for (std::size_t k = 0; k < i; ++k)
      if (clauses_.is(k, {"number", "count", "total", "average", "sum", "many", "mean"})) return true;
    return false;
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
    // "each domain ID": the table, and right after it a column of its own.
    const Mention* next = clauses_.mention(at + 1);
    if (table && next != nullptr && !picker_.is_value(*next)) {
      const auto own =
          picker_.column(*next, {*table}, [&](const SchemaColumn& column) { return column.table == *table; });
      if (own && next->score() >= 0.7 && !picker_.table(*next)) {
        sketch_.groups.push_back(plain_term(*own));
        at += 2;
        return true;
      }
    }
    if (table) {
      const auto column = Picker(picker_).column(*mention, parts_.scope());
      const bool has_column_here = column && parts_.main && schema_.columns()[*column].table == *parts_.main &&
                                   *table != *parts_.main && !schema_.is_reference(*column) &&
                                   mention->candidates.front().kind == MentionKind::column;
      sketch_.groups.push_back(has_column_here ? plain_term(*column) : named(*table));
    } else if (const auto column = picker_.column(*mention, group_scope(*mention))) {
      sketch_.groups.push_back(plain_term(*column));
    } else {
      return false;
    }
    ++at;
    return true;
  }

  // "each type of food": a column of the table that is asked, if it has one.
  std::set<std::size_t> group_scope(const Mention&) const { return parts_.scope(); }
};

}  // namespace

void read_groups(QuestionParts& parts) { Grouping(parts).read_groups(); }

}  // namespace cairn
