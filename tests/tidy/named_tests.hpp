// The tests by name, as the sources have them: for the tidy tests of lists that name tests. Reads files, keeps nothing;
// safe to call from any thread.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace cairn::testing {

// The lines of a text file; none if it cannot be read.
std::vector<std::string> lines_of(const std::filesystem::path& path);

// "Suite.name" of every test in tests/**/*.cpp.
std::set<std::string> test_names();

}  // namespace cairn::testing
