#include "ops/command_line.hpp"
#include "ops/library/library.hpp"
#include "ops/library/own_work.hpp"

namespace cairn::library {

int work(const Handlers& handlers, int argc, const char* const* argv) {
  const char* const alone[] = {argc > 0 ? argv[0] : "worker", "work"};
  return argc > 1 ? run_command_line(argc, argv, own_work(handlers)) : run_command_line(2, alone, own_work(handlers));
}

}  // namespace cairn::library
