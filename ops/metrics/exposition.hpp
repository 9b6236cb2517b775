// The counters of a process in Prometheus' text format, written by prometheus-cpp. Safe from any thread.
#pragma once

#include <functional>
#include <string>

#include "ops/metrics/work_counts.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

// A metric without a sample has its description all the same, so that the names do not depend on what has happened.
std::string work_metrics_text(const WorkCounts& counts);

// The part of a worker: what it holds and what it has cached.
std::string worker_metrics_text(const WorkerReport& report, int concurrency);

// Memory, processor time, open files and start of this process, under the names that all exporters use.
std::string process_metrics_text();

}  // namespace cairn
