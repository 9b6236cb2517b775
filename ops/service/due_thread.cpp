#include "ops/service/due_thread.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <list>
#include <utility>

#include "ops/service/rare_warning.hpp"
#include "storage/clock.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr long failed_task_pause_ms = 2'000;
constexpr TimeUs millisecond_us = 1'000;

struct TimedTask {
  explicit TimedTask(DueTask made) : task(std::move(made)) {}

  void call_if_due() {
    if (steady_us() < due_us) return;
    due_us = steady_us() + call() * millisecond_us;
  }

  long call() {
    try {
      return task.work();
    } catch (const std::exception& failure) {
      warning.say(task.failed + ": " + failure.what());
      return failed_task_pause_ms;
    }
  }

  DueTask task;
  TimeUs due_us = 0;  // steady
  RareWarning warning;
};

}  // namespace

struct DueThread::Parts {
  explicit Parts(std::list<TimedTask> made) : tasks(std::move(made)), thread([this] { return work(); }) {}

  long work() {
    TimeUs next_us = std::numeric_limits<TimeUs>::max();
    for (TimedTask& task : tasks) {
      task.call_if_due();
      next_us = std::min(next_us, task.due_us);
    }
    const TimeUs pause_us = std::max<TimeUs>(0, next_us - steady_us());
    return static_cast<long>((pause_us + millisecond_us - 1) / millisecond_us);
  }

  std::list<TimedTask> tasks;
  PeriodicThread thread;
};

DueThread::DueThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DueThread::~DueThread() = default;

std::unique_ptr<DueThread> DueThread::start(Opened& opened, const std::vector<Maker>& makers) {
  if (opened.dsn.empty() || opened.is_replica || makers.empty()) return nullptr;
  std::list<TimedTask> tasks;
  for (const Maker make : makers) tasks.emplace_back(make(opened));
  return std::unique_ptr<DueThread>(new DueThread(std::make_unique<Parts>(std::move(tasks))));
}

}  // namespace cairn
