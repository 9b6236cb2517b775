#include "workers/tools/data/sketch.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace cairn {
namespace {

constexpr double hint_discount = 0.6;  // a way through a table that the question names is shorter

struct Way {
  const SchemaLink* link = nullptr;
  std::size_t from = 0;
  std::size_t to = 0;
  bool is_forward = true;  // in the direction of the key
};

// The tables of a query, joined by the cheapest ways between them.
class Joining {
 public:
  Joining(const DataSchema& schema, const std::vector<std::size_t>& hints, std::size_t base)
      : schema_(schema), hints_(hints.begin(), hints.end()), joined_{base} {
    text_ = quoted_table(schema.tables()[base].name);
  }

  // False if nothing links it.
  bool reach(std::size_t table) {
    if (joined_.contains(table)) return true;
    std::map<std::size_t, double> costs;
    std::map<std::size_t, Way> ways;
    for (const std::size_t start : joined_) costs[start] = 0;
    std::set<std::size_t> closed;
    while (true) {
      std::optional<std::size_t> nearest;
      for (const auto& [at, cost] : costs)
        if (!closed.contains(at) && (!nearest || cost < costs[*nearest])) nearest = at;
      if (!nearest) return false;
      if (*nearest == table) break;
      closed.insert(*nearest);
      relax(*nearest, costs, ways);
    }
    std::vector<Way> path;
    for (std::size_t at = table; !joined_.contains(at); at = ways[at].from) path.push_back(ways[at]);
    std::for_each(path.rbegin(), path.rend(), [this](const Way& way) { join(way); });
    return true;
  }

  const std::string& text() const { return text_; }
  bool multiplies() const { return multiplies_; }
  bool is_guessed() const { return is_guessed_; }
  bool is_alone() const { return joined_.size() == 1; }

 private:
  void relax(std::size_t at, std::map<std::size_t, double>& costs, std::map<std::size_t, Way>& ways) const {
    for (const SchemaLink& link : schema_.links()) {
      const bool is_forward = link.table == at;
      if (!is_forward && link.to_table != at) continue;
      const std::size_t to = is_forward ? link.to_table : link.table;
      if (joined_.contains(to)) continue;
      const double cost = costs[at] + link.cost * (hints_.contains(to) ? hint_discount : 1);
      if (costs.contains(to) && costs[to] <= cost) continue;
      costs[to] = cost;
      ways[to] = {&link, at, to, is_forward};
    }
  }

  void join(const Way& way) {
    text_ += "\njoin " + quoted_table(schema_.tables()[way.to].name) + " on ";
    bool is_first = true;
    for (const auto& [from, to] : way.link->columns) {
      text_ += (is_first ? "" : " and ") + schema_.quoted_column(from) + " = " + schema_.quoted_column(to);
      is_first = false;
    }
    joined_.insert(way.to);
    multiplies_ = multiplies_ || !way.is_forward || !way.link->to_one;
    is_guessed_ = is_guessed_ || !way.link->is_declared;
  }

  const DataSchema& schema_;
  std::set<std::size_t> hints_;
  std::set<std::size_t> joined_;
  std::string text_;
  bool multiplies_ = false;
  bool is_guessed_ = false;
};

class Writing {
 public:
  Writing(const Sketch& sketch, const DataSchema& schema)
      : sketch_(sketch), schema_(schema), joining_(schema, sketch.hints, base_of(sketch, schema)) {}

  Result<SketchQuery> written() {
    if (is_of_wholes()) return ratio_of_wholes();
    for (const std::size_t table : tables())
      if (!joining_.reach(table))
        return Error{Code::invalid, "Expected " + schema_.tables()[base_].name + " to be linked to " +
                                        schema_.tables()[table].name + " by a key or a name, but it is not."};
    for (const std::size_t table : sketch_.absent)
      if (none_in(table).empty())
        return Error{Code::invalid, "Expected " + schema_.tables()[base_].name + " to be linked to " +
                                        schema_.tables()[table].name +
                                        " by a key, or through one table, but it is not."};
    split();
    SketchQuery query;
    query.doubts = sketch_.doubts;
    is_ordered_ = sketch_.order && !(sketch_.sorts && is_distinct() && !is_selected(*sketch_.order));
    if (sketch_.order && !is_ordered_) query.doubts.emplace_back("The rows are not in the order that is asked for.");
    if (joining_.is_guessed())
      query.doubts.emplace_back("The tables are joined by columns of like names, not by declared keys.");
    if (joining_.multiplies() && adds_up())
      query.doubts.emplace_back("A row may count once for each row that it is joined with.");
    query.text = select() + from() + where() + group_by() + having() + order_by() + limit();
    query.ties = ties();
    query.says = description();
    return query;
  }

 private:
  // Two tables as they are: nothing has to join them.
  bool is_of_wholes() const {
    if (!sketch_.is_ratio || !sketch_.groups.empty() || !sketch_.conditions.empty() || !sketch_.absent.empty())
      return false;
    if (sketch_.outputs.size() != 2) return false;
    const auto is_whole = [](const Term& term) { return term.function == "count" && term.table && term.only.empty(); };
    return is_whole(sketch_.outputs[0]) && is_whole(sketch_.outputs[1]) &&
           sketch_.outputs[0].table != sketch_.outputs[1].table;
  }

  SketchQuery ratio_of_wholes() const {
    const auto rows_of = [&](const Term& term) {
      return "(select count(*) from " + quoted_table(schema_.tables()[*term.table].name) + ")";
    };
    const std::string times = sketch_.ratio_times == 100 ? "100.0 * " : "1.0 * ";
    return {
        "select " + times + rows_of(sketch_.outputs[0]) + " / nullif(" + rows_of(sketch_.outputs[1]) + ", 0) as ratio",
        "", description(), sketch_.doubts};
  }

  std::size_t base_of(const Sketch& sketch, const DataSchema& schema) {
    const auto first_of = [&](const std::vector<Term>& terms, bool figures) -> std::optional<std::size_t> {
      for (const Term& term : terms)
        if (term.is_figure() == figures) return table_of(term, schema);
      return std::nullopt;
    };
    std::optional<std::size_t> base = first_of(sketch.outputs, true);
    if (!base && sketch.order && sketch.order->is_figure()) base = table_of(*sketch.order, schema);
    if (!base) base = first_of(sketch.outputs, false);
    if (!base) base = first_of(sketch.groups, false);
    base_ = base.value_or(0);
    return base_;
  }

  static std::size_t table_of(const Term& term, const DataSchema& schema) {
    return term.column ? schema.columns()[*term.column].table : *term.table;
  }

  // In the order in which they are joined, the base first.
  std::vector<std::size_t> tables() const {
    std::vector<std::size_t> found = {base_};
    const auto add = [&](std::size_t table) {
      if (std::find(found.begin(), found.end(), table) == found.end()) found.push_back(table);
    };
    const auto add_term = [&](const Term& term) {
      add(table_of(term, schema_));
      if (term.minus) add(schema_.columns()[*term.minus].table);
      for (const Condition& condition : term.only) add(schema_.columns()[condition.column].table);
    };
    for (const Term& term : sketch_.outputs) add_term(term);
    for (const Term& term : sketch_.groups) add_term(term);
    for (const Having& having : sketch_.havings) add_term(having.term);
    if (sketch_.order) add_term(*sketch_.order);
    for (const Condition& condition : sketch_.conditions) add(schema_.columns()[condition.column].table);
    return found;
  }

  bool adds_up() const {
    const auto is_sum = [](const Term& term) { return term.function == "sum" || term.function == "avg"; };
    return std::any_of(sketch_.outputs.begin(), sketch_.outputs.end(), is_sum) ||
           (sketch_.order && is_sum(*sketch_.order));
  }

  // Plain columns next to a figure are what it is grouped by.
  void split() {
    groups_ = sketch_.groups;
    const bool has_figure =
        !sketch_.havings.empty() || (sketch_.order && sketch_.order->is_figure()) ||
        std::any_of(sketch_.outputs.begin(), sketch_.outputs.end(), [](const Term& term) { return term.is_figure(); });
    for (const Term& term : sketch_.groups) selected_.push_back(&term);
    for (const Term& term : sketch_.outputs) {
      const bool is_there = std::any_of(sketch_.groups.begin(), sketch_.groups.end(), [&](const Term& group) {
        return group.column == term.column && group.part == term.part && !term.is_figure();
      });
      if (is_there) continue;
      selected_.push_back(&term);
      if (!term.is_figure() && (has_figure || !sketch_.groups.empty())) groups_.push_back(term);
    }
    is_grouped_ = has_figure;
  }

  std::string condition_sql(const Condition& condition) const {
    const std::string text = schema_.quoted_column(condition.column) + " " + condition.sql;
    return condition.is_negated ? "not (" + text + ")" : text;
  }

  // Values of one column are alternatives; so is what "or" joins.
  std::string conditions_sql(const std::vector<Condition>& conditions, const std::string& between) const {
    std::vector<std::string> parts;
    std::vector<const Condition*> heads;
    for (const Condition& condition : conditions) {
      const auto alike = std::find_if(heads.begin(), heads.end(), [&](const Condition* head) {
        return condition.is_either || (!condition.value.empty() && !head->value.empty() &&
                                       head->column == condition.column && !head->is_negated && !condition.is_negated);
      });
      if (alike == heads.end()) {
        heads.push_back(&condition);
        parts.push_back(condition_sql(condition));
      } else {
        const auto at = static_cast<std::size_t>((condition.is_either ? heads.end() - 1 : alike) - heads.begin());
        parts[at] += " or " + condition_sql(condition);
      }
    }
    std::string text;
    for (const std::string& part : parts)
      text += (text.empty() ? "" : between) + (part.find(" or ") == std::string::npos ? part : "(" + part + ")");
    return text;
  }

  std::string term_sql(const Term& term) const {
    std::string text = term.column ? schema_.quoted_column(*term.column) : "*";
    if (!term.part.empty())
      text = term.part == "day" ? text + "::date" : "date_trunc('" + term.part + "', " + text + ")";
    if (term.minus) text = "(" + text + " - " + schema_.quoted_column(*term.minus) + ")";
    if (term.function == "count") text = counted(term);
    if (!term.function.empty()) text = term.function + "(" + text + ")";
    if (!term.only.empty()) text += " filter (where " + conditions_sql(term.only, " and ") + ")";
    return text;
  }

  // Each row once, however often the joins repeat it.
  std::string counted(const Term& term) const {
    if (term.column) return "distinct " + schema_.quoted_column(*term.column);
    const bool is_plain = *term.table == base_ && !joining_.multiplies();
    if (is_plain) return "*";
    if (const auto key = schema_.key_of(*term.table)) return "distinct " + schema_.quoted_column(*key);
    std::string keys;
    for (const std::size_t key : schema_.keys_of(*term.table))
      keys += (keys.empty() ? "" : ", ") + schema_.quoted_column(key);
    if (!keys.empty()) return "distinct (" + keys + ")";
    return "distinct " + quoted_table(schema_.tables()[*term.table].name) + ".*::text";
  }

  std::string select() const {
    std::string list;
    const std::size_t count = selected_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (sketch_.is_ratio && i + 2 == count) {
        const std::string times = sketch_.ratio_times == 100 ? "100.0 * " : "1.0 * ";
        list += (list.empty() ? "" : ", ") + times + term_sql(*selected_[i]) + " / nullif(" +
                term_sql(*selected_[i + 1]) + ", 0) as ratio";
        break;
      }
      list += (list.empty() ? "" : ", ") + term_sql(*selected_[i]);
    }
    return std::string("select ") + (is_distinct() && (!sketch_.order || sketch_.sorts) ? "distinct " : "") + list;
  }

  bool is_distinct() const { return !is_grouped_ && (sketch_.is_distinct || joining_.multiplies()); }
  bool is_selected(const Term& term) const {
    return std::any_of(selected_.begin(), selected_.end(), [&](const Term* one) { return is_same_term(*one, term); });
  }

  std::string from() const { return "\nfrom " + joining_.text(); }

  std::string where() const {
    std::string text = conditions_sql(sketch_.conditions, "\n  and ");
    for (const std::size_t table : sketch_.absent) text += (text.empty() ? "" : "\n  and ") + none_in(table);
    if (sketch_.order && sketch_.limit > 0 && !sketch_.order->is_figure())
      text += (text.empty() ? "" : "\n  and ") + term_sql(*sketch_.order) + " is not null";
    return text.empty() ? "" : "\nwhere " + text;
  }

  std::string on(const SchemaLink& link) const {
    std::string text;
    for (const auto& [from, to] : link.columns)
      text += (text.empty() ? "" : " and ") + schema_.quoted_column(from) + " = " + schema_.quoted_column(to);
    return text;
  }

  // "" if neither a key nor the keys of one table between them link it.
  std::string none_in(std::size_t table) const {
    for (const SchemaLink& link : schema_.links()) {
      if (link.table == base_ && link.to_table == table)
        return schema_.quoted_column(link.columns[0].first) + " is null";
      if (link.table != table || link.to_table != base_) continue;
      return "not exists (select from " + quoted_table(schema_.tables()[table].name) + " where " + on(link) + ")";
    }
    return none_through_another(table);
  }

  std::string none_through_another(std::size_t table) const {
    const SchemaLink* to_base = nullptr;
    const SchemaLink* to_table = nullptr;
    for (const SchemaLink& one : schema_.links())
      for (const SchemaLink& other : schema_.links()) {
        if (one.table != other.table || one.to_table != base_ || other.to_table != table || one.table == base_)
          continue;
        if (to_base != nullptr && to_base->cost + to_table->cost <= one.cost + other.cost) continue;
        to_base = &one;
        to_table = &other;
      }
    if (to_base == nullptr) return "";
    return "not exists (select from " + quoted_table(schema_.tables()[to_base->table].name) + " join " +
           quoted_table(schema_.tables()[table].name) + " on " + on(*to_table) + " where " + on(*to_base) + ")";
  }

  std::string group_by() const {
    if (!is_grouped_ || groups_.empty()) return "";
    std::string list;
    std::set<std::size_t> keyed;
    for (const Term& term : groups_) {
      list += (list.empty() ? "" : ", ") + term_sql(term);
      if (!term.column || !term.part.empty()) continue;
      // Two rows of one name stay two.
      const std::size_t table = schema_.columns()[*term.column].table;
      const std::optional<std::size_t> key = schema_.key_of(table);
      const bool is_label = schema_.label_of(table) == term.column;
      if (key && key != term.column && is_label && keyed.insert(table).second)
        list += ", " + schema_.quoted_column(*key);
    }
    return "\ngroup by " + list;
  }

  std::string having() const {
    std::string text;
    for (const Having& having : sketch_.havings)
      text += (text.empty() ? "\nhaving " : "\n  and ") + term_sql(having.term) + " " + having.sql;
    return text;
  }

  std::string order_by() const {
    if (is_ordered_)
      return "\norder by " + term_sql(*sketch_.order) + (sketch_.is_descending ? " desc nulls last" : " nulls last");
    if (is_grouped_ && !groups_.empty()) return "\norder by 1";
    return "";
  }

  std::string limit() const {
    if (sketch_.limit == 0) return "";
    const std::string skipped = sketch_.offset > 0 ? " offset " + std::to_string(sketch_.offset) : "";
    return "\nlimit " + std::to_string(sketch_.limit) + skipped;
  }

  std::string ties() const {
    if (sketch_.limit == 0 || !sketch_.order) return "";
    const std::string most = std::to_string(sketch_.limit + sketch_.offset);
    return "select count(*) > " + most + " as ties from (select" + from() + where() + group_by() + having() +
           order_by() + "\nfetch first " + most + " rows with ties) as q";
  }

  // --- in words ------------------------------------------------------------------------------------------------------
  std::string column_says(std::size_t column) const {
    return schema_.table_of(column).name + "." + schema_.columns()[column].name;
  }

  std::string term_says(const Term& term) const {
    std::string text = term.column ? column_says(*term.column) : schema_.tables()[*term.table].name;
    if (term.minus) text += " less " + column_says(*term.minus);
    if (!term.part.empty()) text = "the " + term.part + " of " + text;
    const std::map<std::string, std::string> names = {{"count", "the number of "},
                                                      {"sum", "the sum of "},
                                                      {"avg", "the average of "},
                                                      {"min", "the least "},
                                                      {"max", "the greatest "}};
    if (!term.function.empty()) text = names.at(term.function) + text;
    if (!term.only.empty()) text += " (" + conditions_says(term.only) + ")";
    return text;
  }

  std::string conditions_says(const std::vector<Condition>& conditions) const {
    std::string text;
    for (const Condition& condition : conditions)
      text += (text.empty()          ? ""
               : condition.is_either ? " or "
                                     : " and ") +
              column_says(condition.column) + (condition.is_negated ? " not: " : " ") + condition.says;
    return text;
  }

  std::string description() const {
    std::string text;
    for (const Term& term : sketch_.outputs)
      text += (text.empty() ? "" : sketch_.is_ratio ? " by " : ", ") + term_says(term);
    if (sketch_.is_ratio) text = "the ratio of " + text;
    std::string by;
    for (const Term& term : sketch_.groups) by += (by.empty() ? " for each " : " and ") + term_says(term);
    text += by;
    if (!sketch_.conditions.empty()) text += ", where " + conditions_says(sketch_.conditions);
    for (const std::size_t table : sketch_.absent) text += ", without " + schema_.tables()[table].name;
    for (const Having& having : sketch_.havings) text += ", with " + term_says(having.term) + " " + having.sql;
    if (is_ordered_)
      text += ", by " + term_says(*sketch_.order) + (sketch_.is_descending ? ", largest first" : ", smallest first");
    if (sketch_.offset > 0) text += ", at place " + std::to_string(sketch_.offset + 1);
    return text;
  }

  const Sketch& sketch_;
  const DataSchema& schema_;
  std::size_t base_ = 0;
  Joining joining_;
  std::vector<Term> groups_;
  std::vector<const Term*> selected_;
  bool is_grouped_ = false;
  bool is_ordered_ = false;
};

}  // namespace

bool is_same_term(const Term& one, const Term& other) {
  return one.function == other.function && one.column == other.column && one.table == other.table &&
         one.part == other.part && one.minus == other.minus && one.only.empty() && other.only.empty();
}

Result<SketchQuery> write_sketch(const Sketch& sketch, const DataSchema& schema) {
  if (sketch.outputs.empty() && sketch.groups.empty())
    return Error{Code::invalid, "Expected the question to say which figures or names it asks for, but it does not."};
  return Writing(sketch, schema).written();
}

}  // namespace cairn
