// Events folded per second on one core: already decoded, from their JSON, with their hash chain checked; and read from
// the database where only envelopes matter, compared with the server's own COPY of the same table as text.
#include <cmath>
#include <stdexcept>

#include "engine/evolve.hpp"
#include "ops/bench/cases.hpp"
#include "ops/bench/rig/copies.hpp"
#include "ops/bench/rig/handler_clock.hpp"
#include "ops/bench/rig/traffic.hpp"
#include "storage/chain.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t page_runs = 1'000;

// Processor time of this thread; for reading, time on the wall, because the server does that work on the other core.
struct Times {
  std::int64_t events = 0;
  double reading = 0;
  double verifying = 0;
  double decoding = 0;
  double folding = 0;

  double rate(double seconds) const { return std::round(static_cast<double>(events) / seconds); }
};

template <class Work>
auto timed(double& seconds, Work&& work) {
  struct Stop {
    ~Stop() { seconds += thread_cpu_seconds() - begin; }
    double& seconds;
    double begin = thread_cpu_seconds();
  };
  const Stop stop{seconds};
  return work();
}

std::vector<StoredHistory> read_page(Store& store, const Copies& copies, std::int64_t first, double& seconds) {
  std::vector<HistoryRequest> requests;
  for (std::int64_t n = first; n < std::min(first + page_runs, copies.count()); ++n)
    requests.push_back({copies.id(n), 0, {}});
  const Clock::time_point begin = Clock::now();
  std::vector<StoredHistory> page = store.histories(requests, 100);
  seconds += ms_between(begin, Clock::now()) / 1'000;
  return page;
}

void verify(const RunId& run, const std::string& version, const std::vector<EventRow>& rows) {
  Hash hash = chain_start(run, version);
  for (const EventRow& row : rows) {
    hash = chain_next(hash, 0, run, row);
    if (hash != row.chain_hash) throw std::runtime_error("Expected a whole hash chain, but one of ours is broken.");
  }
}

std::vector<Event> decode(const std::vector<EventRow>& rows) {
  std::vector<Event> events;
  events.reserve(rows.size());
  for (const EventRow& row : rows) {
    Result<Event> event = event_of(row);
    if (!event) throw std::runtime_error(event.error().message);
    events.push_back(*std::move(event));
  }
  return events;
}

void fold(const RunId& run, const std::vector<Event>& events, const Graphs& graphs) {
  RunState state;
  state.id = run;
  std::vector<BranchId> touched;
  for (const Event& event : events) {
    touched.clear();
    evolve(state, event, graphs, touched);
  }
  if (state.status != RunStatus::done) throw std::runtime_error("Expected the folded runs to be done, but one is not.");
}

Times measure_folding(Opened& opened, const Copies& copies, const RunRow& sample) {
  const Graphs& graphs = opened.client->graphs();
  Times times;
  for (std::int64_t first = 0; first < copies.count(); first += page_runs) {
    const std::vector<StoredHistory> page = read_page(*opened.store, copies, first, times.reading);
    for (std::size_t at = 0; at < page.size(); ++at) {
      const RunId run = copies.id(first + static_cast<std::int64_t>(at));
      const std::vector<EventRow>& rows = page[at].events;
      times.events += static_cast<std::int64_t>(rows.size());
      timed(times.verifying, [&] { verify(run, sample.version, rows); });
      const std::vector<Event> events = timed(times.decoding, [&] { return decode(rows); });
      timed(times.folding, [&] { fold(run, events, graphs); });
    }
  }
  return times;
}

// Rows a second of the table of events.
double rate_of_copy(FreshDatabase& database) {
  std::int64_t rows = 0;
  const Clock::time_point begin = Clock::now();
  database.administration().copy_out("cairn.event", [&](const std::string&) { ++rows; });
  return std::round(static_cast<double>(rows) * 1'000 / ms_between(begin, Clock::now()));
}

}  // namespace

Result<Json> measure_fold(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const RunRow sample = one_run(server, database, *opened);
  const Copies copies(database, sample.id, std::max<std::int64_t>(options.events / sample.head, 1));
  hold_if(options.hold);
  rate_of_copy(database);  // the first one warms the server's cache
  const double copy = rate_of_copy(database);
  const Times times = measure_folding(*opened, copies, sample);
  const double envelopes = times.rate(times.reading);
  return Json{{"value", times.rate(times.folding)},
              {"unit", "events/s a core"},
              {"events", times.events},
              {"from_json", times.rate(times.decoding + times.folding)},
              {"verified", times.rate(times.verifying)},
              {"verified_from_json", times.rate(times.verifying + times.decoding + times.folding)},
              {"envelopes", envelopes},
              {"limit", copy},
              {"limit_is", "COPY cairn.event TO STDOUT as text, held against envelopes"},
              {"ratio", rounded(envelopes / copy, 1'000)}};
}

}  // namespace cairn
