// One target for libFuzzer: CAIRN_FUZZ_TARGET names it, CAIRN_FUZZ_SEEDS a folder that gets its bombs first. Built by
// ops/fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/bombs.hpp"
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

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("CAIRN_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  for (const cairn::fuzz::Bomb& bomb : cairn::fuzz::bombs())
    if (bomb.target == chosen().name) std::ofstream(std::filesystem::path(folder) / bomb.name) << bomb.bytes;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const cairn::fuzz::Target& target = chosen();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
