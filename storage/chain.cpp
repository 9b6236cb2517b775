#include "storage/chain.hpp"

#include "storage/ground/layout.hpp"

namespace cairn {

Hash chain_start(const RunId& run, std::string_view graph_version) {
  Layout layout("CAIRN-RUN-1");
  layout.raw(run.bytes).text(graph_version);
  return sha256(layout.bytes());
}

Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event) {
  return chain_next(previous, shard, run, event, event.commit);
}

Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event, std::int64_t commit) {
  Layout layout("CAIRN-EVT-1");
  layout.number(static_cast<std::uint32_t>(shard), 4)
      .raw(run.bytes)
      .number(static_cast<std::uint64_t>(event.seq), 8)
      .number(static_cast<std::uint64_t>(event.at_us), 8)
      .number(static_cast<std::uint16_t>(event.type), 2)
      .number(static_cast<std::uint16_t>(event.version), 2)
      .number(static_cast<std::uint64_t>(commit), 8)
      .number(static_cast<std::uint32_t>(event.step), 4)
      .text(event.actor)
      .raw(sha256(event.payload))
      .raw(previous);
  return sha256(layout.bytes());
}

std::string graph_version(std::string_view canonical_text) { return hex(sha256(canonical_text)); }

}  // namespace cairn
