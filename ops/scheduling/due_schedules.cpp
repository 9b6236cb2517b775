#include "ops/scheduling/due_schedules.hpp"

#include <memory>
#include <spdlog/spdlog.h>
#include <string>
#include <utility>
#include <vector>

#include "storage/clock.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "workers/schedules/scheduler.hpp"

namespace cairn {
namespace {

constexpr int schedules_at_once = 500;
constexpr long schedule_sleep_max_ms = 1'000;  // the longest sleep: schedules may be added, and a machine may wake up
constexpr long schedule_shared_pause_ms = 20;  // others have locked what is due
constexpr TimeUs check_every_us = 60'000'000;

class DueSchedules {
 public:
  explicit DueSchedules(Opened& opened)
      : table_(opened.dsn, opened.store->identity()),
        client_(*opened.store, *opened.catalogue, "schedule"),
        scheduler_(table_.calls(), *opened.store, client_, zones_) {}

  long work() {
    if (steady_us() - checked_us_ > check_every_us) check();
    if (const long pause_ms = sleep_ms(table_.next_due(), schedule_sleep_max_ms); pause_ms > 0) return pause_ms;
    return scheduler_.pass(schedules_at_once) == 0 ? schedule_shared_pause_ms : 0;
  }

 private:
  void check() {
    checked_us_ = steady_us();
    table_.recall();
    check_zones();
  }

  // A new edition of the zones may bring a time forward, or put it off.
  void check_zones() {
    zones_.check_for_changes();
    std::vector<std::pair<std::string, std::string>> changed;
    for (const auto& [zone, mark] : table_.zones()) {
      const auto known = zones_.find(zone);
      if (known && (*known)->mark != mark) changed.emplace_back(zone, (*known)->mark);
    }
    if (changed.empty()) return;
    spdlog::info("{} time zones have other rules than when their schedules were looked at.", changed.size());
    table_.check_zones(changed);
  }

  ScheduleTable table_;
  ZoneFiles zones_;
  Client client_;
  Scheduler scheduler_;
  TimeUs checked_us_ = -check_every_us;
};

}  // namespace

DueTask due_schedules(Opened& opened) {
  return {"No schedule is fired by this process",
          [schedules = std::make_shared<DueSchedules>(opened)] { return schedules->work(); }};
}

}  // namespace cairn
