// Values above 32 KiB live beside the history: the event holds {"$blob": hash, "bytes": n} in their place.
//
// What is moved out is one top-level value: a channel of a patch or input, a field of a record, of outputs. Of a
// channel that appends it is each element, of one that merges each field, so that the reducer still finds what it
// takes. A "$channel/pointer" does not reach into a value that was moved out. What somebody else wrote in the very form
// that stands for a blob is moved out too, whatever its size, so that it is never taken for one of ours.
//
// Pure functions, safe from any thread.
#pragma once

#include <functional>
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

// `graph`: whose channels the fields are; null: no channels. Refuses `limit`: a value above json_bytes_max;
// `invalid`: fields that as a whole have the form of a blob.
Status move_out(Json& fields, const Graph* graph, std::vector<Blob>& blobs);
Status move_out(std::vector<Fact>& facts, std::vector<Blob>& blobs);

// Hashes of all that stands for a blob, anywhere inside.
void find_blobs(const Json& value, std::vector<Hash>& hashes);

// Every {"$blob": hash, "bytes": n} whose bytes `read` knows is replaced by the value.
void put_back(Json& value, const std::function<std::optional<std::string>(const Hash&)>& read);

}  // namespace cairn
