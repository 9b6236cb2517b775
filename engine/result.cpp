#include "engine/result.hpp"

#include <cstdio>
#include <cstdlib>

namespace cairn {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::invalid:
      return "invalid";
    case Code::not_found:
      return "not_found";
    case Code::conflict:
      return "conflict";
    case Code::stale:
      return "stale";
    case Code::limit:
      return "limit";
    case Code::closed:
      return "closed";
    case Code::unavailable:
      return "unavailable";
    case Code::unsupported:
      return "unsupported";
    case Code::corrupt:
      return "corrupt";
  }
  CHECK(false);
}

namespace {
bool throws_check_failures = false;
}

void throw_on_check_failures() { throws_check_failures = true; }

void check_failed(const char* condition, const char* file, int line) {
  if (throws_check_failures) throw CheckFailure{std::string(condition) + " at " + file + ":" + std::to_string(line)};
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace cairn
