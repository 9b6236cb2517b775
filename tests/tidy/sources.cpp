#include "tests/tidy/sources.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <utility>

#include "tests/paths.hpp"

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_in(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> paths_of_git() {
  const std::string command =
      "git -C '" + project_root().string() + "' ls-files --cached --others --exclude-standard 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = pipe ? std::fgetc(pipe.get()) : EOF; c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
  std::istringstream in(text);
  return lines_in(in);
}

std::vector<std::string> paths_of_folder() {
  std::vector<std::string> paths;
  for (auto entry = fs::recursive_directory_iterator(project_root()); entry != fs::recursive_directory_iterator();
       ++entry) {
    const std::string path = fs::relative(entry->path(), project_root()).generic_string();
    if (path == "build" || path == ".git" || path == ".cache") entry.disable_recursion_pending();
    if (entry->is_regular_file()) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> all_paths() {
  auto paths = paths_of_git();
  if (paths.empty()) paths = paths_of_folder();
  std::erase_if(paths, [](const std::string& path) { return !fs::is_regular_file(project_root() / path); });
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace

const fs::path& project_root() {
  static const fs::path root = source_dir();
  return root;
}

Source source(std::string path, const std::string& text) {
  std::istringstream in(text);
  return {std::move(path), lines_in(in)};
}

const Sources& all_sources() {
  static const Sources sources = [] {
    Sources all;
    for (const auto& path : all_paths()) {
      std::ifstream in(project_root() / path);
      all.push_back({path, lines_in(in)});
    }
    return all;
  }();
  return sources;
}

const Source* find_source(const Sources& sources, const std::string& path) {
  const auto found = std::find_if(sources.begin(), sources.end(), [&](const Source& s) { return s.path == path; });
  return found == sources.end() ? nullptr : &*found;
}

std::string text_of(const Source& source) {
  std::string text;
  for (const auto& line : source.lines) text += line + '\n';
  return text;
}

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }
bool is_header(const Source& source) { return ends_with(source.path, ".hpp"); }
bool is_cpp(const Source& source) { return ends_with(source.path, ".cpp") || is_header(source); }

bool is_data(const Source& source) {
  static const std::regex data("^tests/(.*\\.(json|jsonl|tsv|txt|golden|bin)|fuzz/corpus/.*)$");
  return std::regex_search(source.path, data);
}

std::string folder_of(const Source& source) { return source.path.substr(0, source.path.find('/')); }

std::string room_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string fault_at(const Source& source, std::size_t line, const std::string& says) {
  return source.path + ":" + std::to_string(line + 1) + ": " + says;
}

Faults lines_with(const Source& source, const std::regex& pattern, const std::string& says) {
  Faults faults;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(source.lines[i], match, pattern)) faults.push_back(fault_at(source, i, says + match.str()));
  }
  return faults;
}

Faults faults_of(Rule rule, const Sources& sources) {
  Faults faults;
  for (const auto& source : sources) {
    auto found = rule(source);
    faults.insert(faults.end(), found.begin(), found.end());
  }
  return faults;
}

std::string joined(const Faults& faults) {
  std::string text;
  for (const auto& fault : faults) text += "\n  " + fault;
  return text;
}

void expect_fault(Rule rule, const Source& bad) { EXPECT_EQ(rule(bad).size(), 1u) << bad.path << joined(rule(bad)); }

void expect_none(Rule rule, const Source& good) { EXPECT_TRUE(rule(good).empty()) << joined(rule(good)); }

void expect_clean(Rule rule) {
  const auto faults = faults_of(rule, all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

}  // namespace cairn::testing
