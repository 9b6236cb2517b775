#include "workers/tools/data/question.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "engine/text.hpp"

namespace cairn {
namespace {

using Words = std::set<std::string, std::less<>>;

constexpr std::array<std::string_view, 12> months_in_words = {"january",   "february", "march",    "april",
                                                              "may",       "june",     "july",     "august",
                                                              "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 21> numbers = {
    "zero",     "one",     "two",     "three",     "four",     "five",     "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"};

const Words greetings = {"hello", "hi", "hey", "thanks", "thank", "bye", "welcome", "help", "morning", "evening"};
const Words largest = {"largest", "biggest",  "highest", "best",      "most",
                       "top",     "greatest", "dearest", "expensive", "maximum"};
const Words smallest = {"smallest", "lowest", "worst", "least", "cheapest", "fewest", "minimum", "weakest"};
const Words moves = {"fall",     "fell",      "drop",     "dropped",   "sink", "sank", "decline",  "declined",
                     "decrease", "decreased", "rise",     "rose",      "grow", "grew", "increase", "increased",
                     "change",   "changed",   "collapse", "collapsed", "go",   "went"};
const Words showing = {"show", "list", "display", "give", "print", "see"};
const Words asking = {"which", "what", "who",   "whose", "where",   "when",  "return",
                      "find",  "get",  "names", "how",   "highest", "lowest"};
const Words analysing = {"analyse", "analyze", "analysis", "interpret", "compare", "trend"};
const Words idle = {
    "a",      "about", "all",   "am",    "an",      "and",   "any",    "are",     "as",      "at",       "be",
    "been",   "by",    "can",   "could", "did",     "do",    "does",   "down",    "each",    "every",    "for",
    "from",   "get",   "give",  "had",   "has",     "have",  "how",    "i",       "in",      "is",       "it",
    "its",    "just",  "make",  "many",  "me",      "month", "much",   "my",      "need",    "of",       "on",
    "one",    "or",    "our",   "out",   "page",    "per",   "please", "so",      "tell",    "than",     "that",
    "the",    "their", "them",  "there", "these",   "they",  "this",   "those",   "to",      "up",       "us",
    "was",    "we",    "were",  "what",  "when",    "where", "which",  "who",     "why",     "will",     "with",
    "would",  "year",  "you",   "your",  "called",  "first", "rows",   "row",     "like",    "know",     "want",
    "number", "count", "total", "sum",   "average", "mean",  "means",  "meaning", "explain", "describe", "definition",
    "column", "table", "field", "value", "data",    "into",  "same",   "more",    "make",    "made",     "should",
    "sense"};

constexpr std::size_t question_references_max = 20;
constexpr std::size_t meaning_words_max = 6;  // "What is net_price?"

struct QuestionToken {
  std::string text;
  std::string lower;
  bool is_capital = false;
  bool is_quoted = false;
};

bool is_word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || (c & 0x80) != 0;
}

void add_token(std::vector<QuestionToken>& tokens, const std::string& text, bool is_quoted) {
  if (!text.empty())
    tokens.push_back({text, lowered(text), std::isupper(static_cast<unsigned char>(text[0])) != 0, is_quoted});
}

// Words, and what stands in double quotes as one.
std::vector<QuestionToken> question_tokens(const std::string& text) {
  std::vector<QuestionToken> tokens;
  std::string word;
  bool in_quotes = false;
  for (const char c : text + " ") {
    if (c == '"') {
      add_token(tokens, word, in_quotes);
      word.clear();
      in_quotes = !in_quotes;
    } else if (is_word_letter(c) || in_quotes) {
      word += c;
    } else {
      add_token(tokens, word, false);
      word.clear();
    }
  }
  return tokens;
}

std::int64_t whole_number_in(const QuestionToken& token) {
  std::int64_t value = -1;
  std::from_chars(token.lower.data(), token.lower.data() + token.lower.size(), value);
  const auto word = std::find(numbers.begin(), numbers.end(), token.lower);
  return word == numbers.end() ? value : word - numbers.begin();
}

class WordReading {
 public:
  explicit WordReading(const std::string& question) : text_(lowered(question)), tokens_(question_tokens(question)) {
    used_.resize(tokens_.size());
  }

  Json read() {
    find_numbers();
    find_order();
    find_kind();
    find_references();
    find_roles();
    return result();
  }

 private:
  bool mentions(std::string_view phrase) const { return text_.find(phrase) != std::string::npos; }
  bool has_word_of(const Words& words) const {
    return std::any_of(tokens_.begin(), tokens_.end(),
                       [&](const QuestionToken& token) { return words.contains(token.lower); });
  }
  bool has_word(std::string_view word) const {
    return std::any_of(tokens_.begin(), tokens_.end(), [&](const QuestionToken& token) { return token.lower == word; });
  }

  void find_numbers() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const QuestionToken& token = tokens_[i];
      const auto month = std::find(months_in_words.begin(), months_in_words.end(), token.lower);
      const bool is_modal = token.lower == "may" && !token.is_capital && (i == 0 || tokens_[i - 1].lower != "in");
      const std::int64_t number = token.is_quoted ? -1 : whole_number_in(token);
      if (month != months_in_words.end() && !is_modal) {
        month_ = month - months_in_words.begin() + 1;
      } else if (number >= 1900 && number <= 2100) {
        year_ = number;
      } else if (number > 0 && i > 0 && tokens_[i - 1].lower == "page") {
        page_ = number;
      } else if (number > 0 && token.lower != "one") {
        limit_ = std::min<std::int64_t>(number, 1000);
      } else {
        continue;
      }
      used_[i] = true;
    }
  }

  void find_order() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const bool is_large = largest.contains(tokens_[i].lower);
      if (!is_large && !smallest.contains(tokens_[i].lower)) continue;
      order_ = is_large ? "descending" : "ascending";
      used_[i] = true;
    }
  }

  void find_kind() {
    const bool asks_meaning =
        (has_word("mean") && has_word("does")) || has_word("means") || has_word("meaning") || has_word("explain") ||
        has_word("describe") || has_word("definition") ||
        (text_.starts_with("what is") && text_.find('_') != std::string::npos && tokens_.size() <= meaning_words_max);
    if (has_word("why") && has_word_of(moves)) {
      kind_ = "change";
      wants_analysis_ = true;
    } else if (asks_meaning) {
      kind_ = "meaning";
    } else if (mentions("how many") || mentions("number of") || has_word("count")) {
      kind_ = "count";
    } else if (has_word("average")) {
      kind_ = "average";
    } else if ((has_word("which") || has_word("top") || has_word("what")) && order_ != "none") {
      kind_ = has_word("which") || mentions(" by ") ? "sum" : order_ == "descending" ? "maximum" : "minimum";
    } else if (has_word_of(showing)) {
      kind_ = "list";
    } else if (has_word("total") || has_word("sum") || mentions("how much") || has_word_of(analysing)) {
      kind_ = "sum";
    } else if (has_word_of(asking) && !mentions("what about")) {
      kind_ = "list";
    }
    wants_analysis_ = wants_analysis_ || has_word_of(analysing);
  }

  bool is_reference(std::size_t i) const {
    if (tokens_[i].is_quoted) return true;
    const std::string& word = tokens_[i].lower;
    const bool is_move = kind_ == "change" && moves.contains(word);
    return !used_[i] && !is_move && !idle.contains(word) && !showing.contains(word) && !analysing.contains(word) &&
           !greetings.contains(word);
  }

  // Capital letters side by side are one name, but for the first word of the question.
  void find_references() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!is_reference(i)) continue;
      std::string name = tokens_[i].text;
      while (i > 0 && tokens_[i].is_capital && i + 1 < tokens_.size() && tokens_[i + 1].is_capital &&
             is_reference(i + 1))
        name += " " + tokens_[++i].text;
      const bool is_new = std::find(references_.begin(), references_.end(), name) == references_.end();
      if (is_new && references_.size() < question_references_max) references_.push_back(name);
    }
  }

  // The reference that follows a word: "which PRODUCT", "for each SHOP", "top 3 SHOPS".
  std::string reference_after(std::string_view word) const {
    bool seen = false;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (seen && is_reference(i)) return tokens_[i].text;
      seen = seen || tokens_[i].lower == word;
    }
    return "";
  }

  void find_roles() {
    const bool ranks = has_word("which") || (has_word("top") && mentions(" by "));
    if (has_word("each") || has_word("per"))
      group_by_ = reference_after(has_word("each") ? "each" : "per");
    else if (kind_ == "sum" && ranks)
      group_by_ = reference_after(has_word("which") ? "which" : "top");
    else if (kind_ == "count" && mentions(" by "))
      group_by_ = reference_after("by");
    if (!group_by_.empty() && has_word("which") && limit_ == 0) limit_ = 1;
    const bool has_measure =
        kind_ == "sum" || kind_ == "average" || kind_ == "maximum" || kind_ == "minimum" || kind_ == "change";
    if (kind_ == "list" && mentions(" by ")) measure_ = reference_after("by");
    if (has_measure && mentions(" by ") && has_word("top")) measure_ = reference_after("by");
    for (const std::string& reference : references_)
      if (has_measure && measure_.empty() && reference != group_by_) measure_ = reference;
  }

  Json result() const {
    const bool is_common = mentions("what can you") || mentions("who are you") || mentions("can i ask") ||
                           (has_word_of(greetings) && references_.empty());
    std::string kind = kind_;
    std::string reason = "Its words ask for " + kind_ + ".";
    if (is_common && (kind_.empty() || references_.empty())) {
      kind = "general";
      reason = "It greets or asks what can be asked.";
    } else if (kind_.empty() || references_.empty()) {
      kind = "ambiguous";
      reason = references_.empty() ? "It names nothing to look up."
                                   : "It names something and does not say what is asked of it.";
    }
    return {{"kind", kind},
            {"references", references_},
            {"measure", measure_},
            {"group_by", group_by_},
            {"month", month_},
            {"year", year_},
            {"order", order_},
            {"limit", limit_},
            {"page", page_},
            {"reason", reason},
            {"wants_analysis", wants_analysis_}};
  }

  std::string text_;
  std::vector<QuestionToken> tokens_;
  std::vector<bool> used_;
  std::vector<std::string> references_;
  std::string kind_;
  std::string measure_;
  std::string group_by_;
  std::string order_ = "none";
  std::int64_t month_ = 0;
  std::int64_t year_ = 0;
  std::int64_t limit_ = 0;
  std::int64_t page_ = 0;
  bool wants_analysis_ = false;
};

}  // namespace

Json read_data_question(const std::string& question, const std::string& clarification) {
  // A clarification that is a question of its own takes the place of the first one; a mere name completes it.
  const auto read = [](const std::string& text) {
    Json analysis = WordReading(text).read();
    analysis["question"] = text;
    return analysis;
  };
  if (clarification.empty()) return read(question);
  Json alone = read(clarification);
  return alone["kind"] == "ambiguous" ? read(question + " " + clarification) : alone;
}

}  // namespace cairn
