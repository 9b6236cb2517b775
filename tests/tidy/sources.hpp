// The project's sources as the tidy rules read them, and the form of a rule: a function from a source to its faults
// ("path:line: what is wrong"). A test tries its rule on bad examples first, then on every file. An exception stands in
// its rule's list, with its reason. The sources are read once; used from one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::testing {

struct Source {
  std::string path;  // from the project's root, "/" between parts
  std::vector<std::string> lines;
};
using Sources = std::vector<Source>;
using Faults = std::vector<std::string>;
using Rule = Faults (*)(const Source&);

const std::filesystem::path& project_root();

// An example for a test of a rule.
Source source(std::string path, const std::string& text);

// The files that git tracks or would track; every file below the root when this is no repository (an unpacked archive).
const Sources& all_sources();

// Null if there is none of that path.
const Source* find_source(const Sources& sources, const std::string& path);

std::string text_of(const Source& source);

bool ends_with(std::string_view text, std::string_view end);
bool is_header(const Source& source);
bool is_cpp(const Source& source);  // headers too

// Recorded data: bytes that a test compares, to which no rule of style applies.
bool is_data(const Source& source);

// The top folder: "engine", or the file's own name at the root.
std::string folder_of(const Source& source);

// The folder of the file at this path.
std::string room_of(const std::string& path);

// The sentence `says` with its place; `line` counts from 0.
std::string fault_at(const Source& source, std::size_t line, const std::string& says);

// One fault for each line in which `pattern` is found: `says`, and then what was found.
Faults lines_with(const Source& source, const std::regex& pattern, const std::string& says);

Faults faults_of(Rule rule, const Sources& sources);
std::string joined(const Faults& faults);

// Expectations: exactly one fault in `bad`, none in `good`, none in the whole project.
void expect_fault(Rule rule, const Source& bad);
void expect_none(Rule rule, const Source& good);
void expect_clean(Rule rule);

}  // namespace cairn::testing
