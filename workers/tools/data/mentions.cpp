#include "workers/tools/data/mentions.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/text.hpp"
#include "workers/tools/data/adjectives.hpp"

namespace cairn {
namespace {

using Stems = std::vector<std::string>;
using WordSet = std::set<std::string, std::less<>>;

constexpr std::size_t phrase_words_max = 4;
constexpr std::size_t candidates_max = 40;
constexpr double name_score_min = 0.5;
constexpr double phrase_score_min = 0.72;

const WordSet grammar_words = {"a",
                               "about",
                               "across",
                               "after",
                               "all",
                               "also",
                               "am",
                               "an",
                               "and",
                               "any",
                               "are",
                               "as",
                               "at",
                               "be",
                               "been",
                               "before",
                               "being",
                               "between",
                               "both",
                               "but",
                               "by",
                               "can",
                               "did",
                               "do",
                               "does",
                               "during",
                               "each",
                               "either",
                               "every",
                               "for",
                               "from",
                               "get",
                               "give",
                               "given",
                               "had",
                               "has",
                               "have",
                               "having",
                               "he",
                               "her",
                               "his",
                               "how",
                               "i",
                               "if",
                               "in",
                               "into",
                               "is",
                               "it",
                               "its",
                               "list",
                               "many",
                               "me",
                               "much",
                               "my",
                               "no",
                               "nor",
                               "not",
                               "of",
                               "on",
                               "only",
                               "or",
                               "other",
                               "our",
                               "out",
                               "over",
                               "per",
                               "please",
                               "return",
                               "she",
                               "show",
                               "so",
                               "such",
                               "than",
                               "that",
                               "the",
                               "their",
                               "them",
                               "then",
                               "there",
                               "these",
                               "they",
                               "this",
                               "those",
                               "to",
                               "under",
                               "up",
                               "us",
                               "was",
                               "we",
                               "were",
                               "what",
                               "when",
                               "where",
                               "which",
                               "while",
                               "who",
                               "whom",
                               "whose",
                               "why",
                               "with",
                               "within",
                               "without",
                               "would",
                               "you",
                               "your",
                               "tell",
                               "find",
                               "display",
                               "include",
                               "let",
                               "s",
                               "t",
                               "non",
                               "never",
                               "least",
                               "most",
                               "more",
                               "less",
                               "fewer",
                               "greater",
                               "above",
                               "below",
                               "top",
                               "best",
                               "worst",
                               "highest",
                               "lowest",
                               "largest",
                               "smallest",
                               "than",
                               "there",
                               "ever",
                               "using",
                               "use",
                               "should",
                               "will",
                               "must",
                               "equal",
                               "exactly",
                               "different",
                               "distinct",
                               "unique",
                               "along",
                               "else",
                               "via",
                               "among",
                               "total",
                               "average",
                               "mean",
                               "number",
                               "count",
                               "sum",
                               "ratio",
                               "order",
                               "ordered",
                               "sort",
                               "sorted",
                               "ascending",
                               "descending",
                               "maximum",
                               "minimum",
                               "group",
                               "grouped",
                               "same",
                               "least",
                               "database",
                               "results",
                               "result",
                               "data",
                               "whole",
                               "overall",
                               "respectively",
                               "corresponding",
                               "fewest",
                               "higher",
                               "lower",
                               "and",
                               "latest",
                               "earliest",
                               "alphabetically",
                               "together",
                               "combined",
                               "compared",
                               "following",
                               "past",
                               "last",
                               "next",
                               "previous",
                               "current",
                               "ago",
                               "today",
                               "considered",
                               "associated",
                               "belong",
                               "belongs",
                               "belonging",
                               "related",
                               "regarding",
                               "according",
                               "located"};

// They say how much of something, and may be part of a column's name.
const WordSet quantity_words = {"number",  "total",   "average", "count",   "sum",   "maximum",
                                "minimum", "mean",    "order",   "group",   "data",  "last",
                                "first",   "overall", "current", "highest", "lowest"};
const WordSet inner_words = {"of", "the", "a", "an", "s"};

Stems stems_of(const Token& token) {
  const bool is_name = token.text.find('_') != std::string::npos ||
                       std::any_of(token.text.begin() + (token.text.empty() ? 0 : 1), token.text.end(),
                                   [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; });
  if (!is_name || token.kind != TokenKind::word) return {token.stem};
  const Stems parts = name_stems(token.text);
  const bool is_short =
      std::all_of(parts.begin(), parts.end(), [](const std::string& part) { return part.size() < 2; });
  return is_short ? Stems{token.stem} : parts;
}

// How well a phrase names something: every word of it must stand for one of the name, and the rest of the name counts
// against it.
double name_score(const Stems& phrase, const Stems& name) {
  if (phrase.empty() || name.empty() || phrase.size() > name.size()) return 0;
  std::vector<bool> taken(name.size());
  double sum = 0;
  for (const std::string& word : phrase) {
    double best = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const double like = taken[i] ? 0 : likeness(word, name[i]);
      if (like > best) {
        best = like;
        at = i;
      }
    }
    if (best == 0) return 0;
    taken[at] = true;
    sum += best;
  }
  const auto words = static_cast<double>(phrase.size());
  const bool has_head = taken.back();  // "type" says more of "food_type" than "food" does
  const double rest = static_cast<double>(name.size() - phrase.size()) / static_cast<double>(name.size());
  return sum / words * (1 - rest * (has_head ? 0.45 : 0.7));
}

double about_score(const Stems& phrase, const Stems& about) {
  const bool all = std::all_of(phrase.begin(), phrase.end(), [&](const std::string& word) {
    return std::find(about.begin(), about.end(), word) != about.end();
  });
  if (!all || about.empty()) return 0;
  return 0.36 + 0.08 * static_cast<double>(phrase.size()) -
         0.002 * static_cast<double>(std::min<std::size_t>(about.size(), 40));
}

std::string joined(const std::vector<Token>& tokens) {
  std::string text;
  for (const Token& token : tokens) text += (text.empty() ? "" : " ") + token.lower;
  return text;
}

class Linking {
 public:
  Linking(const std::vector<Token>& tokens, const DataSchema& schema, const std::vector<DataValue>& values)
      : tokens_(tokens), schema_(schema), taken_(tokens.size()) {
    for (const DataValue& value : values)
      values_[joined(tokens_of(value.word.empty() ? value.value : value.word))].push_back(&value);
    std::set<std::string> words;
    for (const Token& token : tokens) words.insert(token.lower);
    for (std::size_t i = 0; i < schema.tables().size(); ++i) {
      const SchemaTable& table = schema.tables()[i];
      places_[table.name] = i;
      const bool is_named =
          !table.schema.empty() && words.contains(lowered(table.schema.substr(0, table.schema.size() - 1)));
      if (is_named) schemas_.insert(table.schema);
    }
  }

  std::vector<Mention> mentions() {
    for (std::size_t words = phrase_words_max; words >= 1; --words)
      for (std::size_t i = 0; i < tokens_.size(); ++i) try_span(i, words);
    std::sort(found_.begin(), found_.end(), [](const Mention& a, const Mention& b) { return a.first < b.first; });
    return std::move(found_);
  }

 private:
  struct Span {
    std::size_t last = 0;
    Stems stems;
    std::string text;      // as a value
    bool is_plain = true;  // no inner words were skipped
  };

  // So many words from one on that may be one name; nothing if a comma, an end or another mention is between.
  std::optional<Span> span(std::size_t first, std::size_t words) const {
    Span span;
    std::size_t count = 0;
    for (std::size_t i = first; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (taken_[i] || token.kind == TokenKind::sign || token.kind == TokenKind::date) return std::nullopt;
      const bool is_quoted = token.kind == TokenKind::quoted;
      if (is_quoted && words > 1) return std::nullopt;
      const bool is_inner = count > 0 && inner_words.contains(token.lower) && token.lower != "a";
      if (is_inner) {
        span.is_plain = false;
      } else {
        const bool may = !is_grammar(token) || (words > 1 && quantity_words.contains(token.lower));
        if (!may && !is_quoted) return std::nullopt;
        if (token.kind == TokenKind::number && words == 1) return std::nullopt;
        const Stems stems = is_quoted ? Stems{} : stems_of(token);
        span.stems.insert(span.stems.end(), stems.begin(), stems.end());
        ++count;
      }
      span.text += (span.text.empty() ? "" : " ") + token.lower;
      if (count == words) {
        span.last = i;
        return span;
      }
      if (token.ends_sentence) return std::nullopt;
    }
    return std::nullopt;
  }

  std::vector<Candidate> candidates_at(std::size_t first, const Span& at, std::size_t words) const {
    std::vector<Candidate> candidates;
    add_values(candidates, first, at);
    if (!at.stems.empty()) add_names(candidates, at.stems, words);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    if (candidates.size() > candidates_max) candidates.resize(candidates_max);
    return candidates;
  }

  double best_score(std::size_t first, std::size_t words) const {
    const std::optional<Span> at = span(first, words);
    if (!at) return 0;
    const std::vector<Candidate> candidates = candidates_at(first, *at, words);
    return candidates.empty() ? 0 : candidates.front().score;
  }

  void try_span(std::size_t first, std::size_t words) {
    std::optional<Span> at = span(first, words);
    if (!at) return;
    std::vector<Candidate> candidates = candidates_at(first, *at, words);
    const double needed = words > 1 ? phrase_score_min : 0.3;
    if (candidates.empty() || candidates.front().score < needed) return;
    // "total net amount": the net amount, and not the total net of something.
    const bool begins_with_quantity = words > 1 && quantity_words.contains(tokens_[first].lower);
    if (begins_with_quantity && best_score(first + 1, words) > candidates.front().score) return;
    // "the longest ship": the ship, and not its length, unless a name has the very words.
    const Adjective* adjective = adjective_of(tokens_[first].lower);
    if (words > 1 && adjective != nullptr && !adjective->columns.empty() && candidates.front().score < 0.95) return;
    for (std::size_t i = first; i <= at->last; ++i) taken_[i] = true;
    found_.push_back({first, at->last, std::move(candidates)});
  }

  void add_values(std::vector<Candidate>& candidates, std::size_t first, const Span& at) const {
    const auto found = values_.find(at.text);
    if (found == values_.end()) return;
    const Token& token = tokens_[first];
    const bool is_name = token.kind == TokenKind::quoted ||
                         (token.is_capital && (first > 0 && !tokens_[first - 1].ends_sentence)) || at.last > first;
    for (const DataValue* value : found->second) {
      const auto table = places_.find(value->table);
      if (table == places_.end()) continue;
      for (const std::size_t column : schema_.tables()[table->second].columns)
        if (schema_.columns()[column].name == value->column)
          candidates.push_back({MentionKind::value, table->second, column, value->value, value->is_equal,
                                value->has_variants,
                                value->is_equal ? (is_name ? 0.98 : 0.85) : (is_name ? 0.8 : 0.4)});
    }
  }

  // "qty" for a column "qty", whose stem is that of "quantity".
  static bool is_literally(const Stems& phrase, const std::string& name) {
    if (phrase.size() != 1 || phrase[0].empty() || name.empty() || phrase[0][0] != lowered(name[0])) return false;
    return phrase[0] == stem_of(name);
  }

  void add_names(std::vector<Candidate>& candidates, const Stems& phrase, std::size_t words) const {
    for (std::size_t t = 0; t < schema_.tables().size(); ++t) {
      const SchemaTable& table = schema_.tables()[t];
      double score = std::max(name_score(phrase, table.stems), 0.95 * name_score(phrase, table.core_stems));
      if (score < name_score_min && words == 1) score = about_score(phrase, table.about_stems);
      if (is_literally(phrase, table.name.substr(table.schema.size()))) score = 1;
      if (!schemas_.empty() && !schemas_.contains(table.schema)) score *= 0.9;
      if (score > 0.3) candidates.push_back({MentionKind::table, t, 0, "", true, false, score});
    }
    for (std::size_t c = 0; c < schema_.columns().size(); ++c) {
      const SchemaColumn& column = schema_.columns()[c];
      const SchemaTable& table = schema_.tables()[column.table];
      double score = name_score(phrase, column.stems);
      if (phrase.size() > 1 && score < 1) {
        Stems whole = table.stems;
        whole.insert(whole.end(), column.stems.begin(), column.stems.end());
        const double with_table = name_score(phrase, whole);
        // At least one word must be of the column, else it names the table.
        const bool of_column = std::any_of(phrase.begin(), phrase.end(), [&](const std::string& word) {
          const bool is_quantity =
              word == "number" || word == "total" || word == "averag" || word == "count" || word == "sum";
          return !is_quantity && std::any_of(column.stems.begin(), column.stems.end(),
                                             [&](const std::string& own) { return likeness(word, own) >= 0.6; });
        });
        if (of_column) score = std::max(score, with_table);
      }
      if (is_literally(phrase, column.name)) score = 1;
      if (score < name_score_min) score = std::max(score * 0.5, about_score(phrase, column.about_stems));
      if (score > 0.3) candidates.push_back({MentionKind::column, column.table, c, "", true, false, score});
    }
  }

  const std::vector<Token>& tokens_;
  const DataSchema& schema_;
  std::vector<bool> taken_;
  std::map<std::string, std::vector<const DataValue*>> values_;
  std::map<std::string, std::size_t> places_;
  std::set<std::string> schemas_;  // that the question names
  std::vector<Mention> found_;
};

}  // namespace

bool is_grammar(const Token& token) {
  return token.kind == TokenKind::sign || (token.kind == TokenKind::word && grammar_words.contains(token.lower));
}

std::vector<Mention> find_mentions(const std::vector<Token>& tokens, const DataSchema& schema,
                                   const std::vector<DataValue>& values) {
  return Linking(tokens, schema, values).mentions();
}

std::vector<ValuePhrase> value_phrases(const std::string& question, const std::vector<Token>& tokens) {
  std::vector<ValuePhrase> phrases;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t k = i; k < tokens.size() && k < i + phrase_words_max; ++k) {
      const Token& last = tokens[k];
      const bool is_outer = k == i || k + 1 == tokens.size();
      if (last.kind == TokenKind::sign && last.lower != "&") break;
      if (last.kind == TokenKind::quoted) {
        if (k == i) phrases.push_back({i, k, last.text, true});
        break;
      }
      const bool may_end = !is_grammar(last) && last.kind == TokenKind::word;
      const bool may_begin = !is_grammar(tokens[i]) || (is_outer && tokens[i].is_capital && i > 0);
      if (may_end && may_begin) {
        bool is_name = tokens[i].is_capital && (i > 0 || k > i) && last.is_capital;
        phrases.push_back({i, k, question.substr(tokens[i].begin, last.end - tokens[i].begin), is_name});
      }
      if (last.ends_sentence) break;
    }
  }
  return phrases;
}

std::vector<double> table_weights(const std::vector<Mention>& mentions, const DataSchema& schema) {
  std::vector<double> weights(schema.tables().size(), 0);
  for (const Mention& mention : mentions) {
    std::map<std::size_t, double> best;
    for (const Candidate& candidate : mention.candidates)
      if (candidate.score >= mention.score() * 0.6)
        best[candidate.table] =
            std::max(best[candidate.table], candidate.score * (candidate.kind == MentionKind::table ? 1.3 : 1));
    const double rarity = 1.0 / (1.0 + 0.15 * static_cast<double>(best.size() - 1));
    for (const auto& [table, score] : best) weights[table] += score * (0.4 + 0.6 * rarity);
  }
  return weights;
}

}  // namespace cairn
