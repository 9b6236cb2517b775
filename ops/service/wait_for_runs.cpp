#include "ops/service/wait_for_runs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "ops/service/due_starts.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds poll_first{2};
constexpr std::chrono::milliseconds poll_longest{100};

bool is_left_to_others(Client& client, const RunState& state, const Step& step) {
  if (step.goal >= 0) return false;
  const Node& node = state.node(step);
  if (call_of(state, step) != nullptr) return !step.child.is_nil() && only_questions_left(client, step.child);
  if (node.verb() == Verb::ask) return !step.question.empty();
  return node.verb() == Verb::wait && !step.due;
}

bool poll_until(const std::function<bool()>& settled, const StopSignals& signals) {
  for (auto pause = poll_first; !signals.arrived(); pause = std::min(poll_longest, pause * 3 / 2)) {
    if (settled()) return true;
    std::this_thread::sleep_for(pause);
  }
  return false;
}

// A worker on its own thread; stop() rethrows the exception that ended it early.
class OwnWorker {
 public:
  OwnWorker(Opened& opened, const std::vector<RunId>& runs, StopSignals& signals)
      : worker_(*opened.store, *opened.catalogue, only(runs)), signals_(signals) {
    signals_.watch(&worker_);
    thread_ = std::thread([this] {
      try {
        worker_.run();
      } catch (...) {
        fault_ = std::current_exception();
        has_failed_ = true;
      }
    });
  }
  ~OwnWorker() {
    worker_.stop();
    if (thread_.joinable()) thread_.join();
    signals_.watch(nullptr);
  }
  bool has_failed() const { return has_failed_; }
  void stop() {
    worker_.stop();
    thread_.join();
    if (fault_) std::rethrow_exception(fault_);
  }

 private:
  static WorkerOptions only(const std::vector<RunId>& runs) {
    WorkerOptions options;
    options.only_runs = runs;
    return options;
  }
  Worker worker_;
  StopSignals& signals_;
  std::thread thread_;
  std::exception_ptr fault_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace

bool only_questions_left(Client& client, const RunId& run) {
  const Result<RunState> state = client.state(run);
  if (!state || is_ended(state->status) || !is_waiting(*state)) return false;
  return std::all_of(state->steps.begin(), state->steps.end(),
                     [&](const auto& entry) { return is_left_to_others(client, *state, entry.second); });
}

bool is_settled(Client& client, const RunRow& row) {
  if (row.status != RunStatus::running) return true;
  return row.waiting && only_questions_left(client, row.id);
}

bool wait_until(Opened& opened, const std::vector<RunId>& runs, bool execute, const std::function<bool()>& settled) {
  StopSignals signals;
  if (!execute) return poll_until(settled, signals);
  const bool all_began =
      std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return opened.store->run(run); });
  const std::unique_ptr<DueThread> starts = all_began ? nullptr : DueThread::start(opened, {due_starts});
  OwnWorker worker(opened, runs, signals);
  const bool done = poll_until([&] { return worker.has_failed() || settled(); }, signals);
  worker.stop();
  return done;
}

}  // namespace cairn
