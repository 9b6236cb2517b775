// One target for libFuzzer: CAIRN_FUZZ_TARGET names it. Built by ops/fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/targets.hpp"

namespace {

const cairn::fuzz::Target& chosen() {
  const char* name = std::getenv("CAIRN_FUZZ_TARGET");
  for (const cairn::fuzz::Target& target : cairn::fuzz::targets())
    if (name != nullptr && std::strcmp(name, target.name) == 0) return target;
  std::fprintf(stderr, "Expected CAIRN_FUZZ_TARGET to be one of:");
  for (const cairn::fuzz::Target& target : cairn::fuzz::targets()) std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "; found %s.\n", name == nullptr ? "nothing" : name);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const cairn::fuzz::Target& target = chosen();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
