// Traces of runs, read from their histories and gathered into documents of bounded size. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/result.hpp"
#include "ops/traces/run_trace.hpp"
#include "storage/store.hpp"
#include "workers/client.hpp"

namespace cairn {

inline constexpr std::size_t document_bytes_max = 1 << 20;  // of spans; one that is larger goes alone

class TraceExport {
 public:
  // Sends a document; a refusal ends the export.
  using Send = std::function<Status(const std::string& document)>;

  // `client` knows the graphs, or reads them. Both outlive it.
  TraceExport(Store& store, Client& client, TraceOptions options, Send send);

  // Adds the trace of a run that has ended, or of what has happened of it so far, and sends documents as they fill.
  // Refuses as `send`; `not_found`: there is no such run; `corrupt`, `unsupported`: its history cannot be read.
  Status add(const RunId& run);
  // Sends what is left.
  Status flush();

  std::int64_t spans() const { return spans_; }  // that were sent

 private:
  Status read(const RunRow& run, const std::function<void(const Span&)>& take);
  void know_graphs(const EventBody& body);
  void gather(const Span& span);

  Store& store_;
  Client& client_;
  const TraceOptions options_;
  const Send send_;
  std::vector<Json> gathered_;
  std::size_t bytes_ = 0;
  std::int64_t spans_ = 0;
};

}  // namespace cairn
