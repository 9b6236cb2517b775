// Numbers that the environment gives a test, such as the seed of a random one. Used by one thread.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace cairn::test {

inline std::uint64_t number_of_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace cairn::test
