// Tidy rules of prose: the form of headers, and plain words in comments.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

// --- headers -------------------------------------------------------------------------------------------------------

Faults header_faults(const Source& source) {
  static const std::set<std::string> public_folders = {"engine", "storage", "workers", "ops"};
  static const std::regex contract("thread|[Pp]lain values?|[Pp]ure functions?|[Cc]onstant data");
  if (!is_header(source)) return {};
  Faults faults;
  const std::size_t count = source.lines.size();
  const auto top =
      Source{source.path, {source.lines.begin(), source.lines.begin() + std::min<long>(25, static_cast<long>(count))}};
  const bool once = std::find(top.lines.begin(), top.lines.end(), "#pragma once") != top.lines.end();
  if (count == 0 || !source.lines[0].starts_with("//"))
    faults.push_back(source.path + ":1: says what it is in a comment first");
  if (!once) faults.push_back(source.path + ":1: has no #pragma once near its top");
  if (public_folders.contains(folder_of(source)) && !std::regex_search(text_of(top), contract)) {
    faults.push_back(source.path + ":1: has a sentence on threads near its top");
  }
  return faults;
}

TEST(Tidy, headers_are_contracts) {
  expect_fault(header_faults, source("engine/a.hpp", "#pragma once\n// Not thread-safe.\n"));
  expect_fault(header_faults, source("engine/a.hpp", "// A thing. Not thread-safe.\n"));
  expect_fault(header_faults, source("engine/a.hpp", "// A thing.\n#pragma once\n"));
  expect_none(header_faults, source("engine/a.hpp", "// A thing. Not thread-safe.\n#pragma once\n"));
  expect_clean(header_faults);
}

// --- words ---------------------------------------------------------------------------------------------------------

std::string without_dashes(const std::string& title) {
  const std::size_t begin = title.find_first_not_of("- "), end = title.find_last_not_of("- ");
  return begin == std::string::npos ? "" : title.substr(begin, end + 1 - begin);
}

struct Comment {
  std::string text;                                              // its lines, joined by spaces
  std::vector<std::pair<std::size_t, std::size_t>> line_begins;  // where in `text` each line begins, and the line
};

// The comments of C++ and SQL. Lines that only hold a comment and follow each other are one comment; a section's title
// between dashes is one by itself.
std::vector<Comment> comments_of(const Source& source) {
  static const std::regex cpp("(^\\s*|\\s\\s)//+ (.*)$");
  static const std::regex sql("(^\\s*|\\s\\s)-- (.*)$");
  std::vector<Comment> comments;
  bool goes_on = false;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    std::smatch found;
    const bool has_comment = std::regex_search(source.lines[i], found, is_cpp(source) ? cpp : sql);
    const bool is_title = has_comment && found.str(2).starts_with("---");
    const bool is_whole = has_comment && !is_title && found.position() == 0;
    if (has_comment && !(is_whole && goes_on)) comments.emplace_back();
    goes_on = is_whole;
    if (!has_comment) continue;
    Comment& comment = comments.back();
    comment.line_begins.emplace_back(comment.text.size(), i);
    comment.text += (is_title ? without_dashes(found.str(2)) : found.str(2)) + " ";
  }
  return comments;
}

std::size_t line_of(const Comment& comment, std::size_t position) {
  std::size_t line = 0;
  for (const auto& [begin, at] : comment.line_begins)
    if (begin <= position) line = at;
  return line;
}

// Names and quotations are not the comment's own words. Their replacement is as long as they are.
std::string without_quotes(std::string text) {
  static const std::regex quoted("`[^`]*`|\"[^\"]*\"");
  for (std::smatch found; std::regex_search(text, found, quoted);)
    text.replace(static_cast<std::size_t>(found.position()), static_cast<std::size_t>(found.length()),
                 static_cast<std::size_t>(found.length()), '_');
  return text;
}

struct PlainWord {
  std::regex form;  // group 1: what is found
  std::string instead;
};

PlainWord plain(const char* form, const char* instead) { return {std::regex(form, std::regex::optimize), instead}; }

// A file's first words. A statement of SQL does something, and may begin with the verb.
const PlainWord& opening_form(const Source& source) {
  static const char* const instead = "a noun phrase that says what the file holds";
  static const PlainWord question = plain("^(Whether|How|Where|When)\\b", instead);
  static const PlainWord question_or_verb =
      plain("^(Whether|How|Where|When|[A-Z]\\w*s(?= (?:a|an|the|its|each|every|all|at|out) ))\\b", instead);
  return is_cpp(source) ? question_or_verb : question;
}

const std::vector<PlainWord>& plain_words() {
  static const std::vector<PlainWord> words = {
      plain("(?:^|[.;!?] )(Of|Who|Whoever|Whose|Whom|What|Whatever|Which)\\b(?![^.]*\\?)",
            "a main clause that begins with its subject"),
      plain("(?:^|[.;!?] )((?:By|In|For|To|At) which)\\b", "a main clause that begins with its subject"),
      plain("(?:^|[.;!?] )((?:All|One|Those) who)\\b", "a noun: the readers, a caller, sessions"),
      plain("[,;] (for (?:it|they|he|she|we|this|these|there|else|its|their|nothing|what|who))\\b", "because"),
      plain("[,;] (for (?:no|(?:each|every|all|any) \\w+ (?:would|will|may|can|could|must|is|are|has|have)))\\b",
            "because"),
      plain("[,;] (for [\\w:]+\\(\\) \\w+s)\\b", "because"),
      plain("\\b([Aa]new)\\b", "again"),
      plain("\\b([Dd]ear)\\b", "expensive or slow"),
      plain("\\b([Hh]ardly)\\b", "rarely or almost never"),
      plain("\\b([Nn]obody|[Ss]omebody|[Ww]hoever)\\b",
            "the one who is meant (the caller, a worker, a person), or no one"),
      plain("\\b([Bb]ur(?:y|ies|ied))\\b", "reap or close"),
      plain("\\b([Ee]rrands?)\\b", "internal submission"),
      plain("\\b([Hh]int(?:s|ed)?)\\b", "notification"),
      plain("\\b([Tt]old|[Tt]ells?)\\b", "report, say or show"),
      plain("\\b((?:[Aa]n?|[Tt]he|[Ee]ach|[Ee]very|[Nn]ext|[Ll]ast|[Aa]nother) looks?)\\b",
            "scan, poll, pass or check"),
      plain("\\b((?:[Ff]irst|[Nn]o|[Tt]hat) look)\\b", "scan, poll, pass or check"),
      plain("\\b([Yy]oung)\\b", "new or short"),
      plain("\\b([Bb]orn)\\b", "created"),
      plain("\\b([Bb]eside)\\b", "next to, besides or compared with"),
      // Behind a pooler, left behind, a consumer that falls behind: those stay.
      plain("\\b((?:[Rr]ight|before or|[Tt]hose|stands?|comes?|follows?|puts? (?:it|them)) behind)\\b"
            "(?! (?:an? |the )?(?:pooler|proxy|gateway|balancer))",
            "after"),
      plain("\\b(behind (?:what|_+|(?:the|an?) (?:key|table|text|word|name|buffer|field|column|row|event)))\\b",
            "after"),
  };
  return words;
}

// A shipped migration is never edited, its comments included.
bool has_own_words(const Source& source) {
  return (is_cpp(source) || ends_with(source.path, ".sql")) && !source.path.starts_with("schema/migrations/");
}

void add_faults(Faults& faults, const Source& source, const Comment& comment, const PlainWord& word) {
  const std::string text = without_quotes(comment.text);
  for (std::sregex_iterator found(text.begin(), text.end(), word.form), end; found != end; ++found) {
    const std::size_t line = line_of(comment, static_cast<std::size_t>(found->position(1)));
    faults.push_back(fault_at(
        source, line,
        "Expected plain words in a comment, but found \"" + found->str(1) + "\"; write " + word.instead + "."));
  }
}

Faults word_faults(const Source& source) {
  Faults faults;
  if (!has_own_words(source)) return faults;
  for (const Comment& comment : comments_of(source)) {
    const bool is_first = comment.line_begins.front().second == 0;
    if (is_first) add_faults(faults, source, comment, opening_form(source));
    for (const PlainWord& word : plain_words()) add_faults(faults, source, comment, word);
  }
  return faults;
}

TEST(Tidy, comments_use_plain_words) {
  expect_fault(word_faults, source("engine/a.hpp", "// Where a run stands.\n"));
  expect_fault(word_faults, source("engine/a.hpp", "// When a run is looked at.\n"));
  expect_fault(word_faults, source("engine/a.hpp", "// Reads the events of a run.\n"));
  expect_fault(word_faults, source("engine/a.hpp", "// Looks at a server.\n"));
  expect_none(word_faults, source("engine/a.hpp", "// Readers of all events. Each reads the events of a run.\n"));
  expect_none(word_faults, source("schema/statements/a.sql", "-- Drops the rows of a run.\nselect 1;"));
  expect_fault(word_faults, source("schema/views/a.sql", "-- How long attempts took.\nselect 1;"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// A lease. Of several\n// the first counts.\n"));
  expect_fault(word_faults, source("engine/a.cpp",
                                   "int a;  /"
                                   "/ held by nobody\n"));
  expect_fault(word_faults, source("engine/a.cpp", "// --- leases ---\n// Whose lease it is.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// It waits,\n// for it has no lease.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// It waits, for no lock spans the nodes.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// It waits, for each try would cost a second.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// It is 0, for Store::queues() counts that.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// By which a run is found.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// In which its events were written.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// A row. For which there is room.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// To which it goes.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// At which it ends.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// All who saw it take over.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// One who follows a run.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// Those who follow a run.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// Unnamed at the first look.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// Where no look comes, it waits.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// 0: that look is to come.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// --- a step with nothing beside it ---------\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// Those behind come later.\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// The value behind \"name=\".\n"));
  expect_fault(word_faults, source("engine/a.cpp", "int a;\n// T: behind what the field holds\n"));
  expect_none(word_faults, source("engine/a.cpp", "int a;\n// It stands behind a pooler.\n"));
  expect_none(word_faults, source("engine/a.cpp", "int a;\n// A row that it leaves behind; it falls behind.\n"));
  expect_none(word_faults, source("engine/a.cpp", "int a;\n// --- what it reads ---------\n// It reads rows.\n"));
  expect_none(word_faults, source("engine/a.cpp", "int a;\n// The row by which it is found.\n"));
  expect_none(word_faults, source("engine/a.cpp", "int a;\n// It waits, for each run that is open, a second.\n"));
  expect_none(word_faults, source("engine/a.cpp", "int a;  // \"told\" or `anew` as a name\n"));
  expect_none(word_faults, source("engine/a.cpp", "int a;\n// It waits for it. Is a lease held? What then?\n"));
  expect_none(word_faults, source("schema/migrations/0001_a.sql", "-- What nobody edits.\n"));
  const Faults faults = word_faults(source("engine/a.cpp", "int a;\n\n// One run,\n// made anew.\n"));
  EXPECT_EQ(faults, Faults{"engine/a.cpp:4: Expected plain words in a comment, but found \"anew\"; write again."});
  expect_clean(word_faults);
}

// --- pages ---------------------------------------------------------------------------------------------------------

// The text of a page without its blocks of code and its headings, which links name. Each paragraph, item of a list and
// row of a table is one comment.
std::vector<Comment> paragraphs_of(const Source& page) {
  static const std::regex begins("^\\s*(?:[-*] |\\d+\\. |\\||>)"), mark("^\\s*(?:(?:[-*]|\\d+\\.|>) )?\\s*");
  std::vector<Comment> paragraphs;
  bool is_code = false, goes_on = false;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    const bool is_fence = line.find_first_not_of(' ') == line.find("```") && line.find("```") != std::string::npos;
    is_code = is_code != is_fence;
    if (is_code || is_fence || line.empty() || line.starts_with('#')) {
      goes_on = false;
      continue;
    }
    if (!goes_on || std::regex_search(line, begins)) paragraphs.emplace_back();
    goes_on = true;
    Comment& paragraph = paragraphs.back();
    paragraph.line_begins.emplace_back(paragraph.text.size(), i);
    paragraph.text += std::regex_replace(line, mark, "") + " ";
  }
  return paragraphs;
}

// Pages that are read now. Records of decisions, of changes, of measurements and of findings stay as they were written.
bool is_read_now(const std::string& path) {
  static const std::regex records(
      "^ops/decisions/|^tests/(attacks|semantics|requirements|frictions)\\.md$|"
      "(^|/)(CHANGELOG|RESULTS|REPORT)\\.md$");
  return ends_with(path, ".md") && !std::regex_search(path, records);
}

Faults page_faults(const Source& page) {
  Faults faults;
  if (!is_read_now(page.path)) return faults;
  for (const Comment& paragraph : paragraphs_of(page))
    for (const PlainWord& word : plain_words()) add_faults(faults, page, paragraph, word);
  return faults;
}

TEST(Tidy, pages_use_plain_words) {
  expect_fault(page_faults, source("ops/guide/a.md", "# A run\n\nWhat is wrong is one sentence.\n"));
  expect_fault(page_faults, source("ops/guide/a.md", "- A run waits. What\n  is alive takes it.\n"));
  expect_fault(page_faults, source("ops/guide/a.md", "| `a` | nobody answers |\n"));
  expect_fault(page_faults, source("ops/guide/patterns/a.md", "It runs beside the others.\n"));
  expect_none(page_faults, source("ops/guide/a.md", "```sh\necho told nobody\n```\n\nIt runs.\n"));
  expect_none(page_faults, source("ops/guide/a.md", "A command, `tell`, says \"nobody\".\n"));
  expect_fault(page_faults, source("ops/README.md", "Nobody.\n"));
  expect_fault(page_faults, source("README.md", "It stands beside it.\n"));
  expect_none(page_faults, source("ops/decisions/0001_a.md", "Nobody.\n"));
  expect_none(page_faults, source("tests/attacks.md", "What nobody saw.\n"));
  expect_none(page_faults, source("tests/faults/RESULTS.md", "Nobody.\n"));
  expect_clean(page_faults);
}

// --- what users read -----------------------------------------------------------------------------------------------

// Rooms whose texts are the program's output: help, answers, findings, cases of the benchmark.
bool is_read_by_users(const Source& source) {
  static const std::regex rooms("^ops/(commands|answers|audit|bench)/.*\\.[ch]pp$");
  return std::regex_search(source.path, rooms);
}

// A literal of several words; one word alone is a name, as of a field.
Faults literal_faults(const Source& source) {
  static const std::regex literal("\"((?:[^\"\\\\]|\\\\.)*)\"");
  static const std::regex word(
      "\\b([Aa]new|[Dd]ear|[Hh]ardly|[Nn]obody|[Ww]hoever|[Tt]old|[Tt]ells?|"
      "[Yy]oung|[Bb]orn|[Bb]eside)\\b(?!=)");
  Faults faults;
  if (!is_read_by_users(source)) return faults;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string& line = source.lines[i];
    for (std::sregex_iterator text(line.begin(), line.end(), literal), end; text != end; ++text) {
      const std::string says = text->str(1);
      std::smatch found;
      if (says.find(' ') != std::string::npos && std::regex_search(says, found, word))
        faults.push_back(
            fault_at(source, i, "Expected plain words in what users read, but found \"" + found.str(1) + "\"."));
    }
  }
  return faults;
}

TEST(Tidy, what_users_read_has_plain_words) {
  expect_fault(literal_faults, source("ops/commands/a.cpp", "  add_flag(\"--check\", \"Tell what differs\");"));
  expect_fault(literal_faults, source("ops/answers/a.cpp", "  return {name, true, count + \", all young\"};"));
  expect_fault(literal_faults, source("ops/bench/a.cpp", "    {\"case\", \"Steps beside none\", \"0.9\"},"));
  expect_none(literal_faults, source("ops/commands/a.cpp", "  {\"young\", values.recent}, {\"told\", 1}};"));
  expect_none(literal_faults, source("ops/commands/a.cpp", "  int young = 0;  // not so old"));
  expect_none(literal_faults, source("workers/planners/a.cpp", "  \"Tell what you see.\""));
  expect_clean(literal_faults);
}

}  // namespace
}  // namespace cairn::testing
