#include "tests/tidy/named_tests.hpp"

#include <fstream>
#include <regex>

#include "tests/paths.hpp"

namespace cairn::testing {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::set<std::string> test_names() {
  static const std::regex test(R"(^TEST(?:_F|_P)?\((\w+), *(\w+)\))");
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(source_dir()) / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    for (const std::string& line : lines_of(entry.path())) {
      std::smatch found;
      if (std::regex_search(line, found, test)) names.insert(found[1].str() + "." + found[2].str());
    }
  }
  return names;
}

}  // namespace cairn::testing
