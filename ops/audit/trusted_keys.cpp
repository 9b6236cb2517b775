#include "ops/audit/trusted_keys.hpp"

namespace cairn {

Result<TrustedKeys> TrustedKeys::pinned(const std::vector<std::string>& files) {
  TrustedKeys keys;
  for (const std::string& file : files) {
    const Result<PublicKey> read = read_public_key(file);
    if (!read) return read.error();
    keys.keys_.emplace(fingerprint(*read), *read);
  }
  return keys;
}

const PublicKey* TrustedKeys::find(const Hash& wanted) {
  auto found = keys_.find(wanted);
  if (found == keys_.end()) {
    const Result<PublicKey> read =
        folder_ ? read_public_key(place_of(wanted)) : Result<PublicKey>(Error{Code::not_found, {}});
    const bool is_it = read && fingerprint(*read) == wanted;
    found = keys_.emplace(wanted, is_it ? std::optional(*read) : std::nullopt).first;
  }
  return found->second ? &*found->second : nullptr;
}

std::string TrustedKeys::place_of(const Hash& wanted) const {
  return folder_ ? *folder_ + "/" + hex(wanted) + ".pub" : hex(wanted) + " among the trusted ones";
}

}  // namespace cairn
