#include <cstddef>

#include "ops/command_line.hpp"

namespace {

// The main thread's stack grows as it is used, and where the address space has no room for that the kernel ends the
// process (SIGSEGV): it grows while there is room, so that a shortage
// is met where it can be reported.
[[gnu::noinline]] void grow_stack() {
  constexpr std::size_t bytes = 256 << 10;
  constexpr std::size_t page = 4096;
  [[maybe_unused]] volatile char room[bytes];
  for (std::size_t at = 0; at < bytes; at += page) room[at] = 0;
}

}  // namespace

int main(int argc, char** argv) {
  grow_stack();
  return cairn::run_command_line(argc, argv);
}
