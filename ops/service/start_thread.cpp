#include "ops/service/start_thread.hpp"

#include "ops/service/rare_warning.hpp"
#include "storage/clock.hpp"
#include "storage/starts/start_book.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr int keys_at_once = 500;
constexpr long start_sleep_max_ms = 1'000;  // the longest sleep: starts come from other processes
constexpr long start_shared_pause_ms = 20;  // others have locked what is due
constexpr long start_failed_pause_ms = 2'000;
constexpr TimeUs refusals_kept_us = 7LL * 86'400 * 1'000'000;
constexpr TimeUs forget_every_us = 3'600'000'000;

}  // namespace

struct StartThread::Parts {
  explicit Parts(Opened& opened)
      : store(*opened.store), client(store, *opened.catalogue, "start"), thread([this] { return work(); }) {}

  long work() {
    try {
      const NextDue next = store.starts().next_due();
      if (steady_us() - forgotten_us > forget_every_us) {
        forgotten_us = steady_us();
        store.starts().forget_refused(next.now_us - refusals_kept_us);
      }
      if (const long pause_ms = sleep_ms(next, start_sleep_max_ms); pause_ms > 0) return pause_ms;
      client.load_graphs();
      return client.decide_starts(keys_at_once) == 0 ? start_shared_pause_ms : 0;
    } catch (const std::exception& failure) {
      warning.say(std::string("No start that waited begins by this process: ") + failure.what());
      return start_failed_pause_ms;
    }
  }

  Store& store;
  Client client;
  TimeUs forgotten_us = -forget_every_us;
  RareWarning warning;
  PeriodicThread thread;
};

StartThread::StartThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
StartThread::~StartThread() = default;

std::unique_ptr<StartThread> StartThread::start(Opened& opened) {
  if (opened.dsn.empty() || opened.is_replica) return nullptr;
  return std::unique_ptr<StartThread>(new StartThread(std::make_unique<Parts>(opened)));
}

}  // namespace cairn
