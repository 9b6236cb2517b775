// Ed25519 signatures, and the files that hold the keys. Safe from any thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "storage/store.hpp"

namespace cairn {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

// The key's name: SHA-256 of its 32 bytes.
Hash fingerprint(const PublicKey& key);

bool is_signed_by(const PublicKey& key, std::string_view bytes, std::string_view signature);

// Refuses `not_found` (no such file), `invalid` (no Ed25519 key in PEM form).
Result<PublicKey> read_public_key(const std::string& file);

class SigningKey {
 public:
  // The private key in `file`, PEM form. If there is none it is made, for its owner's eyes alone; of several processes
  // that make one at once, all get the same. Refuses `unavailable` (cannot be read or made), `invalid` (something
  // else).
  static Result<SigningKey> open(const std::string& file);

  const PublicKey& public_key() const { return public_key_; }
  Signature sign(std::string_view bytes) const;

  // Writes "<fingerprint>.pub", PEM form, into the folder; a file that is there stays. False if it cannot.
  bool publish(const std::string& folder) const;

 private:
  struct Pair;
  explicit SigningKey(std::shared_ptr<const Pair> pair);
  static Result<SigningKey> read(const std::string& file);

  std::shared_ptr<const Pair> pair_;
  PublicKey public_key_{};
};

}  // namespace cairn
