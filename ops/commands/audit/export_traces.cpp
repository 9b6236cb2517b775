#include "ops/commands/audit/export_traces.hpp"

#include <chrono>
#include <iostream>
#include <thread>

#include "ops/answers/words.hpp"
#include "ops/commands/audit/unreadable_runs.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/terminal/print.hpp"
#include "ops/traces/trace_export.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

struct Sent {
  std::int64_t runs = 0;
  std::int64_t under_way = 0;
  UnreadableRuns unreadable = {};
  std::int64_t rejected = 0;  // spans
};

Status send_document(OtlpClient& collector, const std::string& document, Sent& sent) {
  const auto pause = [](std::int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  const Result<OtlpAnswer> answer = send_with_patience(collector, document, pause);
  if (!answer) return answer.error();
  sent.rejected += answer->rejected;
  if (answer->rejected > 0)
    std::cerr << "cairn: The collector left out " << answer->rejected << " spans: " << visible(answer->says) << '\n';
  return Done{};
}

// Refuses what ends the export: the collector does not take it.
Status add_run(TraceExport& traces, const RunRow& run, Sent& sent) {
  if (!is_ended(run.status)) {
    ++sent.under_way;
    return Done{};
  }
  const Status added = traces.add(run);
  if (!added && added.error().code == Code::unavailable) return added;
  if (added) ++sent.runs;
  if (!added) sent.unreadable.add(run.id, added.error().message);
  return Done{};
}

void print_sent(const Settings& settings, const Sent& sent, std::int64_t spans) {
  if (settings.json)
    return print_json({{"runs", sent.runs},
                       {"spans", spans},
                       {"under_way", sent.under_way},
                       {"unreadable", sent.unreadable.runs.size()},
                       {"rejected_spans", sent.rejected}});
  print_paragraph("Sent " + counted(spans, "span") + " of " + counted(sent.runs, "run") + "." +
                  (sent.under_way > 0 ? " " + counted(sent.under_way, "run") + " under way left out." : ""));
}

}  // namespace

Exit export_traces(const Settings& settings, Opened& opened, const std::vector<RunRow>& named, const RunFilter& where,
                   const std::set<RunId>& except, const TraceExportOptions& options) {
  Result<OtlpEndpoint> endpoint = otlp_endpoint(options.url);
  if (!endpoint) return endpoint.error();
  OtlpClient collector(*std::move(endpoint));
  Sent sent;
  TraceExport traces(*opened.store, *opened.client, {options.with_contents},
                     [&](const std::string& document, const std::vector<TracedRun>&) {
                       return send_document(collector, document, sent);
                     });
  Status so_far = Done{};
  RunPages pages(*opened.store, unlimited(where));
  std::vector<RunRow> runs = named.empty() ? pages.next() : named;
  while (so_far && !runs.empty()) {
    for (const RunRow& run : runs)
      if (so_far && !except.contains(run.id)) so_far = add_run(traces, run, sent);
    runs = named.empty() ? pages.next() : std::vector<RunRow>();
  }
  if (so_far) so_far = traces.flush();
  if (!so_far) return so_far.error();
  print_sent(settings, sent, traces.spans());
  return sent.unreadable.report();
}

}  // namespace cairn
