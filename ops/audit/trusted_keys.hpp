// The public keys whose signatures count. Either those that lie in the folder of the checkpoints, by their fingerprint,
// or only those that were named (pinned). Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/proof/signing.hpp"

namespace cairn {

class TrustedKeys {
 public:
  // Those in the folder.
  explicit TrustedKeys(std::string folder) : folder_(std::move(folder)) {}
  // Only those. Refuses `not_found`, `invalid` as read_public_key.
  static Result<TrustedKeys> pinned(const std::vector<std::string>& files);

  bool is_pinned() const { return !folder_; }
  // Null: it is none of them.
  const PublicKey* find(const Hash& fingerprint);
  // Where the key was looked for.
  std::string place_of(const Hash& fingerprint) const;

 private:
  TrustedKeys() = default;

  std::optional<std::string> folder_;
  std::map<Hash, std::optional<PublicKey>> keys_;
};

}  // namespace cairn
