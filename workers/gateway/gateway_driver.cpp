#include "workers/gateway/gateway_driver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <spdlog/spdlog.h>
#include <thread>

#include "storage/clock.hpp"
#include "workers/ports/log.hpp"
#include "workers/ports/threads.hpp"

namespace cairn {
namespace {

constexpr std::int64_t notification_ms = 1'000;
constexpr std::chrono::seconds idle_wait{5};  // then no one waits any more, and the store need not listen
constexpr std::chrono::milliseconds pause_after_fault{100};
constexpr TimeUs rest_us = 60'000'000;
constexpr TimeUs second_us = 1'000'000;
constexpr std::size_t answers_kept = 10'000;  // whose claims may still be on their way

}  // namespace

struct GatewayDriver::Parts {
  Parts(Store& store_of, const ToolTable& tools, GatewayOptions options)
      : store(store_of), carriers_max(options.lanes + 2), gateway(std::move(options), tools) {}

  using Lock = std::unique_lock<std::mutex>;

  void begin();
  void end();
  void work(const std::function<bool()>& round);
  bool carry();
  bool listen();
  void advance(Lock& lock);
  void carry_out_one(Lock& lock);
  void complain(const char* purpose, const std::string& fault);

  Store& store;
  const int carriers_max;
  std::mutex mutex;
  std::condition_variable wake;
  Gateway gateway;
  std::deque<GatewayCall> calls;
  std::map<AskId, OnAnswer> asked;
  std::map<AskId, std::vector<ClaimId>> given;  // by the latest answers
  AskId last_ask = 0;
  bool ends = false;
  TimeUs complained_at = 0;
  const std::function<TimeUs()> steady = steady_us;
  std::mutex beginning;  // locked before `mutex`
  std::optional<Threads> threads;
};

// All threads or none: with fewer, all calls might wait for ever. REQUIRES: the mutex is not locked here.
void GatewayDriver::Parts::begin() {
  const std::lock_guard once(beginning);
  if (threads) return;
  const auto begun = std::make_shared<std::atomic<int>>(0);
  try {
    threads.emplace(
        carriers_max + 1,
        [this, begun] { work([this, listens = (*begun)++ == 0] { return listens ? listen() : carry(); }); },
        [this] { end(); });
  } catch (...) {
    const Lock lock(mutex);
    ends = false;
    throw;
  }
}

void GatewayDriver::Parts::end() {
  {
    const Lock lock(mutex);
    ends = true;
  }
  wake.notify_all();
  store.notify_here();
}

// Rounds until one returns false, which is at the end. A worker over HTTP whose call was lost by an exception asks
// again when its time is over.
void GatewayDriver::Parts::work(const std::function<bool()>& round) {
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = round();
    } catch (...) {
      log_last_exception("the calls for workers over HTTP");
      std::this_thread::sleep_for(pause_after_fault);
    }
  }
}

// Carries out a call, gives its answer to the gateway, and goes on with what follows from it.
bool GatewayDriver::Parts::carry() {
  Lock lock(mutex);
  if (ends) return false;  // under the lock of the wait below, which would miss the end otherwise
  if (!calls.empty()) {
    carry_out_one(lock);
  } else {
    const TimeUs pause_us = std::clamp<TimeUs>(gateway.due_us() - steady_us(), 0, rest_us);
    if (pause_us > 0) wake.wait_for(lock, std::chrono::microseconds(pause_us));
  }
  advance(lock);
  return true;
}

void GatewayDriver::Parts::carry_out_one(Lock& lock) {
  GatewayCall call = std::move(calls.front());
  calls.pop_front();
  const CallSite site{store, steady, {}, [this](std::uint64_t batch, std::vector<LockedRun> runs) {
                        const Lock inner(mutex);
                        return gateway.decide_locked(batch, std::move(runs));
                      }};
  std::string fault;
  lock.unlock();
  try {
    carry_out(call, site);
  } catch (const std::exception& thrown) {
    fault = thrown.what();
  }
  lock.lock();
  gateway.tick(steady_us());
  if (fault.empty()) return gateway.answered(std::move(call));
  complain(purpose(call), fault);
  gateway.failed(call);
}

void GatewayDriver::Parts::complain(const char* purpose, const std::string& fault) {
  const TimeUs now = steady_us();
  if (now - complained_at < second_us) return;
  complained_at = now;
  spdlog::warn("Expected to {} for workers over HTTP, but {}; trying again.", purpose, fault);
}

void GatewayDriver::Parts::advance(Lock& lock) {
  if (ends) return;
  gateway.tick(steady_us());
  GatewayActions actions = gateway.drain_actions();
  for (GatewayCall& call : actions.calls) calls.push_back(std::move(call));
  std::vector<std::pair<OnAnswer, AskAnswer>> answers;
  for (auto& [id, answer] : actions.answers) {
    std::vector<ClaimId> claims;
    for (const RemoteClaim& claim : answer.claims) claims.push_back(claim.id);
    if (!claims.empty()) given.emplace(id, std::move(claims));
    if (given.size() > answers_kept) given.erase(given.begin());
    if (auto found = asked.extract(id)) answers.emplace_back(std::move(found.mapped()), std::move(answer));
  }
  if (calls.size() > 1) wake.notify_all();
  if (answers.empty() && actions.notes.empty()) return;
  lock.unlock();
  for (const Note& note : actions.notes)
    log_about(note.level, note.text, note.fields.is_null() ? Json::object() : note.fields);
  for (auto& [on_answer, answer] : answers) on_answer(std::move(answer));
  lock.lock();
}

// Only while a worker waits for steps.
bool GatewayDriver::Parts::listen() {
  bool is_asked = false;
  {
    Lock lock(mutex);
    wake.wait_for(lock, idle_wait, [this] { return ends || !asked.empty(); });
    if (ends) return false;
    is_asked = !asked.empty();
  }
  bool is_notified = false;
  try {
    is_notified = is_asked ? store.await_notification(notification_ms, NotifiedBy::any_process)
                           : store.await_notification(0, NotifiedBy::this_process);
  } catch (const std::exception&) {  // it polls
    std::this_thread::sleep_for(pause_after_fault);
  }
  if (!is_notified) return true;
  Lock lock(mutex);
  gateway.notified();
  advance(lock);
  wake.notify_one();
  return true;
}

GatewayDriver::GatewayDriver(Store& store, const ToolTable& tools, GatewayOptions options)
    : parts_(std::make_unique<Parts>(store, tools, std::move(options))) {}

GatewayDriver::~GatewayDriver() { parts_->end(); }

AskId GatewayDriver::ask(Ask ask, OnAnswer on_answer) {
  parts_->begin();
  const Parts::Lock lock(parts_->mutex);
  const AskId id = ++parts_->last_ask;
  parts_->asked.emplace(id, std::move(on_answer));
  parts_->gateway.tick(steady_us());
  parts_->gateway.ask(id, std::move(ask));
  parts_->wake.notify_all();
  return id;
}

void GatewayDriver::hurry(AskId id) {
  const Parts::Lock lock(parts_->mutex);
  parts_->gateway.hurry(id);
  parts_->wake.notify_one();
}

void GatewayDriver::gone(AskId id) {
  const Parts::Lock lock(parts_->mutex);
  parts_->gateway.gone(id);
  if (auto found = parts_->given.extract(id)) parts_->gateway.take_back(found.mapped());
  parts_->wake.notify_one();
}

std::optional<std::vector<std::string>> GatewayDriver::hears(SessionId session, const std::string& caller,
                                                             const std::vector<ClaimId>& has) {
  const Parts::Lock lock(parts_->mutex);
  parts_->gateway.tick(steady_us());
  std::optional<std::vector<std::string>> nodes = parts_->gateway.hears(session, caller, has);
  parts_->wake.notify_one();
  return nodes;
}

}  // namespace cairn
