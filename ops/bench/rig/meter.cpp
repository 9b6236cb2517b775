#include "ops/bench/rig/meter.hpp"

#include <algorithm>
#include <cmath>
#include <sys/resource.h>

namespace cairn {
namespace {

double own_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& at) {
    return static_cast<double>(at.tv_sec) + 1e-6 * static_cast<double>(at.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

Meter read_meter(BenchServer& server, const std::string& database, const WorkerProcesses* workers) {
  Meter meter{std::chrono::steady_clock::now(), own_cpu_seconds(), server.read(database)};
  if (workers != nullptr) meter.client_cpu += workers->cpu_seconds();
  return meter;
}

Spent between(const Meter& before, const Meter& after, std::int64_t steps) {
  Spent spent;
  spent.steps = steps;
  spent.seconds = std::chrono::duration<double>(after.at - before.at).count();
  spent.client_cpu = after.client_cpu - before.client_cpu;
  if (before.server.cpu_seconds && after.server.cpu_seconds)
    spent.server_cpu = *after.server.cpu_seconds - *before.server.cpu_seconds;
  spent.wal_bytes = static_cast<double>(after.server.wal_bytes - before.server.wal_bytes);
  return spent;
}

Spent both(const Spent& before, const Spent& after) {
  if (before.steps == 0) return after;
  Spent sum = before;
  sum.steps += after.steps;
  sum.seconds += after.seconds;
  sum.client_cpu += after.client_cpu;
  if (sum.server_cpu) *sum.server_cpu += after.server_cpu.value_or(0);
  sum.wal_bytes += after.wal_bytes;
  sum.commits += after.commits;
  sum.worker_memory_mb = std::max(before.worker_memory_mb, after.worker_memory_mb);
  return sum;
}

Json per_step(const Spent& spent) {
  Json line = {{"client_cpu_us_per_step", rounded(spent.each(spent.client_cpu) * 1e6, 10)},
               {"wal_bytes_per_step", std::round(spent.each(spent.wal_bytes))}};
  if (spent.server_cpu) line["server_cpu_us_per_step"] = rounded(spent.each(*spent.server_cpu) * 1e6, 10);
  if (spent.commits > 0) line["commits_per_step"] = rounded(spent.each(spent.commits), 10'000);
  return line;
}

double rounded(double value, double parts) { return std::round(value * parts) / parts; }

double quantile(std::vector<double> values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

double ms_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

Json quantiles(const std::vector<double>& times_ms) {
  return {{"p50_ms", rounded(quantile(times_ms, 0.5), 1'000)}, {"p99_ms", rounded(quantile(times_ms, 0.99), 1'000)}};
}

}  // namespace cairn
