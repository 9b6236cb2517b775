// The hash chain of a run, which proves its history: each event's hash covers the event and the hash before it. Pure
// functions, safe from any thread.
//
// Layout (integers big-endian; text as u32 length and bytes):
//   chain_0 = SHA256("CAIRN-RUN-1" || run_id:16 || graph version as text)
//   chain_n = SHA256("CAIRN-EVT-1" || shard:u32 || run_id:16 || seq:u64 || at_us:i64 || type:u16 || version:u16 ||
//                    commit:i64 || step:u32 || actor as text || SHA256(payload) || chain_{n-1})
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/id.hpp"
#include "storage/digest.hpp"
#include "storage/log.hpp"

namespace cairn {

Hash chain_start(const RunId& run, std::string_view graph_version);
Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event);
// For an event that does not carry its commit's id yet.
Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event, std::int64_t commit);

// The hexadecimal SHA-256 of a graph's canonical text: its version.
std::string graph_version(std::string_view canonical_text);

}  // namespace cairn
