// Checkpoints: signed lists of the heads that a process committed, each chained to the one before. They reveal a log
// whose end was cut off, a run that was removed and a chain that was computed again. Pure functions, safe from any
// thread.
//
// Layout of the signed bytes (see layout.hpp; signature: Ed25519, 64 bytes):
//   checkpoint_n = "CAIRN-CHK-1" || database as text || process:u64 || n:u64 || at_us:i64 || key fingerprint:32 ||
//                  heads as text || previous:32
//   previous of n = SHA256(the signed bytes of n - 1 || its signature); of the first one 32 zeros
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/proof/signing.hpp"
#include "storage/store.hpp"

namespace cairn {

// The last event of a run at some moment.
struct Head {
  RunId run;
  std::int64_t seq = 0;
  Hash chain_hash{};
  friend bool operator==(const Head&, const Head&) = default;
};

// One line for each head: run, seq and chain hash, separated by spaces.
std::string heads_text(std::span<const Head> heads);
// Nothing if a line is not a head.
std::optional<std::vector<Head>> parse_heads(std::string_view text);

std::string signed_bytes(const Checkpoint& checkpoint, std::string_view database);
void sign(Checkpoint& checkpoint, std::string_view database, const SigningKey& key);  // sets key and signature
// The `previous` of the process's next checkpoint.
Hash checkpoint_hash(const Checkpoint& checkpoint, std::string_view database);

// The checkpoint as one line of JSON, without its end, as it stands in the files outside the database.
std::string checkpoint_line(const Checkpoint& checkpoint, std::string_view database);
// Nothing if the line is not a checkpoint of this database.
std::optional<Checkpoint> parse_checkpoint_line(std::string_view line, std::string_view database);

}  // namespace cairn
