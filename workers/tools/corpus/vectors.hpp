// The vectors of passages that are known already, by the hash of a passage's text and its model: in memory, and in a
// folder for the next process (KeptFolder), a file for each corpus and model. A file that is damaged, of another
// version or source counts as absent. Not thread-safe.
//
//   file   = "cairn-vectors 1\n" body sha256(all before it)
//   body   = u64 size, source;  u32 parts;  u64 count;  count times: key (32 bytes), f32 for each part
//   numbers are little endian
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "storage/digest.hpp"
#include "workers/models/embeddings.hpp"

namespace cairn {

using Vectors = std::map<Hash, Vector>;

// REQUIRES: all have one size.
std::string encode_vectors(const std::string& source, const Vectors& vectors);

// Nothing if the bytes are not whole vectors of that source.
std::optional<Vectors> decode_vectors(const std::string& source, std::string_view bytes);

}  // namespace cairn
