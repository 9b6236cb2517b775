#include "ops/traces/trace_export.hpp"

#include <utility>

#include "engine/corrupt_history.hpp"
#include "workers/runs/history.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn {

TraceExport::TraceExport(Store& store, Client& client, TraceOptions options, Send send)
    : store_(store), client_(client), options_(options), send_(std::move(send)) {}

Status TraceExport::add(const RunId& run) {
  const std::optional<RunRow> row = store_.run(run);
  if (!row) return no_such_run(to_string(run));
  Status sent = Done{};
  const Status read_to_end = read(*row, [&](const Span& span) {
    if (!sent) return;
    gather(span);
    if (bytes_ >= document_bytes_max) sent = flush();
  });
  return sent ? read_to_end : sent;
}

Status TraceExport::read(const RunRow& run, const std::function<void(const Span&)>& take) {
  std::optional<std::string> caller;
  if (run.parent)
    if (const std::optional<RunRow> parent = store_.run(*run.parent)) caller = trace_id(parent->id, parent->tags);
  RunTrace trace(run.id, options_, caller, take);
  try {
    for (std::int64_t seq = 0; seq < run.head;) {
      const std::vector<EventRow> rows = store_.events(run.id, seq, history_page);
      if (rows.empty()) break;
      for (const EventRow& row : rows) {
        if (row.seq > run.head) break;
        const Result<Event> event = event_of(row);
        if (!event) return event.error();
        know_graphs(event->body);
        trace.add(*event, client_.graphs());
      }
      seq = rows.back().seq;
    }
  } catch (const CorruptHistory& fault) {
    return Error{Code::corrupt, fault.what()};
  }
  trace.finish();
  return Done{};
}

void TraceExport::know_graphs(const EventBody& body) {
  for (const std::string& version : graphs_named_by(body))
    if (client_.graphs().by_version(version) == nullptr) return client_.load_all_graphs();
}

void TraceExport::gather(const Span& span) {
  Json json = span_json(span);
  bytes_ += json.dump(-1, ' ', false, Json::error_handler_t::replace).size();
  gathered_.push_back(std::move(json));
}

Status TraceExport::flush() {
  if (gathered_.empty()) return Done{};
  const Status sent = send_(spans_document(gathered_, store_.identity()));
  if (sent) spans_ += static_cast<std::int64_t>(gathered_.size());
  gathered_.clear();
  bytes_ = 0;
  return sent;
}

}  // namespace cairn
