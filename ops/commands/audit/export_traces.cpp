#include "ops/commands/audit/export_traces.hpp"

#include <chrono>
#include <iostream>
#include <span>
#include <thread>

#include "ops/answers/words.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/terminal/print.hpp"
#include "ops/traces/otlp_client.hpp"
#include "ops/traces/trace_export.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

struct Sent {
  std::int64_t runs = 0;
  std::int64_t under_way = 0;
  std::int64_t unreadable = 0;
  std::int64_t rejected = 0;  // spans
};

Status send_document(OtlpClient& collector, const std::string& document, Sent& sent) {
  const auto pause = [](std::int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  const Result<OtlpAnswer> answer = send_with_patience(collector, document, pause);
  if (!answer) return answer.error();
  sent.rejected += answer->rejected;
  if (answer->rejected > 0)
    std::cerr << "cairn: The collector left out " << answer->rejected << " spans: " << answer->says << '\n';
  return Done{};
}

// Refuses what ends the export: the collector does not take it.
Status add_run(TraceExport& traces, const RunRow& run, Sent& sent) {
  if (!is_ended(run.status)) {
    ++sent.under_way;
    return Done{};
  }
  const Status added = traces.add(run.id);
  if (!added && added.error().code == Code::unavailable) return added;
  ++(added ? sent.runs : sent.unreadable);
  if (!added)
    std::cerr << "cairn: Left out run " << to_string(run.id) << ": " << readable_line(added.error().message, 2'000)
              << '\n';
  return Done{};
}

void print_sent(const Settings& settings, const Sent& sent, std::int64_t spans) {
  if (settings.json)
    return print_json({{"runs", sent.runs},
                       {"spans", spans},
                       {"under_way", sent.under_way},
                       {"unreadable", sent.unreadable},
                       {"rejected_spans", sent.rejected}});
  print_line("Sent " + counted(spans, "span") + " of " + counted(sent.runs, "run") + "." +
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
                     [&](const std::string& document) { return send_document(collector, document, sent); });
  Status so_far = Done{};
  const auto add_all = [&](std::span<const RunRow> runs) {
    for (const RunRow& run : runs)
      if (so_far && !except.contains(run.id)) so_far = add_run(traces, run, sent);
  };
  if (!named.empty())
    add_all(named);
  else
    for_each_page(*opened.store, unlimited(where), add_all);
  if (so_far) so_far = traces.flush();
  if (!so_far) return so_far.error();
  print_sent(settings, sent, traces.spans());
  return sent.unreadable > 0 ? exit_finding : exit_ok;
}

}  // namespace cairn
