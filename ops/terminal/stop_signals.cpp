#include "ops/terminal/stop_signals.hpp"

#include <atomic>
#include <csignal>

#include "engine/result.hpp"
#include "storage/clock.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

// Ctrl-C reaches a child twice: from the terminal and by its parent.
constexpr std::int64_t second_after_us = 1'000'000;

std::atomic<std::int64_t> first_us{0};  // steady; 0: none has arrived
std::atomic<bool> is_again{false};
std::atomic<Worker*> watched{nullptr};
struct sigaction previous_interrupt;
struct sigaction previous_terminate;

void on_signal(int) {
  std::int64_t first = 0;
  if (!first_us.compare_exchange_strong(first, steady_us()) && steady_us() - first > second_after_us) is_again = true;
  if (Worker* worker = watched.load()) is_again ? worker->hurry() : worker->stop();
}

}  // namespace

StopSignals::StopSignals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  CHECK(sigaction(SIGINT, &action, &previous_interrupt) == 0);
  CHECK(sigaction(SIGTERM, &action, &previous_terminate) == 0);
}

StopSignals::~StopSignals() {
  watched = nullptr;
  sigaction(SIGINT, &previous_interrupt, nullptr);
  sigaction(SIGTERM, &previous_terminate, nullptr);
}

bool StopSignals::arrived() const { return first_us != 0; }
bool StopSignals::arrived_again() const { return is_again; }

void StopSignals::watch(Worker* worker) {
  watched = worker;
  if (worker != nullptr && arrived()) worker->stop();
  if (worker != nullptr && arrived_again()) worker->hurry();
}

}  // namespace cairn
