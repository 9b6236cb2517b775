// Tidy rules of prose: the form of headers, and plain words in comments.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

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

}  // namespace
}  // namespace cairn::testing
