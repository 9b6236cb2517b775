#include "workers/tools/data/ordering.hpp"

#include <algorithm>

#include "workers/tools/data/adjectives.hpp"

namespace cairn {
namespace {

class Ordering : private TermReader {
 public:
  using TermReader::TermReader;

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
        has_by = has_by || clauses_[end].token->lower == "by" || direction_at(end, last);
        const bool is_verb_again = end > i + 2 && clauses_.is(end, {"give", "return", "show", "include", "list"});
        if (is_verb_again) break;
      }
      if (!has_by) continue;
      end = read_wanted(i, end);
      clauses_.use(i, end - 1);
      if (i > 0 && clauses_.is(i - 1, {",", "and"})) clauses_.use(i - 1);
    }
  }

  void place_order() {
    if (!parts_.wanted_order) return;
    if (sketch_.order) {
      const std::optional<Term>& wanted = parts_.wanted_order->term;
      if (wanted && !is_same_term(*wanted, *sketch_.order))
        sketch_.doubts.emplace_back("The rows are not in the order that is asked for.");
      return;
    }
    std::optional<Term> by = parts_.wanted_order->term;
    const auto is_figure = [](const Term& term) { return term.is_figure(); };
    if (!parts_.wanted_order->is_named && std::count_if(sketch_.outputs.begin(), sketch_.outputs.end(), is_figure) == 1)
      by = *std::find_if(sketch_.outputs.begin(), sketch_.outputs.end(), is_figure);
    if (!by || !may_sort(*by)) {
      sketch_.doubts.emplace_back("The rows are not in the order that is asked for.");
      return;
    }
    if (by->column && !by->is_figure()) doubt_texts(*by->column);
    sketch_.order = std::move(by);
    sketch_.is_descending = parts_.wanted_order->is_descending.value_or(parts_.is_top);
    sketch_.sorts = !parts_.is_top;
  }

  void read_superlatives() {
    for (std::size_t i = 0; i < clauses_.size(); ++i) {
      if (!clauses_.is_open(i)) continue;
      if (clauses_.word(i) == "top" && clauses_.number(i + 1) && *clauses_.number(i + 1) >= 1) {
        sketch_.limit = static_cast<std::int64_t>(*clauses_.number(i + 1));
        parts_.is_top = true;
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

 private:
  // Dates and numbers in texts come in another order than their own.
  void doubt_texts(std::size_t column) {
    const SchemaColumn& of = schema_.columns()[column];
    if (of.kind == ColumnKind::text && schema_.label_of(of.table) != column)
      sketch_.doubts.push_back(schema_.tables()[of.table].name + "." + of.name + " was sorted as a text.");
  }

  // "from newest to oldest", "newest first"
  std::optional<bool> direction_at(std::size_t k, std::size_t end) const {
    const auto adjective = [&](std::size_t at) { return at < end ? adjective_of(clauses_[at].token->lower) : nullptr; };
    const Adjective* first = clauses_.word(k) == "from"        ? adjective(k + 1)
                             : clauses_.word(k + 1) == "first" ? adjective(k)
                                                               : nullptr;
    return first == nullptr ? std::nullopt : std::optional(first->is_most);
  }

  // "sorted by X and Y"
  void doubt_left_out(std::size_t rest, std::size_t end) {
    for (std::size_t k = rest; k < end; ++k) {
      const std::string& lower = clauses_[k].token->lower;
      const bool is_verb = k == rest && lower.ends_with("ed");  // "the number of papers cited"
      const bool is_known =
          is_verb || (clauses_[k].mention == nullptr &&
                      (is_grammar(*clauses_[k].token) || adjective_of(lower) != nullptr || lower == "first"));
      if (!is_known) sketch_.doubts.push_back("\"" + clauses_[k].token->text + "\" was left out of the order.");
    }
  }

  // The words of an order from `i` on; gives where they end: conditions that follow them are read as such.
  std::size_t read_wanted(std::size_t i, std::size_t end) {
    WantedOrder wanted;
    std::size_t rest = end;
    for (std::size_t k = i; k < end; ++k) {
      if (clauses_.is(k, {"descending", "decreasing", "desc"})) wanted.is_descending = true;
      if (clauses_.is(k, {"ascending", "increasing", "asc"})) wanted.is_descending = false;
      if (const std::optional<bool> direction = direction_at(k, end)) wanted.is_descending = direction;
      const bool names =
          clauses_.word(k) == "by" || (k > i && clauses_.word(k) == "of" && clauses_.word(k - 1) == "order");
      if (wanted.is_named || !names) continue;
      wanted.is_named = true;
      Picker own(picker_);  // its doubts are none of the answer's
      QuestionParts aside{schema_, clauses_, own};
      aside.main = parts_.main;
      std::size_t at = k + 1;
      wanted.term = TermReader(aside).term_at(at);
      if (wanted.term) rest = at;
    }
    parts_.wanted_order = std::move(wanted);
    while (rest < end &&
           clauses_.is(rest, {"in", "descending", "decreasing", "desc", "ascending", "increasing", "asc", "order"}))
      ++rest;
    for (std::size_t k = rest; k < end; ++k) {
      const bool is_value = clauses_[k].mention != nullptr && picker_.is_value(*clauses_[k].mention);
      if (is_value || clauses_.number(k) || clauses_[k].token->kind == TokenKind::date) return rest;
    }
    if (parts_.wanted_order->term) doubt_left_out(rest, end);
    return end;
  }

  // By what is shown, or by a column of the table whose rows are shown as they are.
  bool may_sort(const Term& by) const {
    const auto is_it = [&by](const Term& term) { return is_same_term(term, by); };
    if (std::any_of(sketch_.groups.begin(), sketch_.groups.end(), is_it)) return true;
    if (sketch_.is_ratio) return false;
    if (std::any_of(sketch_.outputs.begin(), sketch_.outputs.end(), is_it)) return true;
    const bool is_plain = sketch_.groups.empty() && sketch_.havings.empty() && !by.is_figure();
    return is_plain && std::all_of(sketch_.outputs.begin(), sketch_.outputs.end(), [&](const Term& term) {
             return !term.is_figure() && schema_.columns()[*term.column].table == schema_.columns()[*by.column].table;
           });
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
      parts_.shown.push_back(by);
      sketch_.order = by;
      sketch_.is_descending = adjective->is_most;
      clauses_.use(i, last - 1);
      return;
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
    sketch_.order = std::move(by);
    sketch_.is_descending = is_most;
    if (sketch_.limit == 0) sketch_.limit = 1;
  }

  // Whether what is asked for is the highest figure itself, and not the row that has it.
  bool is_asked_itself(std::size_t i) const {
    if (sketch_.limit > 0 || parts_.is_top) return false;
    for (std::size_t k = i; k-- > 0;) {
      if (clauses_[k].sentence != clauses_[i].sentence) break;
      if (clauses_[k].mention != nullptr) return false;
      if (!clauses_.is(
              k, {"what", "is", "are", "was", "were", "show", "me", "find", "give", "get", "return", "list", "tell"}))
        return false;
    }
    return true;
  }

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
      const auto count = static_cast<std::int64_t>(*clauses_.number(*counted_at));
      if (is_ordinal(*clauses_[*counted_at].token)) {  // "the second largest"
        sketch_.limit = 1;
        sketch_.offset = count - 1;
        if (count > 1) sketch_.doubts.emplace_back("Rows that share a place were counted one by one.");
      } else {
        sketch_.limit = count;
        parts_.is_top = true;
      }
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
    const bool asks_count = counts && is_asked_itself(i);
    if (has_target && adjective.columns.empty() &&
        order_by_mention(i, at, *mention, counts, averages, adjective.is_most)) {
      if (asks_count) {
        parts_.shown.push_back(*sketch_.order);
        sketch_.doubts.emplace_back("It is not clear whether the figure or the row that has it is asked for.");
      }
      return;
    }
    order_by_adjective(i, adjective);
  }

  bool order_by_mention(std::size_t i, std::size_t at, const Mention& mention, bool counts, bool averages,
                        bool is_most) {
    const auto table = picker_.table(mention);
    if (table && (counts || table != parts_.main) &&
        !(clauses_.is(i, {"largest", "biggest", "smallest", "highest", "lowest"}) && !counts)) {
      order_by(counted_term(*table), is_most);
      clauses_.use(i, at);
      return true;
    }
    const auto column = picker_.column(mention, scope_at(at), is_ordered_column);
    if (!column) {
      if (!counts) return false;
      const auto any = picker_.column(mention, parts_.scope());
      if (!any) return false;
      Term term = plain_term(*any);
      term.function = "count";
      order_by(term, is_most);
      clauses_.use(i, at);
      return true;
    }
    if (table == parts_.main && parts_.main && !counts) return false;
    Term by = plain_term(*column);
    const bool is_total = clauses_.word(i + 1) == "total";
    const bool is_elsewhere = parts_.main && schema_.columns()[*column].table != *parts_.main;
    if (averages)
      by.function = "avg";
    else if (is_total || !sketch_.groups.empty() || (is_elsewhere && clauses_.is(i, {"most"})))
      by.function = "sum";
    if (is_elsewhere && by.function.empty())
      sketch_.doubts.push_back("Its order by " + schema_.columns()[*column].name + " was taken row by row.");
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
        sketch_.doubts.push_back("\"" + clauses_[i].token->text + "\" was taken to be by " + of.name + ".");
        order_by(plain_term(column), adjective.is_most);
        clauses_.use(i);
        return;
      }
      stem.clear();
    }
  }
};

}  // namespace

void read_order(QuestionParts& parts) { Ordering(parts).read_order(); }
void place_order(QuestionParts& parts) { Ordering(parts).place_order(); }
void read_superlatives(QuestionParts& parts) { Ordering(parts).read_superlatives(); }

}  // namespace cairn
