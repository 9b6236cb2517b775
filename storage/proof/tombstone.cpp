#include "storage/proof/tombstone.hpp"

#include "storage/ground/layout.hpp"

namespace cairn {

std::string signed_bytes(const Tombstone& tombstone, std::string_view database) {
  Layout layout(tombstone.erased_by.empty() ? "CAIRN-TMB-1" : "CAIRN-TMB-2");
  layout.text(database)
      .number(static_cast<std::uint32_t>(tombstone.shard), 4)
      .raw(tombstone.head.run.bytes)
      .number(static_cast<std::uint64_t>(tombstone.head.seq), 8)
      .raw(tombstone.head.chain_hash)
      .raw(tombstone.file_digest)
      .number(static_cast<std::uint64_t>(tombstone.at_us), 8)
      .raw(tombstone.key);
  if (!tombstone.erased_by.empty()) layout.text(tombstone.erased_by);
  return std::string(layout.bytes());
}

void sign(Tombstone& tombstone, std::string_view database, const SigningKey& key) {
  tombstone.key = fingerprint(key.public_key());
  const Signature signature = key.sign(signed_bytes(tombstone, database));
  tombstone.signature.assign(signature.begin(), signature.end());
}

}  // namespace cairn
