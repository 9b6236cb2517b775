#include "workers/planners/seven_node/question.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace cairn {
namespace {

using Words = std::set<std::string, std::less<>>;

// Each word that asks for a kind by itself.
const Words ownership_words = {"own",         "owns",     "owner",       "owners",       "owned",       "owning",
                               "ownership",   "maintain", "maintains",   "maintainer",   "maintainers", "maintained",
                               "responsible", "expert",   "experts",     "knows",        "know",        "wrote",
                               "author",      "authors",  "contributor", "contributors", "contributes", "reviewer",
                               "reviewers",   "review",   "works",       "worked",       "working",     "charge"};
const Words risk_words = {"risk", "risks", "risky", "bus-factor", "bus_factor", "busfactor", "truck"};
const Words hotspot_words = {"hotspot", "hotspots", "hot-spot", "hot-spots", "churn", "often", "frequently"};
const Words coupling_words = {"together",   "coupled",    "coupling", "couple",    "co-change",
                              "co-changes", "co_changes", "cochange", "cochanges", "co-changed"};
const Words recent_words = {"recent", "recently", "latest", "lately", "activity"};
const Words change_words = {"change", "changes", "changed", "changing", "happened", "edited", "touched", "modified"};

const Words code_words = {"code",    "codebase", "repository", "repo",        "module",    "modules",
                          "package", "packages", "directory",  "directories", "folder",    "folders",
                          "file",    "files",    "commit",     "commits",     "component", "components",
                          "project", "part",     "parts",      "subsystem"};
const Words whole_words = {"codebase", "repository", "repo", "project", "everything", "overall", "whole"};
// Words that need more than one weak sign to be about a code base.
const Words foreign_words = {"weather", "forecast", "temperature", "joke",     "jokes",     "poem",  "recipe",
                             "news",    "movie",    "song",        "football", "president", "stock", "horoscope"};
const Words joining_words = {"and", "or", "the", "a", "an", "also", "plus", "&"};
const Words filler_words = {
    "who",    "whom",    "whose",   "what",    "what's",  "which",     "when",       "where",   "why",
    "how",    "is",      "are",     "was",     "were",    "be",        "been",       "do",      "does",
    "did",    "has",     "have",    "had",     "can",     "could",     "will",       "would",   "should",
    "shall",  "may",     "might",   "must",    "i",       "me",        "my",         "we",      "us",
    "our",    "you",     "your",    "he",      "she",     "it",        "its",        "they",    "them",
    "their",  "this",    "that",    "these",   "those",   "there",     "here",       "in",      "on",
    "of",     "for",     "to",      "from",    "with",    "within",    "by",         "at",      "as",
    "about",  "into",    "over",    "under",   "between", "than",      "then",       "so",      "if",
    "not",    "no",      "any",     "some",    "all",     "each",      "every",      "both",    "most",
    "more",   "least",   "many",    "much",    "now",     "today",     "currently",  "right",   "last",
    "new",    "please",  "tell",    "show",    "give",    "find",      "say",        "explain", "compare",
    "people", "person",  "someone", "anyone",  "team",    "developer", "developers", "bus",     "factor",
    "hot",    "spot",    "spots",   "s",       "re",      "ask",       "need",       "want",    "get",
    "made",   "make",    "main",    "biggest", "high",    "highest",   "low",        "lowest",  "leave",
    "leaves", "left",    "happen",  "go",      "goes",    "whole",     "everything", "overall", "work",
    "depend", "depends", "tend",    "usually", "really",  "just",      "area",       "areas",   "active",
    "week",   "month",   "year",    "history", "long",    "few",       "times",      "time",    "hit",
    "up",     "out",     "off",     "but",     "however", "because",   "case",       "let",     "know",
    "hello",  "hi",      "thanks"};

struct Word {
  std::string text;   // as written
  std::string plain;  // lower case
  bool is_quoted = false;
  bool begins_name = true;  // a comma or the like stands before it
};

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 0x80;
  return is_letter || (byte >= '0' && byte <= '9') || std::string_view("_-./&@+").find(c) != std::string_view::npos;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string_view without_final_dots(std::string_view text) {
  while (text.size() > 1 && (text.back() == '.' || text.back() == '-')) text.remove_suffix(1);
  return text;
}

// A name in double quotes or backticks is one word.
std::size_t end_of_quote(std::string_view text, std::size_t at) {
  if (text[at] != '"' && text[at] != '`') return std::string_view::npos;
  const std::size_t end = text.find(text[at], at + 1);
  return end == at + 1 ? std::string_view::npos : end;
}

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  bool begins_name = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t quote_end = end_of_quote(text, at);
    if (quote_end != std::string_view::npos) {
      const std::string name(text.substr(at + 1, quote_end - at - 1));
      words.push_back({name, lower(name), true, true});
      at = quote_end + 1;
      begins_name = true;
    } else if (is_word_byte(text[at])) {
      std::size_t end = at;
      while (end < text.size() && is_word_byte(text[end])) ++end;
      const std::string word(without_final_dots(text.substr(at, end - at)));
      words.push_back({word, lower(word), false, begins_name});
      begins_name = end - at != word.size();
      at = end;
    } else {
      begins_name = begins_name || (text[at] != ' ' && text[at] != '\t');
      ++at;
    }
  }
  return words;
}

bool has_any(const std::vector<Word>& words, const Words& wanted) {
  return std::any_of(words.begin(), words.end(), [&](const Word& word) { return wanted.contains(word.plain); });
}

bool has(const std::vector<Word>& words, std::string_view wanted) {
  return std::any_of(words.begin(), words.end(), [&](const Word& word) { return word.plain == wanted; });
}

std::vector<std::string> kinds_of(const std::vector<Word>& words) {
  std::vector<std::string> kinds;
  const bool asks_change = has_any(words, change_words);
  const bool asks_most = has(words, "most") && (asks_change || has(words, "active"));
  if (has_any(words, ownership_words) || (has(words, "who") && has(words, "work"))) kinds.emplace_back("ownership");
  if (has_any(words, risk_words) || (has(words, "bus") && has(words, "factor"))) kinds.emplace_back("risk");
  if (has_any(words, hotspot_words) || asks_most || (has(words, "hot") && has(words, "spots"))) {
    kinds.emplace_back("hotspots");
  }
  if (has_any(words, coupling_words)) kinds.emplace_back("coupling");
  const bool asks_recent = has_any(words, recent_words) || (asks_change && kinds.empty());
  if (asks_recent) kinds.emplace_back("recent_changes");
  return kinds;
}

// Every word that the rules know nothing of.
bool is_name(const Word& word) {
  if (word.is_quoted) return true;
  for (const Words* known : {&ownership_words, &risk_words, &hotspot_words, &coupling_words, &recent_words,
                             &change_words, &code_words, &whole_words, &joining_words, &filler_words}) {
    if (known->contains(word.plain)) return false;
  }
  return true;
}

// Words that stand side by side are one name.
std::vector<std::string> names_of(const std::vector<Word>& words) {
  std::vector<std::string> names;
  bool continues = false;
  for (const Word& word : words) {
    const bool is_part = is_name(word);
    if (is_part && continues && !word.begins_name) {
      names.back() += " " + word.text;
    } else if (is_part) {
      names.push_back(word.text);
    }
    continues = is_part && !word.is_quoted;
  }
  std::set<std::string> seen;
  std::erase_if(names, [&seen](const std::string& name) { return !seen.insert(lower(name)).second; });
  return names;
}

// Nothing but names: "pricing", "pricing and tax", "the pricing module".
bool is_bare(const std::vector<Word>& words) {
  const auto fits = [](const Word& word) {
    return is_name(word) || joining_words.contains(word.plain) || code_words.contains(word.plain);
  };
  return !words.empty() && words.size() <= 6 && std::all_of(words.begin(), words.end(), fits);
}

// "And tax?", "What about tax?"
bool goes_on(const std::vector<Word>& words) {
  if (words.empty() || words.size() > 6) return false;
  const bool asks_about =
      words.size() > 1 && words[1].plain == "about" && (words[0].plain == "what" || words[0].plain == "how");
  return asks_about || joining_words.contains(words[0].plain);
}

}  // namespace

RepositoryQuestion read_question(std::string_view text) {
  const std::vector<Word> words = words_of(text);
  RepositoryQuestion question;
  question.kinds = kinds_of(words);
  question.entities = names_of(words);
  question.names_all = has_any(words, whole_words);
  const bool has_code_word = has_any(words, code_words);
  const bool is_hinted = !question.kinds.empty() || is_bare(words);
  question.is_on_topic = has_code_word || (is_hinted && !has_any(words, foreign_words));
  return question;
}

RepositoryQuestion read_question(std::string_view text, const std::vector<std::string>& earlier) {
  RepositoryQuestion question = read_question(text);
  const std::vector<Word> words = words_of(text);
  for (auto at = earlier.rbegin(); at != earlier.rend(); ++at) {
    const RepositoryQuestion before = read_question(*at);
    const bool lacks_entities = question.entities.empty() && !question.names_all;
    if (lacks_entities && !question.kinds.empty()) question.entities = before.entities;
    if (question.kinds.empty() && !question.entities.empty()) question.kinds = before.kinds;
  }
  if (!earlier.empty() && goes_on(words) && !question.entities.empty()) {
    question.is_on_topic = !has_any(words, foreign_words);
  }
  return question;
}

}  // namespace cairn
