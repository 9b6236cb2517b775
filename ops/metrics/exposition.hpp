// Metrics in Prometheus' text format, written by prometheus-cpp: gauges, and the counters of a process. Pure functions,
// safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/metrics/request_counts.hpp"
#include "ops/metrics/work_counts.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

// A value for each list of labels.
struct Gauge {
  using Labels = std::vector<std::pair<std::string, std::string>>;  // name and value
  std::string name;
  std::string help;
  std::map<Labels, double> samples;
};
Gauge plain_gauge(std::string name, std::string help, double value);  // without labels

// A metric without a sample has its description all the same, so that the names do not depend on what has happened.
std::string gauges_text(const std::vector<Gauge>& gauges);
std::string work_metrics_text(const WorkCounts& counts);
std::string request_metrics_text(const RequestCounts& counts);

// Also under the name that it was first shipped with, as a gauge.
std::string access_metrics_text(std::int64_t wrong_tokens);

// Reports of workers over HTTP that came too late, under the name by which a worker counts its own.
std::string refused_reports_text(std::int64_t refused);

// The part of a worker: what it holds and what it has cached.
std::string worker_metrics_text(const WorkerReport& report, int concurrency);

// Memory, processor time, open files and start of this process, under the names that all exporters use.
std::string process_metrics_text();

}  // namespace cairn
