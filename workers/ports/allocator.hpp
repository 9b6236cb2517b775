// The allocator that the program is linked with, where that is jemalloc.
#pragma once

#include <optional>
#include <string>

namespace cairn {

std::optional<std::string> jemalloc_version();

// jemalloc makes the arena of a thread at the thread's first allocation, and reads a null pointer where there is no
// room for one: here all arenas are made, a few MiB of address space each. Throws std::bad_alloc.
// REQUIRES: there is one thread.
void make_arenas();

}  // namespace cairn
