// Ed25519 signatures and their key files. Safe from any thread.
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
  // The private key in `file`, PEM form. A missing file is created, readable by its owner alone; several processes that
  // do so at once get the same key. Refuses `unavailable` (cannot be read or created), `invalid` (not such a key, or a
  // file that others may read or write, or that neither this user nor root owns; one that root gave this service in
  // $CREDENTIALS_DIRECTORY may be readable by its group, which is how systemd lets the service's user read it).
  static Result<SigningKey> open(const std::string& file);

  const PublicKey& public_key() const { return public_key_; }
  Signature sign(std::string_view bytes) const;

  // Writes "<fingerprint>.pub", PEM form, into the folder; an existing file stays. Refuses `unavailable` if the file
  // cannot be written.
  Status publish(const std::string& folder) const;

 private:
  struct Pair;
  explicit SigningKey(std::shared_ptr<const Pair> pair);
  static Result<SigningKey> read(const std::string& file);

  std::shared_ptr<const Pair> pair_;
  PublicKey public_key_{};
};

}  // namespace cairn
