#include "ops/http/streams/run_watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <spdlog/spdlog.h>
#include <thread>
#include <vector>

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds pause_least{20};
constexpr milliseconds pause_most{1'000};
constexpr int share_of_time = 10;  // it asks for a tenth of the time at most
constexpr int failures_most = 2;   // in a row; the store has tried for a while in each
constexpr std::size_t runs_of_a_piece = 1'000;

}  // namespace

struct RunWatch::Parts {
  struct Watched {
    int followers = 0;  // and waits
    bool is_known = false;
    bool is_lost = false;
    std::optional<RunHead> head = {};
  };
  struct Wait {
    RunId run;
    Clock::time_point until;
    std::function<void()> resume;
    bool is_to_begin = false;
  };

  Parts(Store& store_of, OnLost on_lost_of) : store(&store_of), on_lost(std::move(on_lost_of)) {}

  void begin() {
    if (!thread.joinable()) thread = std::thread([this] { poll_on(); });
    wake.notify_all();
  }
  void watch(const RunId& run) {
    Watched& one = watched[run];
    if (one.followers++ == 0) one.is_known = false;
  }
  void leave(const RunId& run) {
    const auto found = watched.find(run);
    if (found != watched.end() && --found->second.followers == 0) watched.erase(found);
  }

  void poll_on();
  void poll(std::unique_lock<std::mutex>& lock);
  void note_failure(const std::exception& failure);
  std::vector<std::function<void()>> take_due();

  Store* store;
  const OnLost on_lost;
  int failures = 0;  // in a row
  std::mutex mutex;
  std::condition_variable wake;
  std::map<RunId, Watched> watched;
  std::map<WaitId, Wait> waits;
  WaitId last_wait = 0;
  bool ends = false;
  std::thread thread;
};

void RunWatch::Parts::poll_on() {
  std::unique_lock lock(mutex);
  while (!ends) {
    if (watched.empty()) {
      failures = 0;
      wake.wait(lock, [this] { return ends || !watched.empty(); });
      continue;
    }
    const auto began = Clock::now();
    milliseconds pause = pause_most;
    try {
      poll(lock);
      pause = std::chrono::duration_cast<milliseconds>(Clock::now() - began) * share_of_time;
    } catch (const std::exception& failure) {
      if (!lock.owns_lock()) lock.lock();
      spdlog::warn("The runs that clients wait for cannot be read: {}", failure.what());
      note_failure(failure);
    }
    for (const std::function<void()>& resume : take_due()) resume();
    wake.wait_for(lock, std::clamp(pause, pause_least, pause_most), [this] { return ends; });
  }
}

void RunWatch::Parts::poll(std::unique_lock<std::mutex>& lock) {
  std::vector<RunId> runs;
  for (const auto& [run, one] : watched) runs.push_back(run);
  lock.unlock();
  std::vector<std::optional<RunHead>> heads;
  for (std::size_t at = 0; at < runs.size(); at += runs_of_a_piece) {
    const std::span piece = std::span(runs).subspan(at, std::min(runs_of_a_piece, runs.size() - at));
    for (std::optional<RunHead>& head : store->all_runs().heads(piece)) heads.push_back(head);
  }
  lock.lock();
  failures = 0;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const auto found = watched.find(runs[at]);
    if (found == watched.end()) continue;
    found->second.is_known = true;
    found->second.is_lost = false;
    found->second.head = heads[at];
  }
}

void RunWatch::Parts::note_failure(const std::exception& failure) {
  if (++failures < failures_most || on_lost == nullptr) return;
  for (auto& [run, one] : watched) one.is_lost = true;
  on_lost(failure);
}

// Those whose run has ended, is lost or is not there, and those whose time is over.
std::vector<std::function<void()>> RunWatch::Parts::take_due() {
  std::vector<std::function<void()>> resume;
  const auto now = Clock::now();
  for (auto at = waits.begin(); at != waits.end();) {
    Wait& wait = at->second;
    const Watched& one = watched.at(wait.run);
    const bool has_ended = one.is_known && (one.head ? is_ended(one.head->status) : !wait.is_to_begin);
    if (!has_ended && !one.is_lost && now < wait.until) {
      ++at;
      continue;
    }
    resume.push_back(std::move(wait.resume));
    leave(wait.run);
    at = waits.erase(at);
  }
  return resume;
}

RunWatch::RunWatch(Store& store, OnLost on_lost) : parts_(std::make_shared<Parts>(store, std::move(on_lost))) {}

RunWatch::~RunWatch() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->ends = true;
  }
  parts_->wake.notify_all();
  if (parts_->thread.joinable()) parts_->thread.join();
}

RunWatch::Follower::Follower(std::shared_ptr<Parts> parts, const RunId& run) : parts_(std::move(parts)), run_(run) {}

RunWatch::Follower::~Follower() {
  if (parts_ == nullptr) return;
  const std::lock_guard lock(parts_->mutex);
  parts_->leave(run_);
}

std::optional<RunHead> RunWatch::Follower::head() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->watched.at(run_).head;
}

bool RunWatch::Follower::is_known() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->watched.at(run_).is_known;
}

bool RunWatch::Follower::is_lost() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->watched.at(run_).is_lost;
}

RunWatch::Follower RunWatch::follow(const RunId& run) {
  const std::lock_guard lock(parts_->mutex);
  parts_->watch(run);
  parts_->begin();
  return {parts_, run};
}

RunWatch::WaitId RunWatch::wait(const RunId& run, milliseconds time, std::function<void()> resume, bool is_to_begin) {
  const std::lock_guard lock(parts_->mutex);
  parts_->watch(run);
  const WaitId id = ++parts_->last_wait;
  parts_->waits.emplace(id, Parts::Wait{run, Clock::now() + time, std::move(resume), is_to_begin});
  parts_->begin();
  return id;
}

void RunWatch::hurry(WaitId id) {
  std::function<void()> resume;
  {
    const std::lock_guard lock(parts_->mutex);
    const auto found = parts_->waits.find(id);
    if (found == parts_->waits.end()) return;
    resume = std::move(found->second.resume);
    parts_->leave(found->second.run);
    parts_->waits.erase(found);
  }
  resume();
}

bool RunWatch::has_waits() const {
  const std::lock_guard lock(parts_->mutex);
  return !parts_->waits.empty();
}

void RunWatch::forget(WaitId id) {
  const std::lock_guard lock(parts_->mutex);
  const auto found = parts_->waits.find(id);
  if (found == parts_->waits.end()) return;
  parts_->leave(found->second.run);
  parts_->waits.erase(found);
}

}  // namespace cairn
