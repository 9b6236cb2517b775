#include "ops/bench/rig/worker_process.hpp"

#include <atomic>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace cairn {
namespace {

constexpr std::chrono::milliseconds report_pause{2};

}  // namespace

// Its lines are read by a thread until it closes its stdout.
struct WorkerProcesses::One {
  explicit One(const ChildCommand& command) : process(command) {
    if (!process.read_line()) throw std::runtime_error("Expected a worker process to begin, but it ended.");
    reader = std::thread([this] { read(); });
  }
  ~One() {
    process.terminate();
    reader.join();
  }
  One(const One&) = delete;
  One& operator=(const One&) = delete;

  void read() {
    while (const std::optional<std::string> line = process.read_line()) {
      const Json report = parse_stored(*line);
      steps = report.value("executed", steps.load());
      first_at_us = report.value("first_at_us", first_at_us.load());
      ended_at_us = report.value("ended_at_us", ended_at_us.load());
      ended = report.value("ended", ended.load());
    }
  }

  ChildProcess process;
  std::atomic<std::int64_t> steps{0};
  std::atomic<TimeUs> first_at_us{0};
  std::atomic<TimeUs> ended_at_us{0};
  std::atomic<std::int64_t> ended{0};
  std::thread reader;
};

WorkerProcesses::WorkerProcesses(const FreshDatabase& database, int count, const std::vector<std::string>& arguments) {
  ChildCommand command{{"bench-worker", "--json", "--dsn", database.dsn()}, database.settings(), true};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  for (int i = 0; i < count; ++i) workers_.push_back(std::make_unique<One>(command));
}

WorkerProcesses::~WorkerProcesses() = default;

Executed WorkerProcesses::executed() const {
  Executed all;
  for (const auto& worker : workers_) {
    all.steps += worker->steps;
    all.first_at_us = std::max<TimeUs>(all.first_at_us, worker->first_at_us);
    all.ended += worker->ended;
    all.ended_at_us = std::max<TimeUs>(all.ended_at_us, worker->ended_at_us);
  }
  return all;
}

TimeUs WorkerProcesses::wait_for_ended(std::int64_t runs) const {
  const auto limit = std::chrono::steady_clock::now() + stand_still_max;
  for (;; std::this_thread::sleep_for(report_pause)) {
    const Executed now = executed();
    if (now.ended >= runs) return now.ended_at_us;
    if (std::chrono::steady_clock::now() > limit)
      throw std::runtime_error("Expected the benchmark's run to end, but it stands still.");
  }
}

std::vector<pid_t> WorkerProcesses::pids() const {
  std::vector<pid_t> pids;
  for (const auto& worker : workers_) pids.push_back(worker->process.pid());
  return pids;
}

double WorkerProcesses::cpu_seconds() const {
  double seconds = 0;
  for (const auto& worker : workers_) seconds += process_cpu_seconds(worker->process.pid()).value_or(0);
  return seconds;
}

double WorkerProcesses::peak_memory_mb() const {
  double most = 0;
  for (const auto& worker : workers_) most = std::max(most, cairn::peak_memory_mb(worker->process.pid()));
  return most;
}

void WorkerProcesses::kill() {
  for (const auto& worker : workers_) ::kill(worker->process.pid(), SIGKILL);
}

void WorkerProcesses::stop() {
  for (const auto& worker : workers_) worker->process.terminate();
  for (const auto& worker : workers_)
    if (worker->process.wait() != 0) throw std::runtime_error("Expected a worker process to drain, but it broke.");
}

double peak_memory_mb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  const std::string field = "VmHWM:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field)) return static_cast<double>(std::stoll(line.substr(field.size()))) / 1024;
  return 0;
}

}  // namespace cairn
