#include "ops/service/memory_world.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "storage/clock.hpp"
#include "storage/memory/memory_store.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds poll_pause{2};
constexpr TimeUs sweep_us = 3'000'000;                         // until others have found what a dead session held
constexpr std::int64_t never_dead_ms = std::int64_t{1} << 50;  // a skipped year is no silence

TimeUs system_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

WorkerOptions worker_options() {
  WorkerOptions options;
  options.dead_after_ms = never_dead_ms;
  options.turn_max_ms = 0;
  return options;
}

}  // namespace

struct MemoryWorld::Parts {
  Opened opened;
  std::unique_ptr<Catalogue> of_worker;
  std::unique_ptr<Worker> worker;
  std::function<bool()> may_skip;
  std::atomic<bool> ends = false;
  std::thread working, skipping;

  Store& store() const { return *opened.store; }

  void skip(TimeUs by_us) {
    skip_time(by_us);
    store().notify();  // those who sleep look at the clock again
  }

  // By how much; 0: someone works, or nothing is due for ever.
  TimeUs idle_us() const {
    const MemoryQueue queue = queue_in_memory(store());
    if (queue.held > 0) return 0;
    const TimeUs until = queue.next_due == never_us ? 0 : std::max<TimeUs>(queue.next_due - store().database_time(), 0);
    if (queue.lost > 0) return until > 0 ? std::min(until, sweep_us) : sweep_us;
    return until;
  }

  void skip_on() {
    for (TimeUs before = 0; !ends; std::this_thread::sleep_for(poll_pause)) {
      const TimeUs idle = may_skip() ? idle_us() : 0;
      // Twice in a row: between two commits there may be nothing for a moment.
      if (idle > 0 && before > 0) skip(idle);
      before = before > 0 ? 0 : idle;
    }
  }
};

MemoryWorld::MemoryWorld(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<MemoryWorld>> MemoryWorld::open(const Settings& settings) {
  auto parts = std::make_unique<Parts>();
  Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  Result<std::unique_ptr<Catalogue>> of_worker = open_catalogue(settings);
  if (!of_worker) return of_worker.error();
  if (const Status ready = make_ready_to_work(**of_worker); !ready) return ready.error();
  const TimeUs offset = system_us() - steady_us();
  parts->opened.store = make_memory_store(1, [offset] { return steady_us() + offset; });
  parts->opened.catalogue = *std::move(catalogue);
  parts->of_worker = *std::move(of_worker);
  parts->opened.client = std::make_unique<Client>(*parts->opened.store, *parts->opened.catalogue, current_actor());
  parts->opened.client->load_graphs();
  return std::unique_ptr<MemoryWorld>(new MemoryWorld(std::move(parts)));
}

MemoryWorld::~MemoryWorld() { end(); }

void MemoryWorld::end() {
  parts_->ends = true;
  if (parts_->worker != nullptr) parts_->worker->hurry();
  if (parts_->working.joinable()) parts_->working.join();
  if (parts_->skipping.joinable()) parts_->skipping.join();
}

Opened& MemoryWorld::opened() { return parts_->opened; }

void MemoryWorld::begin(std::function<bool()> may_skip) {
  parts_->may_skip = std::move(may_skip);
  parts_->worker = std::make_unique<Worker>(parts_->store(), *parts_->of_worker, worker_options());
  parts_->working = std::thread([parts = parts_.get()] { parts->worker->run(); });
  parts_->skipping = std::thread([parts = parts_.get()] { parts->skip_on(); });
}

bool MemoryWorld::has_lost() const { return queue_in_memory(parts_->store()).lost > 0; }

bool MemoryWorld::rests() const {
  const MemoryQueue queue = queue_in_memory(parts_->store());
  return queue.held == 0 && queue.lost == 0 && queue.next_due == never_us;
}

void MemoryWorld::skip(TimeUs by_us) { parts_->skip(by_us); }

bool MemoryWorld::crash(SessionId session) {
  const std::vector<SessionRow> sessions = parts_->store().sessions().all();
  const bool is_there =
      std::any_of(sessions.begin(), sessions.end(), [session](const SessionRow& row) { return row.id == session; });
  if (is_there) parts_->store().sessions().close(session);
  return is_there;
}

}  // namespace cairn
