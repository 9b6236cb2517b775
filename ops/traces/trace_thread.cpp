#include "ops/traces/trace_thread.hpp"

#include <algorithm>
#include <set>
#include <spdlog/spdlog.h>

#include "ops/service/rare_warning.hpp"
#include "ops/traces/trace_export.hpp"
#include "storage/feed/feed.hpp"
#include "workers/client.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr std::int32_t ends_at_once = 200;
constexpr long look_ms = 1'000;
constexpr long failed_ms = 2'000;
constexpr long failed_ms_max = 60'000;

}  // namespace

struct TraceThread::Parts {
  Parts(Opened& opened, OtlpEndpoint endpoint, TraceOptions options)
      : store(*opened.store),
        feed(opened.dsn, opened.store->shards(), opened.store->identity()),
        client(*opened.store, *opened.catalogue, "otlp"),
        collector(std::move(endpoint)),
        traces(store, client, options, [this](const std::string& document) { return send(document); }) {}

  // The pause until the next look.
  long work() {
    try {
      const Result<FeedPage> page = feed.page(traces_consumer, "", ends_at_once);
      if (!page) return failed(page.error().message);
      if (const Status sent = send_ended(*page); !sent) return failed(sent.error().message);
      if (const Status moved = feed.confirm(traces_consumer, to_text(page->cursor)); !moved)
        return failed(moved.error().message);
      pause_ms = failed_ms;
      return page->is_last ? look_ms : 0;
    } catch (const std::exception& failure) {
      return failed(failure.what());
    }
  }

  // A run that cannot be read holds up no other.
  Status send_ended(const FeedPage& page) {
    std::set<RunId> runs;
    for (const FeedEvent& event : page.events) runs.insert(event.run);
    for (const RunId& run : runs) {
      const Status added = traces.add(run);
      if (!added && added.error().code == Code::unavailable) return added;
      if (!added) spdlog::warn("The trace of run {} is not sent: {}", to_string(run), added.error().message);
    }
    return traces.flush();
  }

  // One try: the thread comes again, with the same runs. A document that the collector never takes is left out.
  Status send(const std::string& document) {
    const OtlpAnswer answer = collector.send(document);
    if (answer.rejected > 0) warning.say("The collector left out spans: " + answer.says);
    if (answer.kind == OtlpAnswer::Kind::refused) warning.say("The collector refuses traces: " + answer.says);
    if (answer.kind != OtlpAnswer::Kind::again) return Done{};
    asked_pause_ms = static_cast<long>(answer.retry_after_ms);
    return Error{Code::unavailable, answer.says};
  }

  long failed(const std::string& says) {
    warning.say("No traces are sent for now: " + says);
    const long asked = std::exchange(asked_pause_ms, 0);
    const long own = std::exchange(pause_ms, std::min(pause_ms * 2, failed_ms_max));
    return asked > 0 ? std::min(asked, failed_ms_max) : own;
  }

  Store& store;
  Feed feed;
  Client client;
  OtlpClient collector;
  TraceExport traces;
  RareWarning warning;
  long pause_ms = failed_ms;
  long asked_pause_ms = 0;
  std::unique_ptr<PeriodicThread> thread;
};

TraceThread::TraceThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TraceThread::~TraceThread() = default;

Result<std::unique_ptr<TraceThread>> TraceThread::start(Opened& opened, OtlpEndpoint endpoint, TraceOptions options) {
  auto parts = std::make_unique<Parts>(opened, std::move(endpoint), options);
  const std::vector<FeedStanding> consumers = parts->feed.consumers();
  const bool is_there = std::any_of(consumers.begin(), consumers.end(), [](const FeedStanding& standing) {
    return standing.consumer.name == traces_consumer;
  });
  if (!is_there) {
    const FeedConsumer consumer{traces_consumer, {{}, {}, {"run_finished"}}, current_actor()};
    const Status added = parts->feed.add(consumer, FeedStart::now);
    if (!added && added.error().code != Code::conflict) return added.error();  // another process was faster
  }
  parts->thread = std::make_unique<PeriodicThread>([parts = parts.get()] { return parts->work(); });
  return std::unique_ptr<TraceThread>(new TraceThread(std::move(parts)));
}

}  // namespace cairn
