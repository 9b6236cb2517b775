#include "workers/planners/seven_node/question.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/text.hpp"

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
    "who",    "whom",    "whose",   "what",    "what's",  "which",     "when",       "where",     "why",
    "how",    "is",      "are",     "was",     "were",    "be",        "been",       "do",        "does",
    "did",    "has",     "have",    "had",     "can",     "could",     "will",       "would",     "should",
    "shall",  "may",     "might",   "must",    "i",       "me",        "my",         "we",        "us",
    "our",    "you",     "your",    "he",      "she",     "it",        "its",        "they",      "them",
    "their",  "this",    "that",    "these",   "those",   "there",     "here",       "in",        "on",
    "of",     "for",     "to",      "from",    "with",    "within",    "by",         "at",        "as",
    "about",  "into",    "over",    "under",   "between", "than",      "then",       "so",        "if",
    "not",    "no",      "any",     "some",    "all",     "each",      "every",      "both",      "most",
    "more",   "least",   "many",    "much",    "now",     "today",     "currently",  "right",     "last",
    "new",    "please",  "tell",    "show",    "give",    "find",      "say",        "explain",   "compare",
    "people", "person",  "someone", "anyone",  "team",    "developer", "developers", "bus",       "factor",
    "hot",    "spot",    "spots",   "s",       "re",      "ask",       "need",       "want",      "get",
    "made",   "make",    "main",    "biggest", "high",    "highest",   "low",        "lowest",    "leave",
    "leaves", "left",    "happen",  "go",      "goes",    "whole",     "everything", "overall",   "work",
    "depend", "depends", "tend",    "usually", "really",  "just",      "area",       "areas",     "active",
    "week",   "month",   "year",    "history", "long",    "few",       "times",      "time",      "hit",
    "up",     "out",     "off",     "but",     "however", "because",   "case",       "let",       "know",
    "hello",  "hi",      "thanks",  "blame",   "line",    "lines",     "git",        "committed", "since",
    "until",  "before",  "after",   "during",  "ago",     "top",       "first",      "busiest"};

struct Word {
  std::string text;   // as written
  std::string plain;  // lower case
  bool is_quoted = false;
  bool begins_name = true;  // a comma or the like stands before it
  bool is_taken = false;    // it belongs to a period, a limit or an author, and is no name of a part
};

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 0x80;
  return is_letter || (byte >= '0' && byte <= '9') || std::string_view("_-./&@+").find(c) != std::string_view::npos;
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
      words.push_back({name, lowered(name), true, true, false});
      at = quote_end + 1;
      begins_name = true;
    } else if (is_word_byte(text[at])) {
      std::size_t end = at;
      while (end < text.size() && is_word_byte(text[end])) ++end;
      const std::string word(without_final_dots(text.substr(at, end - at)));
      words.push_back({word, lowered(word), false, begins_name, false});
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
  const bool asks_who = has(words, "who");
  const bool asks_most = has(words, "most") && (asks_change || (has(words, "active") && !asks_who));
  const bool asks_work = has(words, "work") || has(words, "active");
  const bool asks_lines = has(words, "blame") || has(words, "lines");
  if (asks_lines) kinds.emplace_back("lines");
  if (!asks_lines && (has_any(words, ownership_words) || (asks_who && asks_work))) kinds.emplace_back("ownership");
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
  if (word.is_taken) return false;
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
  std::erase_if(names, [&seen](const std::string& name) { return !seen.insert(lowered(name)).second; });
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

// --- periods, limits, people ----------------------------------------------------------------------------------------
const Words unit_words = {"day",  "days",  "week",    "weeks",    "month", "months",
                          "year", "years", "quarter", "quarters", "hours", "hour"};
const Words month_words = {"january", "february", "march",     "april",   "may",      "june",
                           "july",    "august",   "september", "october", "november", "december"};
const Words row_words = {"files",     "commits",      "changes",     "people",    "persons",   "authors",
                         "owners",    "contributors", "developers",  "engineers", "names",     "hotspots",
                         "hot-spots", "pairs",        "maintainers", "experts",   "reviewers", "entries"};
const Words rank_words = {"top", "first", "last", "latest", "newest", "biggest", "busiest", "best"};
const Words deed_words = {"change", "changed",  "commit", "committed", "touch", "touched", "edit",    "edited",
                          "modify", "modified", "work",   "worked",    "write", "wrote",   "written", "contribute"};
const Words deeds_words = {"changes", "commits", "work", "activity", "contributions", "edits"};
constexpr int limit_asked_max = 100;

using List = std::vector<Word>;

bool is_at(const List& words, std::size_t at, std::string_view wanted) {
  return at < words.size() && !words[at].is_quoted && words[at].plain == wanted;
}

bool is_at(const List& words, std::size_t at, const Words& wanted) {
  return at < words.size() && !words[at].is_quoted && wanted.contains(words[at].plain);
}

void take(List& words, std::size_t from, std::size_t count) {
  for (std::size_t i = from; i < std::min(from + count, words.size()); ++i) words[i].is_taken = true;
}

// 3, "three"; 0: it is no count.
int count_at(const List& words, std::size_t at) {
  static const std::vector<std::string> names = {"one",   "two",   "three", "four", "five",   "six",
                                                 "seven", "eight", "nine",  "ten",  "eleven", "twelve"};
  if (at >= words.size() || words[at].is_quoted) return 0;
  const std::string& word = words[at].plain;
  const auto name = std::find(names.begin(), names.end(), word);
  if (name != names.end()) return static_cast<int>(name - names.begin()) + 1;
  if (word.empty() || word.size() > 4 || word.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::stoi(word);
}

bool is_year(std::string_view word) {
  return word.size() == 4 && (word.starts_with("19") || word.starts_with("20")) &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

// Digits where the form has "0", else the form's own letter.
bool has_form(std::string_view word, std::string_view form) {
  return std::equal(word.begin(), word.end(), form.begin(), form.end(),
                    [](char c, char wanted) { return wanted == '0' ? c >= '0' && c <= '9' : c == wanted; });
}

struct Moment {
  std::string text;  // "": there is none
  std::size_t words = 0;
};

std::string two_digits(std::size_t number) { return (number < 10 ? "0" : "") + std::to_string(number); }

// "march" or "march 2024" as read_period reads it.
Moment month_at(const List& words, std::size_t at) {
  static const std::vector<std::string> in_order = {"january",   "february", "march",    "april",
                                                    "may",       "june",     "july",     "august",
                                                    "september", "october",  "november", "december"};
  if (!is_at(words, at, month_words)) return {};
  const std::string& month = words[at].plain;
  if (at + 1 >= words.size() || !is_year(words[at + 1].plain)) return {month, 1};
  const auto number = static_cast<std::size_t>(std::find(in_order.begin(), in_order.end(), month) - in_order.begin());
  return {words[at + 1].plain + "-" + two_digits(number + 1), 2};
}

// A moment or period that stands at that word.
Moment moment_at(const List& words, std::size_t at) {
  if (at >= words.size()) return {};
  if (is_at(words, at, "the")) {
    const Moment after = moment_at(words, at + 1);
    return after.words == 0 ? after : Moment{after.text, after.words + 1};
  }
  const std::string& word = words[at].plain;
  if (is_year(word) || has_form(word, "0000-00") || has_form(word, "0000-00-00") || has_form(word, "0000-q0"))
    return {word, 1};
  if (word == "yesterday" || word == "today") return {word, 1};
  if (has_form(word, "q0") && at + 1 < words.size() && is_year(words[at + 1].plain))
    return {words[at + 1].plain + "-" + word, 2};
  const bool has_unit = is_at(words, at + 1, unit_words);
  if (has_unit && (word == "last" || word == "this" || word == "previous"))
    return {word + " " + words[at + 1].plain, 2};
  if (count_at(words, at) > 0 && has_unit)
    return {std::to_string(count_at(words, at)) + " " + words[at + 1].plain,
            is_at(words, at + 2, "ago") ? std::size_t{3} : std::size_t{2}};
  return month_at(words, at);
}

// The next year or month, or the one before; else the text: a day stays.
std::string stepped(const std::string& text, int step) {
  if (is_year(text)) return std::to_string(std::stoi(text) + step);
  if (!has_form(text, "0000-00")) return text;
  const int months = std::stoi(text.substr(0, 4)) * 12 + std::stoi(text.substr(5)) - 1 + step;
  return std::to_string(months / 12) + "-" + two_digits(static_cast<std::size_t>(months % 12 + 1));
}

bool take_bounds(List& words, std::size_t at, RepositoryQuestion& question) {
  const Moment moment = moment_at(words, at + 1);
  if (moment.words == 0) return false;
  const std::string& word = words[at].plain;
  if (word == "since" || word == "after") {
    question.since = word == "after" ? stepped(moment.text, 1) : moment.text;
  } else if (word == "until" || word == "before" || word == "till") {
    question.until = word == "before" ? stepped(moment.text, -1) : moment.text;
  } else if (word == "between" || word == "from") {
    const std::size_t joint = at + 1 + moment.words;
    const Moment end = moment_at(words, joint + 1);
    if (end.words == 0 || !(is_at(words, joint, "and") || is_at(words, joint, "to"))) return false;
    question.since = moment.text;
    question.until = end.text;
    take(words, joint, 1 + end.words);
  } else if (word == "in" || word == "during" || (word == "of" && is_year(moment.text))) {
    const bool is_ahead = count_at(words, at + 1) > 0 && moment.words == 2;  // "in 3 months"
    if (is_ahead) return false;
    const bool is_rolling = is_at(words, at + 1, "the") && is_at(words, at + 2, "last");  // "in the last year"
    question.since = is_rolling ? "1 " + words[at + 3].plain : moment.text;
    question.until = is_rolling ? "" : moment.text;
  } else {
    return false;
  }
  take(words, at, 1 + moment.words);
  return true;
}

// "last 3 months", "the past year", "this week", "last month", "yesterday".
bool take_span(List& words, std::size_t at, RepositoryQuestion& question) {
  const std::string word = words[at].plain;
  const bool is_last = word == "last" || word == "previous";
  if ((is_last || word == "past") && count_at(words, at + 1) > 0 && is_at(words, at + 2, unit_words)) {
    question.since = std::to_string(count_at(words, at + 1)) + " " + words[at + 2].plain;
    take(words, at, 3);
    return true;
  }
  if (is_at(words, at + 1, unit_words) && (is_last || word == "past" || word == "this" || word == "current")) {
    const std::string& unit = words[at + 1].plain;
    const bool is_rolling = word == "past" || (is_last && at > 0 && is_at(words, at - 1, "the"));
    question.since = is_rolling ? "1 " + unit : (is_last ? "last " : "this ") + unit;
    if (is_last && !is_rolling) question.until = question.since;
    take(words, at, 2);
    return true;
  }
  if (word != "yesterday") return false;
  question.since = question.until = word;
  take(words, at, 1);
  return true;
}

void take_periods(List& words, RepositoryQuestion& question) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at].is_taken || words[at].is_quoted) continue;
    if (!take_bounds(words, at, question)) take_span(words, at, question);
  }
}

void take_limits(List& words, RepositoryQuestion& question) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const int count = words[at].is_taken ? 0 : count_at(words, at);
    if (count < 1 || count > limit_asked_max) continue;
    const bool is_ranked = at > 0 && is_at(words, at - 1, rank_words);
    std::size_t row = at + 1;  // "5 most active people": at most two words between
    while (row < words.size() && row < at + 3 && !is_at(words, row, row_words)) ++row;
    if (!is_ranked && !is_at(words, row, row_words)) continue;
    question.limit = count;
    take(words, is_ranked ? at - 1 : at, is_ranked ? 2 : 1);
  }
}

// The names that stand from `at` on, as one; "": none does.
std::string take_name(List& words, std::size_t at) {
  std::string name;
  std::size_t end = at;
  while (end < words.size() && is_name(words[end]) && (end == at || !words[end].begins_name)) {
    name += (end == at ? "" : " ") + words[end].text;
    if (words[end++].is_quoted) break;
  }
  take(words, at, end - at);
  return name;
}

bool is_address(const Word& word) {
  const std::size_t at = word.plain.find('@');
  return at != std::string::npos && at > 0 && word.plain.find('.', at) != std::string::npos;
}

void take_authors(List& words, RepositoryQuestion& question) {
  for (std::size_t at = 0; at < words.size() && question.author.empty(); ++at) {
    std::size_t end = at + 1;
    while (end < words.size() && is_name(words[end])) ++end;
    const bool has_name = end > at + 1;
    const bool is_doer = is_at(words, at, "did") || is_at(words, at, "has") || is_at(words, at, "have");
    const bool has_deed = end < words.size() && (is_at(words, end, deed_words) || is_at(words, end, change_words));
    if (has_name && (is_at(words, at, "by") || (is_doer && has_deed))) question.author = take_name(words, at + 1);
    if (is_name(words[at]) && is_address(words[at])) question.author = take_name(words, at);
    const std::size_t deeds = is_at(words, at + 2, rank_words) || is_at(words, at + 2, recent_words) ? at + 3 : at + 2;
    const bool is_owner = is_name(words[at]) && is_at(words, at + 1, "s") && is_at(words, deeds, deeds_words);
    if (!is_owner) continue;
    std::size_t first = at;  // "Ann Lee's changes"
    while (first > 0 && is_name(words[first - 1]) && !words[first].begins_name) --first;
    question.author = take_name(words, first);
  }
}

std::string measure_of(const List& words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const bool is_all_time = is_at(words, at, "all") && is_at(words, at + 1, "time");
    const bool is_count = (is_at(words, at, "most") || is_at(words, at, "by")) && is_at(words, at + 1, "commits");
    if (is_all_time || is_count || is_at(words, at, "all-time") || is_at(words, at, "ever")) return "commits";
    for (const char* now : {"now", "currently", "nowadays", "today"}) {
      if (is_at(words, at, now)) return "recent";
    }
  }
  return "";
}

// Kinds that follow from a person, a period or a number of rows rather than from a word of their own.
void read_kinds(const List& words, RepositoryQuestion& question) {
  question.kinds = kinds_of(words);
  const bool asks_commits = has(words, "commits") || has(words, "commit") || has(words, "committed");
  if (!question.author.empty() && !has(words, "who")) {
    std::erase(question.kinds, "ownership");
    if (question.kinds.empty()) question.kinds.emplace_back("recent_changes");
  }
  const bool is_bounded = question.limit > 0 || !question.since.empty() || !question.until.empty();
  if (question.kinds.empty() && asks_commits && has(words, "who")) question.kinds.emplace_back("ownership");
  if (question.kinds.empty() && asks_commits && is_bounded) question.kinds.emplace_back("recent_changes");
}

// The sign that word processors write for an apostrophe is one.
std::string with_plain_apostrophes(std::string_view text) {
  constexpr std::string_view curved = "\xe2\x80\x99";
  std::string plain;
  while (!text.empty()) {
    const bool is_curved = text.starts_with(curved);
    plain += is_curved ? '\'' : text.front();
    text.remove_prefix(is_curved ? curved.size() : 1);
  }
  return plain;
}

}  // namespace

RepositoryQuestion read_question(std::string_view text) {
  RepositoryQuestion question;
  List words = words_of(with_plain_apostrophes(text));
  take_periods(words, question);
  take_limits(words, question);
  take_authors(words, question);
  read_kinds(words, question);
  const bool is_owned = std::find(question.kinds.begin(), question.kinds.end(), "ownership") != question.kinds.end();
  const bool asks_shares = is_owned || has_any(words, risk_words);
  if (asks_shares) question.measure = measure_of(words);
  if (!asks_shares && question.since.empty() && has(words, "today")) question.since = "today";
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
    const bool is_narrowed = !question.since.empty() || !question.until.empty() || !question.author.empty();
    if (question.kinds.empty() && (is_narrowed || !question.entities.empty())) question.kinds = before.kinds;
    if (is_narrowed && question.entities.empty() && !question.names_all) question.entities = before.entities;
  }
  if (!earlier.empty() && goes_on(words) && (!question.entities.empty() || !question.kinds.empty())) {
    question.is_on_topic = !has_any(words, foreign_words);
  }
  return question;
}

}  // namespace cairn
