// Large values out of line: a value above 32 KiB is stored once as a blob, content-addressed by its hash, and the event
// holds {"$blob": hash, "bytes": n} in its place. Pure functions, safe from any thread.
//
// The unit is one top-level value: a channel of a patch or input, a field of a record, of outputs. For a channel that
// appends, and for a list that a map goes over, it is each element, for one that merges each field, so that the reducer
// finds the form it takes. A
// "$channel/pointer" does not reach into a blob. A value from outside that has the form of a reference to a blob is
// moved out whatever its size, so that it is never read as one of ours.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/command.hpp"
#include "engine/graph.hpp"
#include "storage/store.hpp"

namespace cairn {

inline constexpr std::size_t inline_bytes_max = 32u * 1024;

struct Blob {
  Hash hash{};
  std::string bytes;
};

// Replaces large values by references and adds them to `blobs`. `graph`: the graph whose channels the fields are; null:
// no channels. Refuses `limit`: a value above json_bytes_max, or fields deeper than json_depth_max; `invalid`: fields
// that as a whole have the form of a reference.
Status move_out(Json& fields, const Graph* graph, std::vector<Blob>& blobs);
Status move_out(std::vector<Fact>& facts, std::vector<Blob>& blobs);

// Adds the hash of every reference to a blob, at any depth. Returns how many bytes of text they stand for together.
std::size_t find_blobs(const Json& value, std::vector<Hash>& hashes);

using BlobText = std::shared_ptr<const std::string>;  // shared by the steps that read it; null: it is not known
BlobText blob_text(std::optional<std::string> bytes);
using ReadBlob = std::function<BlobText(const Hash&)>;

// Replaces every reference whose bytes `read` knows by the value. Refuses `limit`: together they take more than
// `bytes_max`, or one makes the whole deeper than json_depth_max; such ones stay as they are.
Status put_back(const std::vector<Json*>& values, const ReadBlob& read, std::size_t bytes_max = composed_bytes_max);

}  // namespace cairn
