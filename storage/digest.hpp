// SHA-256 of bytes that come piece by piece. Not thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include "storage/store.hpp"

namespace cairn {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void add(std::string_view bytes);
  // Of all that was added so far; more may follow.
  Hash hash() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
