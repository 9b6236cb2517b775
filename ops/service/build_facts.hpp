// The facts of this build: its version and the commit that it was made from. Constant data, safe from any thread.
#pragma once

#include <string_view>

namespace cairn {

struct BuildFacts {
  std::string_view version;     // semantic: 0.1.0
  std::string_view released;    // YYYY-MM-DD, as ops/CHANGELOG.md has it
  std::string_view commit;      // 40 hexadecimal digits, with "+" if the sources were changed since; "": unknown
  std::string_view build_type;  // Release
  std::string_view compiler;    // GNU 12.2.0
};

// Made by ops/cmake/build_facts.cmake.
BuildFacts build_facts();

}  // namespace cairn
