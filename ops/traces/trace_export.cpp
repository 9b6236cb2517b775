#include "ops/traces/trace_export.hpp"

#include <iterator>
#include <utility>

#include "engine/corrupt_history.hpp"
#include "workers/runs/history.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn {

TraceExport::TraceExport(Store& store, Client& client, TraceOptions options, Send send)
    : store_(store), client_(client), options_(options), send_(std::move(send)) {}

Status TraceExport::add(const RunRow& run) {
  Spans spans;
  if (const Status read_to_end = read(run, spans); !read_to_end) return read_to_end;
  if (const Status sent = make_ready(std::move(spans)); !sent) return sent;
  whole_.push_back({run.id, run.head});
  return Done{};
}

// The rest of its spans, those that were not sent, are in `spans`.
Status TraceExport::read(const RunRow& run, Spans& spans) {
  std::optional<std::string> caller;
  if (run.parent)
    if (const std::optional<RunRow> parent = store_.run(*run.parent)) caller = trace_id(parent->id, parent->tags);
  Status sent = Done{};
  RunTrace trace(run.id, options_, caller, [&](const Span& span) {
    if (sent) sent = gather(span, spans);
  });
  try {
    if (const Status read_to_end = read_events(run, trace, sent); !read_to_end) return read_to_end;
  } catch (const CorruptHistory& fault) {
    return Error{Code::corrupt, fault.what()};
  }
  trace.finish();
  return sent;
}

// Ends early with a refusal of `sent`, which is the caller's.
Status TraceExport::read_events(const RunRow& run, RunTrace& trace, const Status& sent) {
  for (std::int64_t seq = 0; seq < run.head && sent;) {
    const std::vector<EventRow> rows = store_.events(run.id, seq, history_page);
    if (rows.empty()) break;
    for (const EventRow& row : rows) {
      if (row.seq > run.head) break;
      const Result<Event> event = event_of(row);
      if (!event) return event.error();
      if (const Status known = know_graphs(event->body); !known) return known;
      trace.add(*event, client_.graphs());
    }
    seq = rows.back().seq;
  }
  return Done{};
}

Status TraceExport::know_graphs(const EventBody& body) {
  for (const std::string& version : graphs_named_by(body))
    if (const Result<GraphRef> graph = client_.find_version(version); !graph) return graph.error();
  return Done{};
}

// Spans that fill a document are sent when the next one comes, so that the last ones of a run never are.
Status TraceExport::gather(const Span& span, Spans& to) {
  Status sent = Done{};
  if (to.bytes >= document_bytes_max) sent = make_ready(std::exchange(to, {}));
  if (sent && ready_.bytes >= document_bytes_max) sent = flush();
  to.texts.push_back(span_text(span));
  to.bytes += to.texts.back().size();
  return sent;
}

// Sends what has no room with them.
Status TraceExport::make_ready(Spans spans) {
  if (ready_.bytes + spans.bytes > document_bytes_max)
    if (const Status sent = flush(); !sent) return sent;
  ready_.texts.insert(ready_.texts.end(), std::make_move_iterator(spans.texts.begin()),
                      std::make_move_iterator(spans.texts.end()));
  ready_.bytes += spans.bytes;
  return Done{};
}

Status TraceExport::flush() {
  const Spans spans = std::exchange(ready_, {});
  const std::vector<TracedRun> whole = std::exchange(whole_, {});
  if (spans.texts.empty()) return Done{};
  const Status sent = send_(spans_document(spans.texts, store_.identity()), whole);
  if (sent) spans_ += static_cast<std::int64_t>(spans.texts.size());
  return sent;
}

void TraceExport::drop() {
  ready_ = {};
  whole_.clear();
}

}  // namespace cairn
