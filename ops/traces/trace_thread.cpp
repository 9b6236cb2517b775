#include "ops/traces/trace_thread.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <spdlog/spdlog.h>
#include <utility>

#include "ops/service/rare_warning.hpp"
#include "ops/traces/trace_export.hpp"
#include "storage/feed/feed.hpp"
#include "storage/postgres/administration.hpp"
#include "workers/client.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr std::int32_t ends_at_once = 200;
constexpr long trace_pause_ms = 1'000;
constexpr long failed_ms = 2'000;
constexpr long failed_ms_max = 60'000;

}  // namespace

struct TraceThread::Parts {
  Parts(Opened& opened, OtlpEndpoint endpoint, TraceOptions options)
      : store(*opened.store),
        dsn(opened.dsn),
        feed(opened.dsn, opened.store->shards(), opened.store->identity()),
        client(*opened.store, *opened.catalogue, "otlp"),
        collector(std::move(endpoint)),
        traces(store, client, options, [this](const std::string& document, const std::vector<TracedRun>& whole) {
          return send(document, whole);
        }) {}

  // The pause until the next poll. One process of all sends at a time; its lock goes with its connection, and stays
  // over the pause after a failure: what the collector took of the page is known here alone.
  long work() {
    try {
      if (!alone) alone.emplace(dsn, "traces of cairn");  // workers end what of theirs stands in a transaction
      if (std::exchange(holds_lock, false)) alone->commit();
      alone->begin();
      const bool is_alone = alone->query("try_lock_traces").boolean(0, 0);
      alone->let_go_of_snapshot();
      const long pause = is_alone ? send_page() : trace_pause_ms;
      holds_lock = is_alone && is_failing;
      if (!holds_lock) alone->commit();
      return pause;
    } catch (const std::exception& failure) {
      holds_lock = false;
      alone.reset();
      return failed(failure.what());
    }
  }

  long send_page() {
    const Result<FeedPage> page = feed.page(traces_consumer, "", ends_at_once);
    if (!page) return failed(page.error().message);
    if (const Status sent = send_ended(*page); !sent) return failed(sent.error().message);
    if (const Status moved = feed.confirm(traces_consumer, to_text(page->cursor)); !moved)
      return failed(moved.error().message);
    settled.clear();
    is_failing = false;
    pause_ms = failed_ms;
    return page->is_last ? trace_pause_ms : 0;
  }

  Status send_ended(const FeedPage& page) {
    std::set<RunId> runs;
    for (const FeedEvent& event : page.events) runs.insert(event.run);
    for (const RunId& run : runs)
      if (const Status sent = send_run(run); !sent) return sent;
    return traces.flush();
  }

  // A run that was retried meanwhile is sent when it ends again. One that cannot be read holds up no other.
  Status send_run(const RunId& run) {
    if (is_closing) return closed();
    const std::optional<RunRow> row = store.run(run);
    if (!row) {
      absences.say("The trace of run " + to_string(run) + " is not sent: it is archived.");
      return Done{};
    }
    const auto found = settled.find(run);
    if (!is_ended(row->status) || (found != settled.end() && found->second == row->head)) return Done{};
    const Status added = traces.add(*row);
    if (added || added.error().code == Code::unavailable) return added;
    spdlog::warn("The trace of run {} is not sent: {}", to_string(run), added.error().message);
    settled[run] = row->head;
    return Done{};
  }

  // One try: the thread comes again, with the runs that are not settled.
  Status send(const std::string& document, const std::vector<TracedRun>& whole) {
    if (is_closing) return closed();
    const OtlpAnswer answer = collector.send(document);
    if (answer.kind == OtlpAnswer::Kind::again || answer.kind == OtlpAnswer::Kind::refused) {
      asked_pause_ms = static_cast<long>(answer.retry_after_ms);
      return Error{Code::unavailable, answer.says};
    }
    if (answer.kind == OtlpAnswer::Kind::misfit) misfits.say("Traces are left out, because " + answer.says);
    if (answer.rejected > 0) rejections.say("The collector left out spans: " + answer.says);
    for (const TracedRun& one : whole) settled[one.run] = one.head;
    return Done{};
  }

  static Error closed() { return {Code::unavailable, "Expected to send traces, but this process ends."}; }

  long failed(const std::string& says) {
    traces.drop();
    is_failing = true;
    if (!is_closing) delays.say("No traces are sent for now: " + says);
    const long asked = std::exchange(asked_pause_ms, 0);
    const long own = std::exchange(pause_ms, std::min(pause_ms * 2, failed_ms_max));
    return asked > 0 ? std::min(asked, failed_ms_max) : own;
  }

  Store& store;
  const std::string dsn;
  std::optional<Administration> alone;
  bool holds_lock = false;  // its transaction is open
  bool is_failing = false;  // since the last page
  Feed feed;
  Client client;
  OtlpClient collector;
  TraceExport traces;
  std::map<RunId, std::int64_t> settled;  // of the page that is not confirmed: runs that are not sent again, and heads
  std::atomic<bool> is_closing{false};
  RareWarning delays, misfits, rejections, absences;
  long pause_ms = failed_ms;
  long asked_pause_ms = 0;
  std::unique_ptr<PeriodicThread> thread;
};

TraceThread::TraceThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TraceThread::~TraceThread() {
  parts_->is_closing = true;
  parts_->thread.reset();
}

Result<std::unique_ptr<TraceThread>> TraceThread::start(Opened& opened, OtlpEndpoint endpoint, TraceOptions options) {
  auto parts = std::make_unique<Parts>(opened, std::move(endpoint), options);
  const FeedConsumer consumer{traces_consumer, {{}, {}, {"run_finished"}}, current_actor()};
  const Status added = parts->feed.add(consumer, FeedStart::now);  // also in place of one that was left without places
  if (!added && !parts->feed.consumer(traces_consumer)) return added.error();
  parts->thread = std::make_unique<PeriodicThread>([parts = parts.get()] { return parts->work(); });
  return std::unique_ptr<TraceThread>(new TraceThread(std::move(parts)));
}

}  // namespace cairn
