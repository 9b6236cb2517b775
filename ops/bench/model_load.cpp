// Very many steps that wait for a model in one worker process, compared with what the waiting alone allows.
#include <cmath>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/handlers.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"

namespace cairn {
namespace {

constexpr int in_flight_default = 5'000;
constexpr int latency_ms = 2'000;
constexpr int calls = 20;  // of each run, one after another; the second in which all begin counts too
constexpr int calls_small = 2;
constexpr int start_at_once = 500;

Json chat_graph(int count) {
  Json nodes = {{"done", {{"end", "done"}}}};
  for (int i = 1; i <= count; ++i)
    nodes["s" + std::to_string(i)] = {{"do", "model.chat"},
                                      {"with", {{"prompt", "Say something."}}},
                                      {"on", {{"ok", i == count ? "done" : "s" + std::to_string(i + 1)}}}};
  return {{"name", "bench_chat"}, {"start", "s1"}, {"limits", {{"steps", count}}}, {"nodes", std::move(nodes)}};
}

class ModelProcess {
 public:
  ModelProcess()
      : process_(ChildCommand{{"bench-model", "--json", "--latency", std::to_string(latency_ms)}, {}, true}) {
    const std::optional<std::string> line = process_.read_line();
    if (!line) throw std::runtime_error("Expected the slow model to begin, but it ended.");
    url_ = parse_stored(*line)["url"].get<std::string>() + "/v1";
  }
  ~ModelProcess() { process_.terminate(); }
  const std::string& url() const { return url_; }
  double cpu_seconds() const { return process_cpu_seconds(process_.pid()).value_or(0); }

 private:
  ChildProcess process_;
  std::string url_;
};

// A connection each, in the worker and in the model's process; children inherit what is allowed here.
void allow_connections(int count) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const rlim_t wanted = static_cast<rlim_t>(count) + 200;
  if (files.rlim_cur >= wanted) return;
  files.rlim_cur = std::min(wanted, files.rlim_max);
  setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < wanted)
    throw std::runtime_error("Expected to open " + std::to_string(wanted) + " files, but the limit is " +
                             std::to_string(files.rlim_max) + " (ulimit -n).");
}

void start_all(Client& client, std::int64_t runs) {
  for (std::int64_t started = 0; started < runs; started += start_at_once)
    start_runs(client, "bench_chat", std::min<std::int64_t>(start_at_once, runs - started), Json::object());
}

}  // namespace

Result<Json> measure_model_load(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const int in_flight = options.runs > 0 ? options.runs : in_flight_default;
  const int steps_of_run = options.runs > 0 ? calls_small : calls;
  allow_connections(in_flight);
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  if (const Result<GraphRef> added = opened->client->add_graph(chat_graph(steps_of_run)); !added) return added.error();
  start_all(*opened->client, in_flight);
  const ModelProcess model;
  server.checkpoint();
  WorkerProcesses workers(database, 1, {"--concurrency", std::to_string(in_flight), "--model-url", model.url()});
  const Meter before = read_meter(server, database.name(), &workers);
  wait_for_all(database, in_flight);
  Spent spent = between(before, read_meter(server, database.name(), &workers), std::int64_t{in_flight} * steps_of_run);
  spent.worker_memory_mb = workers.peak_memory_mb();
  workers.stop();
  const double ideal = 1'000.0 * in_flight / latency_ms;
  Json line = per_step(spent);
  line["value"] = rounded(spent.rate(), 10);
  line["unit"] = "steps/s";
  line["limit"] = ideal;
  line["limit_is"] = "steps in flight / latency of the model";
  line["ratio"] = rounded(spent.rate() / ideal, 1'000);
  line["in_flight"] = in_flight;
  line["latency_ms"] = latency_ms;
  line["seconds"] = rounded(spent.seconds, 1'000);
  line["worker_memory_mb"] = rounded(spent.worker_memory_mb, 10);
  line["model_cpu_us_per_step"] = rounded(spent.each(model.cpu_seconds()) * 1e6, 10);
  return line;
}

}  // namespace cairn
