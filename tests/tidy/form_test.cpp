// Tidy rules of form: lengths, leftovers, paths of machines, and where SQL is written.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

// --- form ----------------------------------------------------------------------------------------------------------

std::size_t characters(const std::string& line) {
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), is_start));
}

Faults line_faults(const Source& source) {
  static const std::regex prose("\\.(md|json)$");
  Faults faults;
  if (is_data(source) || source.path == "LICENSE") return faults;
  const bool any_length = std::regex_search(source.path, prose);
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const auto& line = source.lines[i];
    const bool is_json = folder_of(source) == "tests" && line.find("\":") != std::string::npos;
    if (!any_length && !is_json && characters(line) > 120) faults.push_back(fault_at(source, i, "over 120 characters"));
    if (line.find('\t') != std::string::npos) faults.push_back(fault_at(source, i, "a tab"));
    if (line.ends_with(' ') || line.ends_with('\r')) faults.push_back(fault_at(source, i, "white space at the end"));
  }
  return faults;
}

TEST(Tidy, lines_are_short_and_clean) {
  expect_fault(line_faults, source("engine/a.cpp", std::string(121, 'x')));
  expect_fault(line_faults, source("engine/a.cpp", "int a;\t// tab"));
  expect_fault(line_faults, source("schema/a.sql", "int a; "));
  std::string umlauts;
  for (int i = 0; i < 120; ++i) umlauts += "ü";
  expect_none(line_faults, source("engine/a.cpp", umlauts));
  expect_none(line_faults, source("tests/a_test.cpp", "R\"({\"name\": \"" + std::string(121, 'x') + "\"})\""));
  expect_clean(line_faults);
}

Faults leftovers(const Source& source) {
  static const std::regex left(
      "\\b(TO"
      "DO|FIX"
      "ME|X"
      "XX|HA"
      "CK)\\b|DISA"
      "BLED_|GTEST_"
      "SKIP|#if 0");
  // Pages that others wrote are no part of the project: their test is counted as skipped where they are absent.
  static const std::regex absent(
      "^  if \\(!fs::is_directory\\(folder\\)\\) GTEST_"
      "SKIP\\(\\) << \"There is no folder of ");
  // Cases that ops/faults alone runs, and those for which this machine lacks the means, are counted as skipped, with
  // their reasons.
  static const std::regex lacking(
      "^  +if \\((!is_full\\(\\)|!(disk|machine)\\.is_there\\(\\)|"
      "geteuid\\(\\) != 0|!fs::exists\\(\"/usr/bin/\\w+\"\\)|"
      "!fs::exists\\(repository\\)|ran\\.exit == 77|!testing::has_samples\\(\\)|"
      "!has_pydantic|!keeps_signals_inside\\(\\)|older == nullptr)\\) "
      "GTEST_"
      "SKIP\\(\\) << (left_to_full|\"[a-z].*);$");
  if (is_data(source) || source.path == "tests/tidy/form_test.cpp") return {};
  Source read = source;
  if (source.path == "tests/workers/tools/page/page_trial_test.cpp")
    for (std::string& line : read.lines)
      if (std::regex_search(line, absent)) line.clear();
  for (std::string& line : read.lines)
    if (std::regex_search(line, lacking)) line.clear();
  return lines_with(read, left, "what is unfinished or switched off is not merged: ");
}

TEST(Tidy, nothing_is_left_for_later) {
  expect_fault(leftovers, source("engine/a.cpp",
                                 "// TO"
                                 "DO: later"));
  expect_fault(leftovers, source("tests/a_test.cpp",
                                 "TEST(A, DISA"
                                 "BLED_b) {}"));
  expect_fault(leftovers, source("tests/a_test.cpp",
                                 "  GTEST_"
                                 "SKIP();"));
  expect_fault(leftovers, source("tests/workers/tools/page/page_trial_test.cpp",
                                 "  GTEST_"
                                 "SKIP();"));
  expect_none(leftovers, source("storage/a.cpp", "std::string name = \"/tmp/cairn-XXXXXX\";"));
  expect_clean(leftovers);
}

Faults machine_paths(const Source& source) {
  static const std::regex path("(^|[^\\w/.~}])/(work|home|root|Users)/\\w");
  if (is_data(source) || source.path == "tests/tidy/form_test.cpp") return {};
  return lines_with(source, path, "a path of somebody's machine: ");
}

TEST(Tidy, no_path_of_a_development_machine) {
  expect_fault(machine_paths, source("ops/a.cpp", "open(\"/home/ann/cairn\");"));
  expect_fault(machine_paths, source("README.md", "see /Users/ann/cairn"));
  expect_none(machine_paths, source("ops/a.cpp", "get(\"http://127.0.0.1/home/x\");"));
  expect_clean(machine_paths);
}

// One command is one file; the command line has what all of them share.
Faults long_command_line(const Source& source) {
  constexpr std::size_t lines_max = 150;
  if (source.path != "ops/command_line.cpp" || source.lines.size() <= lines_max) return {};
  return {source.path + ": " + std::to_string(source.lines.size()) + " lines, but at most " +
          std::to_string(lines_max)};
}

TEST(Tidy, the_command_line_is_short) {
  std::string text;
  for (int line = 0; line < 151; ++line) text += "int a;\n";
  expect_fault(long_command_line, source("ops/command_line.cpp", text));
  expect_none(long_command_line, source("ops/command_help.cpp", text));
  expect_clean(long_command_line);
}

// A file holds one idea; one that grows beyond this holds several.
Faults long_files(const Source& source) {
  constexpr std::size_t lines_max = 800;
  static const std::regex code("\\.(cpp|hpp|sql|py|ts|mjs|js|cmake|css)$");
  if (!std::regex_search(source.path, code) || source.lines.size() <= lines_max) return {};
  return {source.path + ": " + std::to_string(source.lines.size()) + " lines, but at most " +
          std::to_string(lines_max)};
}

TEST(Tidy, files_are_read_in_one_sitting) {
  expect_fault(long_files, source("engine/a.cpp", std::string(801, '\n')));
  expect_fault(long_files, source("tests/a_test.cpp", std::string(801, '\n')));
  expect_none(long_files, source("engine/a.cpp", std::string(800, '\n')));
  expect_none(long_files, source("ops/guide/a.md", std::string(801, '\n')));
  expect_clean(long_files);
}

// --- functions -----------------------------------------------------------------------------------------------------

constexpr std::size_t function_lines_max = 60;
constexpr std::size_t table_lines_max = 100;

// Tables, which are no longer to read than their rows are many.
const std::set<std::string> long_tables = {
    "tests/ops/commands/server/doctor_test.cpp: const Ill ills[] = {",
    "workers/planners/venture_scope/formula.cpp: const std::map<std::string, Function, std::less<>> functions = {"};

std::size_t lines_max_of(const Source& source, const std::string& first_line) {
  return long_tables.contains(source.path + ": " + first_line) ? table_lines_max : function_lines_max;
}

std::size_t indent_of(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

// A function, of a namespace or of a class in one, has its first line at an indent of at most two; one of its first
// lines ends with `{`; it is over at the next `}` with its indent.
Faults long_functions(const Source& source) {
  static const std::regex opens("[)\\w>}] \\{$");
  static const std::regex no_function("^ *(namespace|extern|class|struct|enum|union|public|private)\\b");
  Faults faults;
  std::size_t begin = 0;
  bool open = false;
  for (std::size_t i = 0; is_cpp(source) && i < source.lines.size(); ++i) {
    const auto& line = source.lines[i];
    if (!open && indent_of(line) <= 2 && !line.empty()) begin = i;
    const auto& first = source.lines[begin];
    if (!open) {
      open = std::regex_search(line, opens) && !std::regex_search(first, no_function);
    } else if (line.starts_with(std::string(indent_of(first), ' ') + "}")) {
      const std::size_t length = i - begin + 1;
      if (length > lines_max_of(source, first)) {
        faults.push_back(fault_at(source, begin, "a function of " + std::to_string(length) + " lines"));
      }
      open = false;
    }
  }
  return faults;
}

TEST(Tidy, functions_fit_on_a_screen) {
  const auto function = [](int lines, const char* path = "engine/a.cpp") {
    std::string text = "namespace cairn {\nint f(int a) {\n";
    for (int i = 0; i < lines; ++i) text += "  ++a;\n";
    return source(path, text + "}\n}  // namespace cairn\n");
  };
  expect_fault(long_functions, function(59));
  expect_none(long_functions, function(58));
  expect_fault(long_functions, function(59, "tests/a_test.cpp"));
  auto broken = function(58).lines;
  broken[1] = "std::string a_function_with_a_long_name(std::string_view first,";
  broken.insert(broken.begin() + 2, "                                        std::string_view second) {");
  expect_fault(long_functions, {"engine/a.cpp", broken});
  auto inside = function(59).lines;
  for (auto& line : inside) line = "  " + line;
  inside[0] = "class A {";
  inside.back() = "};";
  expect_fault(long_functions, {"engine/a.hpp", inside});
  expect_none(long_functions, source("engine/a.cpp", "struct A {\n" + std::string(200, '\n') + "};"));
  expect_clean(long_functions);
}

// --- refusals ------------------------------------------------------------------------------------------------------

// The meaning of a driver's failure, and the answer of another thread: neither is the function's own refusal.
const std::set<std::string> other_answers = {"storage/proof/archive_lock", "ops/library/engine"};

// Each is thrown where no caller near it could go on; ops/decisions/0115 has the two of the workers.
const std::set<std::string> exceptions = {
    "engine/corrupt_history.hpp", "storage/postgres/connection.hpp",    "storage/store.hpp",
    "workers/models/models.hpp",  "workers/runtime/yielding_tools.hpp", "ops/library/include/cairn/values.hpp"};

// Path -> why it throws a value. Each kind of value is caught in one place, which says no by a Result or ends what the
// value is about.
const std::map<std::string, std::string> thrown_values = {
    {"engine/codec.cpp", "a payload of a wrong form, found in one of many fields: decode_payload refuses it"},
    {"engine/result.cpp", "a CHECK that failed, for the tests that want to see it"},
    {"engine/snapshot.cpp", "a snapshot of a wrong form, found at any depth: restore_snapshot refuses it"},
    {"engine/state_check.cpp", "a reference to nothing, found at any depth: check_references refuses it"},
    {"ops/audit/export_audit.cpp", "a file that is no export, found at any line: the audit ends with one finding"},
    {"ops/http/read_routes.cpp", "an export that is too long, through the writer that calls the sink"},
    {"ops/trials/stand_in.cpp", "a prompt that the stand-in cannot read: it complains of it"},
    {"workers/simulation/call_trouble.hpp", "the death of a process, which no handler may outlive"},
    {"workers/simulation/checker.cpp", "an invariant that does not hold: it ends the simulated world"},
    {"workers/tools/data/query.cpp",
     "a question that the data cannot answer, found in one of the parts of a text of "
     "SQL, which are put together by functions in functions: sql_query refuses it"},
    {"workers/tools/page/hands.cpp", "the end of an act on a page, however deep in it"},
    {"workers/tools/page/open_page.cpp", "the end of a browser, in the midst of any call on its page"}};

Faults values_thrown(const Source& source) {
  static const std::regex value("\\bthrow [A-Z]\\w*\\{");
  if (!is_cpp(source) || folder_of(source) == "tests") return {};
  return lines_with(source, value, "a refusal is no thrown value: ");
}

Faults unlisted_throws(const Source& source) {
  return thrown_values.contains(source.path) ? Faults() : values_thrown(source);
}

// An optional value, a text that is empty if there is no refusal, a parameter that takes it, and an exception.
Faults second_forms_of_no(const Source& source) {
  static const std::regex optional("^ *std::optional<(ApiResponse|Error|Failure|RpcRefusal)> [\\w:]+\\(");
  static const std::regex lambda("-> std::optional<(ApiResponse|Error|Failure|RpcRefusal)>");
  static const std::regex text(
      "^ *(?:static )?std::(?:string|optional<std::string>) (?:\\w+::)*"
      "(?!as_)(?:\\w+_)?(?:refusal|misfit|unfit|unusable|fault|broken|fault_(?:of|in)_\\w+|(?:broken|unfit)_\\w+)\\(");
  static const std::regex parameter(
      "[(,] ?std::(?:optional<(?:ApiResponse|Error|Failure|RpcRefusal|std::string)>|string)& "
      "(?:\\w+_)?(?:refusal|refused|fault|error|failure|unfit)[,)]");
  static const std::regex empty_text("std::string (?:refusal|fault|unfit|misfit) = (?:\"\"|\\{\\})[,)]");
  static const std::regex thrown("^ *(?:class|struct) \\w+(?: final)? : (?:public )?std::(?:\\w+_error|exception)\\b");
  if (!is_cpp(source) || folder_of(source) == "tests" ||
      other_answers.contains(source.path.substr(0, source.path.size() - 4)))
    return {};
  Faults faults;
  for (const std::regex* form : {&optional, &lambda, &text, &parameter, &empty_text}) {
    const Faults found = lines_with(source, *form, "a refusal is a Result: ");
    faults.insert(faults.end(), found.begin(), found.end());
  }
  if (exceptions.contains(source.path)) return faults;
  const Faults found = lines_with(source, thrown, "what is expected is no exception: ");
  faults.insert(faults.end(), found.begin(), found.end());
  return faults;
}

TEST(Tidy, a_refusal_has_one_form) {
  expect_fault(second_forms_of_no,
               source("ops/a.cpp", "std::optional<ApiResponse> refuse_all(const RouteCall& call) {"));
  expect_fault(second_forms_of_no, source("ops/a.hpp", "  std::optional<Error> fault(int a) const;"));
  expect_fault(second_forms_of_no,
               source("ops/a.cpp", "  const auto fault = [](int a) -> std::optional<Error> { return {}; };"));
  expect_fault(second_forms_of_no, source("ops/a.hpp", "std::string queues_refusal(const Scope& scope);"));
  expect_fault(second_forms_of_no, source("ops/a.cpp", "std::string misfit(const PageAction& action) {"));
  expect_fault(second_forms_of_no, source("ops/a.cpp", "std::string fault_of_writing(const fs::path& folder) {"));
  expect_fault(second_forms_of_no, source("ops/a.cpp", "std::optional<std::string> start_refusal(const RunId& run) {"));
  expect_fault(second_forms_of_no, source("ops/a.hpp", "std::optional<std::string> broken_check(const Json& checks);"));
  expect_fault(second_forms_of_no,
               source("ops/a.hpp", "MayFork fork(const RouteCall& call, std::optional<ApiResponse>& refusal);"));
  expect_fault(second_forms_of_no, source("engine/a.hpp", "  void open(BranchId in, std::string unfit = \"\");"));
  expect_fault(second_forms_of_no, source("workers/a.hpp", "struct ModelIsElsewhere : std::exception {"));
  expect_fault(second_forms_of_no, source("engine/a.cpp", "  std::optional<std::string> unusable(int id) const {"));
  expect_none(second_forms_of_no, source("workers/models/models.hpp", "struct ModelIsElsewhere : std::exception {"));
  expect_none(second_forms_of_no, source("ops/a.hpp", "std::string refusal_text(const HttpAnswer& answer);"));
  expect_none(second_forms_of_no, source("ops/a.cpp", "  std::optional<ApiResponse> response;"));
  expect_none(second_forms_of_no, source("ops/a.cpp", "ApiStatus check_all(const RouteCall& call) {"));
  expect_clean(second_forms_of_no);
  expect_fault(unlisted_throws, source("ops/a.cpp", "  if (names.empty()) throw Refused{\"Expected a name.\"};"));
  expect_none(unlisted_throws, source("ops/a.cpp", "  throw CorruptHistory(says);"));
  expect_none(unlisted_throws, source("tests/a.cpp", "  throw Refused{};"));
  expect_clean(unlisted_throws);
  for (const auto& [path, reason] : thrown_values) {
    const Source* file = find_source(all_sources(), path);
    EXPECT_FALSE(file == nullptr || values_thrown(*file).empty()) << path << " throws no value any more: " << reason;
  }
}

// --- SQL -----------------------------------------------------------------------------------------------------------

// Path -> reason.
const std::map<std::string, std::string> sql_exceptions = {};

Faults inline_sql(const Source& source) {
  static const std::regex sql(
      "\"[^\"]*\\b(SELECT\\s|INSERT\\s+INTO\\s|UPDATE\\s+\\w[^\"]*\\sSET\\s|DELETE\\s+FROM\\s|"
      "(CREATE|ALTER|DROP|TRUNCATE)\\s+(TABLE|INDEX|VIEW|FUNCTION)\\s|COPY\\s+\\w+\\s)");
  if (!is_cpp(source) || folder_of(source) == "tests" || sql_exceptions.contains(source.path)) return {};
  return lines_with(source, sql, "SQL lives in schema/: ");
}

TEST(Tidy, sql_lives_in_schema) {
  expect_fault(inline_sql, source("storage/a.cpp", "  tx.exec(\"SELECT 1 FROM cairn.run\");"));
  expect_fault(inline_sql, source("ops/a.cpp", "  tx.exec(\"UPDATE cairn.run SET head = 1\");"));
  expect_none(inline_sql, source("ops/a.cpp", "  say(\"Expected to update a run\");"));
  expect_clean(inline_sql);
}

// The calls of the store that stand in no book: each is also written in every store that forwards calls.
const std::set<std::string> calls_without_book = {
    "shards", "identity",  "database_time", "commit",         "commit_locked", "run",         "runs",
    "events", "histories", "claim",         "put_checkpoint", "notify",        "notify_here", "await_notification",
    "give_up"};

Faults calls_outside_books(const Source& source) {
  static const std::regex call("^  virtual ([^=;]*?)(\\w+)\\(");
  if (source.path != "storage/store.hpp") return {};
  Faults faults;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(source.lines[i], match, call) || match[1] == "~" || match[1].str().ends_with("Book& "))
      continue;
    if (!calls_without_book.contains(match[2])) faults.push_back(fault_at(source, i, "a call goes into a book"));
  }
  return faults;
}

TEST(Tidy, a_new_call_of_the_store_goes_into_a_book) {
  expect_fault(calls_outside_books, source("storage/store.hpp", "  virtual void put_other(Shard shard) = 0;"));
  expect_fault(calls_outside_books, source("storage/store.hpp", "  virtual std::vector<Row> rows(const RunId& id,"));
  expect_none(calls_outside_books, source("storage/store.hpp", "  virtual JobBook& jobs() = 0;  // job_book.hpp"));
  expect_clean(calls_outside_books);
}

// A statement that waits for a lock, by the name of the one that does not: `try_NAME` is NAME.
std::string name_of_lock(const std::string& path) {
  return std::regex_replace(path, std::regex("/try_([^/]*)$"), "/$1");
}

// Advisory locks of one number exclude each other, whatever they are for.
Faults locks_of_one_number(const Sources& sources) {
  static const std::regex lock("advisory\\w*lock\\w*\\((\\d+)\\)");
  std::map<std::string, std::string> first;
  Faults faults;
  for (const Source& source : sources) {
    if (folder_of(source) != "schema") continue;
    for (const std::string& line : source.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, lock)) continue;
      const auto [known, is_new] = first.emplace(match[1], source.path);
      if (!is_new && name_of_lock(source.path) != name_of_lock(known->second))
        faults.push_back(source.path + " takes the lock of " + known->second);
    }
  }
  return faults;
}

TEST(Tidy, no_two_advisory_locks_have_one_number) {
  const std::string once = "select pg_advisory_xact_lock(7)", tried = "select pg_try_advisory_xact_lock(7)";
  EXPECT_EQ(locks_of_one_number({source("schema/a.sql", once), source("schema/b.sql", tried)}).size(), 1u);
  EXPECT_TRUE(locks_of_one_number({source("schema/a.sql", once)}).empty());
  EXPECT_TRUE(locks_of_one_number({source("schema/a.sql", once), source("schema/try_a.sql", tried)}).empty());
  const Faults faults = locks_of_one_number(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

}  // namespace
}  // namespace cairn::testing
