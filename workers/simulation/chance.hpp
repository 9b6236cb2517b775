// A seeded source of random draws, the same on every machine. Plain values, not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::simulation {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  double part() { return static_cast<double>(next() >> 11) / static_cast<double>(1ull << 53); }  // in [0,1)

 private:
  std::uint64_t state_;
};

// The same text and salt always give the same number: what a handler does depends on what it sees, not on the order.
inline std::uint64_t fate(std::string_view text, std::uint64_t salt) {
  std::uint64_t hash = 14695981039346656037ull ^ (salt * 1099511628211ull);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  hash ^= hash >> 31;
  hash *= 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

}  // namespace cairn::simulation
