// The hash chain of a run: what proves its history. Pure functions, safe from any thread.
//
// Layout (integers big-endian; text as u32 length and bytes):
//   chain_0 = SHA256("CAIRN-RUN-1" || run_id:16 || graph version as text)
//   chain_n = SHA256("CAIRN-EVT-1" || shard:u32 || run_id:16 || seq:u64 || at_us:i64 || type:u16 || version:u16 ||
//                    commit:i64 || step:u32 || actor as text || SHA256(payload) || chain_{n-1})
#pragma once

#include <string_view>

#include "storage/store.hpp"

namespace cairn {

Hash sha256(std::string_view bytes);
Hash chain_start(const RunId& run, std::string_view graph_version);
Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event);
// The same for an event that does not carry its commit yet.
Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event, std::int64_t commit);

// The hexadecimal SHA-256 of a graph's canonical text: its version.
std::string graph_version(std::string_view canonical_text);

}  // namespace cairn
