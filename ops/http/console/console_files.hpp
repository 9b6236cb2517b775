// The console's files as this program has them with it, plain and compressed with gzip. Constant data, safe from any
// thread.
#pragma once

#include <span>
#include <string_view>

namespace cairn {

// `name` is that of the page, "index.html", or of what it loads, which has the hash of its content in it.
// `packed` "": it is served plain.
struct ConsoleFile {
  std::string_view name;
  std::string_view type;
  std::string_view plain;
  std::string_view packed;
};

// Empty: the program was built where npm was not, or could not install what it needs.
std::span<const ConsoleFile> console_files();

// The page that says so.
std::span<const ConsoleFile> console_missing();

}  // namespace cairn
