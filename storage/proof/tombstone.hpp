// A tombstone: the signed row that an archived or erased run leaves behind. Pure functions, safe from any thread.
//
// Layout of the signed bytes (see layout.hpp; signature: Ed25519, 64 bytes):
//   "CAIRN-TMB-1" || database as text || shard:u32 || run_id:16 || seq:u64 || chain_hash:32 || file digest:32 ||
//   at_us:i64 || key fingerprint:32
// of an erased run:
//   "CAIRN-TMB-2" || the same || erased_by as text
#pragma once

#include <string>
#include <string_view>

#include "storage/proof/checkpoint.hpp"

namespace cairn {

struct Tombstone {
  Shard shard = 0;
  Head head;           // where the run ended
  Hash file_digest{};  // SHA-256 of the archive's bytes; zeros: an erased run of which there is none
  TimeUs at_us = 0;
  Hash key{};                  // fingerprint of the public key
  std::string signature;       // bytes
  std::string file = {};       // the archive's path when it was written; not signed
  std::string erased_by = {};  // the actor; "": archived
};

std::string signed_bytes(const Tombstone& tombstone, std::string_view database);
void sign(Tombstone& tombstone, std::string_view database, const SigningKey& key);  // sets key and signature

}  // namespace cairn
