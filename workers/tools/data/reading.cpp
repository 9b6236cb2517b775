#include "workers/tools/data/reading.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "workers/tools/data/clauses.hpp"
#include "workers/tools/data/conditions.hpp"
#include "workers/tools/data/grouping.hpp"
#include "workers/tools/data/ordering.hpp"
#include "workers/tools/data/picking.hpp"
#include "workers/tools/data/ratios.hpp"

namespace cairn {
namespace {

// Words of the language that choose rows or ask for a figure: one that is left over is missed in the answer.
const std::set<std::string, std::less<>> telling = {
    "average", "mean",     "total",   "sum",   "number",   "count",     "ratio",  "maximum",   "minimum",
    "largest", "smallest", "top",     "worst", "above",    "below",     "over",   "under",     "between",
    "before",  "after",    "more",    "less",  "fewer",    "greater",   "only",   "same",      "every",
    "each",    "per",      "exactly", "equal", "distinct", "different", "unique", "ascending", "descending"};

constexpr std::size_t unread_max = 3;  // words without a meaning in the data; with more, another thing is asked

class Reading {
 public:
  Reading(const DataSchema& schema, const std::vector<Token>& tokens, const std::vector<Mention>& mentions)
      : schema_(schema), tokens_(tokens), clauses_(tokens, mentions), picker_(schema, tokens, mentions) {}

  Result<Sketch> read() {
    read_instructions();
    find_main();
    read_order(parts_);
    if (!read_ratio(parts_)) read_plainly();
    add_conditions();
    doubt_repeated();
    doubt_averages();
    read_absence(parts_);
    read_flags(parts_);
    read_rest();
    place_order(parts_);
    if (!parts_.faults.empty()) return Error{Code::invalid, parts_.faults.front()};
    if (!sketch().order && sketch().limit > 0) {
      sketch().doubts.emplace_back("It is not clear which rows come first.");
      sketch().limit = sketch().offset = 0;
    }
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
      const auto has_word = [&](std::string_view word) {
        for (std::size_t k = i; k < end; ++k)
          if (clauses_[k].token->lower == word) return true;
        return false;
      };
      const bool matches =
          has_word("ilike") || has_word("wildcard") || has_word("insensitively") || has_word("insensitive");
      const bool is_exact = has_word("exact");
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

  // --- plain questions -----------------------------------------------------------------------------------------------
  void read_plainly() {
    read_text_patterns(parts_);
    read_periods(parts_);
    read_comparisons(parts_);
    read_groups(parts_);
    read_superlatives(parts_);
    read_outputs();
  }

  const Sketch& sketch() const { return parts_.sketch; }

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
    for (const Term& term : parts_.shown) outputs.push_back(term);
    if (returned >= clauses_.size()) {
      for (const Term& more : further_outputs()) outputs.push_back(more);
      const bool shows_order = parts_.is_top && sketch().order && !asked.empty() && is_entity(asked.front()) &&
                               asked.size() == 1 && !asks_for_column_;
      if (shows_order) outputs.push_back(*sketch().order);
    }
    const bool all_figures =
        std::all_of(outputs.begin(), outputs.end(), [](const Term& term) { return term.is_figure(); });
    if (outputs.empty() && parts_.main) outputs.push_back(terms_.named(*parts_.main));
    if (sketch().order && all_figures && sketch().groups.empty() && parts_.main && !outputs.empty() &&
        outputs.front().is_figure() && !sketch().order->is_figure())
      sketch().doubts.emplace_back("It is not clear whether the figure or the row that has it is asked for.");
    sketch().outputs = std::move(outputs);
  }

  // Whether it names the rows of its table, as terms_.named() does.
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
      if (const std::optional<Term> term = terms_.term_at(i)) {
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
      if (const std::optional<Term> term = terms_.term_at(i)) {
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
      if (const std::optional<Term> term = terms_.term_at(at)) {
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
      Term each = plain_term(column);
      each.function = "count";
      sketch().havings.push_back({each, "= " + std::to_string(count)});
    }
  }

  // "the orders of Smith", shown by the name of the customer alone.
  void doubt_repeated() {
    const auto is_given = [&](const Term& term) {
      return !term.is_figure() &&
             std::any_of(sketch().conditions.begin(), sketch().conditions.end(), [&](const auto& c) {
               return c.column == term.column && !c.value.empty() && !c.is_negated && c.sql.starts_with("= ");
             });
    };
    const std::vector<Term>& outputs = sketch().outputs;
    if (!outputs.empty() && std::all_of(outputs.begin(), outputs.end(), is_given))
      sketch().doubts.emplace_back("The answer has no more than what the question gives.");
  }

  // "the average revenue per shop": of the rows that have it, which are not named, or of the shops' sums?
  void doubt_averages() {
    const auto has_word = [this](const auto& fits) { return std::any_of(tokens_.begin(), tokens_.end(), fits); };
    if (!has_word([](const Token& token) { return token.lower == "per"; })) return;
    for (const Term& term : sketch().outputs) {
      if (term.function != "avg" || !term.column) continue;
      const std::size_t table = schema_.columns()[*term.column].table;
      const std::vector<std::string>& stems = schema_.tables()[table].core_stems;
      const bool is_named = std::all_of(stems.begin(), stems.end(), [&](const std::string& stem) {
        return has_word([&](const Token& token) { return token.stem == stem; });
      });
      const bool is_of_others = std::any_of(sketch().groups.begin(), sketch().groups.end(), [&](const Term& group) {
        return group.column && schema_.columns()[*group.column].table != table;
      });
      if (is_of_others && !is_named)
        sketch().doubts.push_back("The average was taken over the rows of " + schema_.tables()[table].name + ".");
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
      if (!clauses_.is_open(i) || terms_.names_schema(i)) continue;
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
      if (telling.contains(token.lower))
        sketch().doubts.push_back("\"" + token.text + "\" changed nothing.");
      else if (clauses_.word(i) == "how" && clauses_.is(i + 1, {"many", "much"}))
        sketch().doubts.push_back("\"How " + clauses_[i + 1].token->text + "\" changed nothing.");
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
  const std::vector<Token>& tokens_;
  Clauses clauses_;
  Picker picker_;
  QuestionParts parts_{schema_, clauses_, picker_};
  TermReader terms_{parts_};
  std::optional<std::size_t> owner_;
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
