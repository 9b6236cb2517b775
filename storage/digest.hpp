// SHA-256: of bytes in one piece or piece by piece, and the text form of a hash. A Digest is not thread-safe; the
// functions are safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cairn {

using Hash = std::array<std::uint8_t, 32>;

Hash sha256(std::string_view bytes);

std::string hex(std::span<const std::uint8_t> bytes);          // lower case
std::optional<Hash> parse_hash(std::string_view hexadecimal);  // of either case; nothing if it is not a hash's

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void add(std::string_view bytes);
  // The hash of all bytes added so far; more may follow.
  Hash hash() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
