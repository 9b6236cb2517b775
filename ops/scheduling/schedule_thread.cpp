#include "ops/scheduling/schedule_thread.hpp"

#include <spdlog/spdlog.h>

#include "ops/service/rare_warning.hpp"
#include "storage/clock.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "workers/runtime/periodic_thread.hpp"
#include "workers/schedules/scheduler.hpp"

namespace cairn {
namespace {

constexpr int portion = 500;
constexpr long sleep_max_ms = 1'000;  // the longest sleep: schedules may be added, and a machine may wake up
constexpr long shared_pause_ms = 20;  // others have locked what is due
constexpr long failed_pause_ms = 2'000;
constexpr TimeUs zones_check_us = 60'000'000;

}  // namespace

struct ScheduleThread::Parts {
  explicit Parts(Opened& opened)
      : table(opened.dsn, opened.store->identity()),
        client(*opened.store, *opened.catalogue, "schedule"),
        scheduler(table.calls(), *opened.store, client, zones),
        thread([this] { return work(); }) {}

  long work() {
    try {
      if (steady_us() - zones_seen_us > zones_check_us) check_zones();
      if (const long pause_ms = sleep_ms(table.next_due(), sleep_max_ms); pause_ms > 0) return pause_ms;
      const std::size_t decided = scheduler.pass(portion);
      return decided == 0 ? shared_pause_ms : 0;
    } catch (const std::exception& failure) {
      return failed(failure.what());
    }
  }

  // A new edition of the zones may bring a time forward, or put it off.
  void check_zones() {
    zones_seen_us = steady_us();
    zones.check_for_changes();
    std::vector<std::pair<std::string, std::string>> changed;
    for (const auto& [zone, mark] : table.zones()) {
      const auto known = zones.find(zone);
      if (known && (*known)->mark != mark) changed.emplace_back(zone, (*known)->mark);
    }
    if (changed.empty()) return;
    spdlog::info("{} time zones have other rules than when their schedules were looked at.", changed.size());
    table.check_zones(changed);
  }

  long failed(const std::string& says) {
    warning.say("No schedule is fired by this process: " + says);
    return failed_pause_ms;
  }

  ScheduleTable table;
  ZoneFiles zones;
  Client client;
  Scheduler scheduler;
  TimeUs zones_seen_us = -zones_check_us;
  RareWarning warning;
  PeriodicThread thread;
};

ScheduleThread::ScheduleThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ScheduleThread::~ScheduleThread() = default;

std::unique_ptr<ScheduleThread> ScheduleThread::start(Opened& opened) {
  if (opened.dsn.empty() || opened.is_replica) return nullptr;
  return std::unique_ptr<ScheduleThread>(new ScheduleThread(std::make_unique<Parts>(opened)));
}

}  // namespace cairn
