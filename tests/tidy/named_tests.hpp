// The tests by name, as the sources have them: for the tidy tests of lists that name tests. Reads files, keeps nothing;
// safe to call from any thread.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cairn::testing {

// The lines of a text file; none if it cannot be read.
std::vector<std::string> lines_of(const std::filesystem::path& path);

// "Suite.name" of every test in tests/**/*.cpp.
std::set<std::string> test_names();

// By the test that skips itself somewhere: the words that say where it runs, such as "as root". A page that names it
// as a proof has them after it, in parentheses: `Suite.name` (as root).
using WhereTestsRun = std::map<std::string, std::set<std::string>>;
WhereTestsRun where_tests_run();
// The same for the lines of one source.
WhereTestsRun where_tests_run(const std::vector<std::string>& source);

// A cell of a page: one test or several, each with its parentheses if it has any.
inline constexpr const char* tests_cell = R"(`\w+\.\w+`(?: \([^()|]+\))?(?: `\w+\.\w+`(?: \([^()|]+\))?)*)";

// The faults of a line that says where the tests run that it names, one sentence each.
std::vector<std::string> where_faults(const std::string& line, const WhereTestsRun& where);

}  // namespace cairn::testing
