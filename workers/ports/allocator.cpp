#include "workers/ports/allocator.hpp"

#include <cstddef>
#include <dlfcn.h>
#include <new>

namespace cairn {
namespace {

// mallctl(3), found as the program runs: null with another allocator.
using Control = int (*)(const char* name, void* old, std::size_t* old_size, void* changed, std::size_t changed_size);

Control jemalloc_control() { return reinterpret_cast<Control>(dlsym(RTLD_DEFAULT, "mallctl")); }

}  // namespace

std::optional<std::string> jemalloc_version() {
  const Control control = jemalloc_control();
  const char* version = nullptr;
  std::size_t size = sizeof version;
  if (control == nullptr || control("version", &version, &size, nullptr, 0) != 0) return {};
  return std::string(version).substr(0, std::string(version).find('-'));
}

void make_arenas() {
  const Control control = jemalloc_control();
  unsigned arenas = 0;
  std::size_t size = sizeof arenas;
  if (control == nullptr || control("opt.narenas", &arenas, &size, nullptr, 0) != 0) return;
  for (unsigned arena = arenas; arena-- > 0;)  // at last the first one, in which the thread has been
    if (control("thread.arena", nullptr, nullptr, &arena, sizeof arena) != 0) throw std::bad_alloc();
}

}  // namespace cairn
