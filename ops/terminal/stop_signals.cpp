#include "ops/terminal/stop_signals.hpp"

#include <atomic>
#include <csignal>

#include "engine/result.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

std::atomic<bool> signal_arrived{false};
std::atomic<Worker*> watched{nullptr};
struct sigaction previous_interrupt;
struct sigaction previous_terminate;

void on_signal(int) {
  signal_arrived = true;
  if (Worker* worker = watched.load()) worker->stop();
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

bool StopSignals::arrived() const { return signal_arrived; }

void StopSignals::watch(Worker* worker) {
  watched = worker;
  if (worker != nullptr && signal_arrived) worker->stop();
}

}  // namespace cairn
