#include "ops/terminal/exit_code.hpp"

namespace cairn {

ExitCode exit_code(Code code) {
  switch (code) {
    case Code::not_found:
      return exit_not_found;
    case Code::unavailable:
      return exit_unavailable;
    case Code::invalid:
    case Code::conflict:
    case Code::stale:
    case Code::limit:
    case Code::closed:
    case Code::unsupported:
    case Code::corrupt:
      return exit_refused;
  }
  return exit_refused;
}

}  // namespace cairn
