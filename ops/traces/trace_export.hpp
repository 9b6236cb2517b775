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

// A run whose trace was sent, up to this event.
struct TracedRun {
  RunId run;
  std::int64_t head = 0;
};

class TraceExport {
 public:
  // Sends a document, with which the traces of the runs `whole` are complete; a refusal ends the export.
  using Send = std::function<Status(const std::string& document, const std::vector<TracedRun>& whole)>;

  // `client` knows the graphs, or reads them. Both outlive it.
  TraceExport(Store& store, Client& client, TraceOptions options, Send send);

  // Adds the trace of a run, up to the event that is its head, and sends documents as they fill. Refuses as `send`;
  // `corrupt`, `unsupported`: its history cannot be read. Then no span of it is sent, unless those before the damage
  // fill a document.
  Status add(const RunRow& run);
  // Sends what is left.
  Status flush();
  // Drops what was added and is not sent yet.
  void drop();

  std::int64_t spans() const { return spans_; }  // that were sent

 private:
  struct Spans {
    std::vector<std::string> texts;
    std::size_t bytes = 0;
  };
  Status read(const RunRow& run, Spans& spans);
  Status read_events(const RunRow& run, RunTrace& trace, const Status& sent);
  Status gather(const Span& span, Spans& to);
  Status make_ready(Spans spans);
  Status know_graphs(const EventBody& body);

  Store& store_;
  Client& client_;
  const TraceOptions options_;
  const Send send_;
  Spans ready_;                   // of the next document
  std::vector<TracedRun> whole_;  // with it
  std::int64_t spans_ = 0;
};

}  // namespace cairn
