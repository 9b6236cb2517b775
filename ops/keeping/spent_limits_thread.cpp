#include "ops/keeping/spent_limits_thread.hpp"

#include <random>
#include <spdlog/spdlog.h>

#include "ops/service/rare_warning.hpp"
#include "workers/ids.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr long pause_between_looks_ms = 600'000;
constexpr long pause_between_pages_ms = 20;     // so that a look takes a small part of the time, however long it is
constexpr TimeUs spent_for_us = 3'600'000'000;  // a clock that was set back so far brings none to life again

}  // namespace

struct SpentLimitsThread::Parts {
  explicit Parts(Opened& opened) : store(*opened.store), thread([this] { return work(); }) {}

  long work() {
    try {
      if (store.limits().forget_spent(mark, store.database_time() - spent_for_us, spent_page))
        return pause_between_pages_ms;
    } catch (const std::exception& failure) {
      warning.say(std::string("Uses of limits that bind nothing any more stay for now: ") + failure.what());
    }
    mark = {};
    return std::uniform_int_distribution<long>(pause_between_looks_ms * 9 / 10,
                                               pause_between_looks_ms)(thread_random());
  }

  Store& store;
  SpentMark mark;
  RareWarning warning;
  PeriodicThread thread;
};

SpentLimitsThread::SpentLimitsThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SpentLimitsThread::~SpentLimitsThread() = default;

std::unique_ptr<SpentLimitsThread> SpentLimitsThread::start(Opened& opened) {
  if (opened.dsn.empty() || opened.is_replica) return nullptr;
  return std::unique_ptr<SpentLimitsThread>(new SpentLimitsThread(std::make_unique<Parts>(opened)));
}

}  // namespace cairn
