// Real workflows as plans of tools that take no time: how long each takes compared with the commits of its critical
// path.
#include <algorithm>
#include <functional>
#include <map>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/limit.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "storage/migration/migrator.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

constexpr int instance_runs = 20;
constexpr int limit_runs = 100;
constexpr std::int64_t own_commits = 3;  // of the run: its start, its plan, its report

struct Instance {
  std::string name;
  Json plan;  // as the graph plan_runner takes it
  std::int64_t tasks = 0;
  std::int64_t depth = 0;  // tasks of the longest chain
};

// `parents`: of each task. REQUIRES: no cycle.
std::int64_t longest_chain(const std::map<std::string, std::vector<std::string>>& parents) {
  std::map<std::string, std::int64_t> depths;
  const std::function<std::int64_t(const std::string&)> depth_of = [&](const std::string& task) {
    if (const auto known = depths.find(task); known != depths.end()) return known->second;
    depths[task] = 0;
    std::int64_t deepest = 0;
    for (const std::string& parent : parents.at(task)) deepest = std::max(deepest, depth_of(parent));
    return depths[task] = deepest + 1;
  };
  std::int64_t longest = 0;
  for (const auto& [task, its] : parents) longest = std::max(longest, depth_of(task));
  return longest;
}

// WfFormat 1.5: workflow.specification.tasks[] with id and parents[].
Result<Instance> read_instance(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "the workflow instance");
  if (!text) return text.error();
  const Result<Json> document = parse_json(*text, "the workflow instance " + path);
  if (!document) return document.error();
  Instance instance{path.substr(path.rfind('/') + 1), {{"goal", path}, {"sub_goals", Json::array()}}, 0, 0};
  std::map<std::string, std::vector<std::string>> parents;
  try {
    for (const Json& task : document->at("workflow").at("specification").at("tasks")) {
      const std::string id = task.at("id");
      parents[id] = task.at("parents").get<std::vector<std::string>>();
      instance.plan["sub_goals"].push_back({{"id", id}, {"tool", "echo"}, {"after", parents[id]}});
    }
    instance.tasks = static_cast<std::int64_t>(parents.size());
    instance.depth = longest_chain(parents);
  } catch (const std::exception& bad) {
    return Error{Code::invalid, "Expected a workflow instance at " + path + ", but: " + bad.what()};
  }
  return instance;
}

std::vector<double> times_of(Opened& opened, const WorkerProcesses& workers, const Instance& instance, int runs) {
  std::vector<double> times;
  for (int n = -1; n < runs; ++n) {
    std::this_thread::sleep_for(idle_pause);
    const double time = time_of_one(*opened.client, workers, "plan_runner", instance.plan);
    if (n >= 0) times.push_back(time);
  }
  return times;
}

// One commit after another on an idle database, without an engine.
Result<double> commit_ms(const std::string& dsn, Opened& opened, const WorkerProcesses& workers) {
  time_of_one(*opened.client, workers, "bench_steps", Json::object());
  RunFilter linear;
  linear.graph = "bench_steps";
  const CannedRun sample = canned_run(*opened.store, opened.store->runs(linear).front());
  const FreshDatabase database(dsn);
  if (const Result<MigrateReport> report = migrate(database.dsn(), 1); !report) return report.error();
  const double run_ms = quantile(measure_limit_alone(database.dsn(), sample, limit_runs), 0.5);
  return run_ms / static_cast<double>(sample.commits.size() + 1);  // and its claim
}

}  // namespace

Result<Json> measure_instances(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  if (options.instances.empty())
    return Json{{"left_out", "Expected files of workflow instances, but there is no --instances."}};
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  WorkerProcesses workers(database, options.workers > 0 ? options.workers : 1);
  server.checkpoint();
  const Result<double> commit = commit_ms(dsn, *opened, workers);
  if (!commit) return commit.error();
  Json by_instance = Json::object();
  std::vector<double> ratios;
  for (const std::string& path : options.instances) {
    const Result<Instance> instance = read_instance(path);
    if (!instance) return instance.error();
    Json part = quantiles(times_of(*opened, workers, *instance, options.runs > 0 ? options.runs : instance_runs));
    const double limit = *commit * static_cast<double>(instance->depth + own_commits);
    ratios.push_back(limit / part["p50_ms"].get<double>());
    part["tasks"] = instance->tasks;
    part["depth"] = instance->depth;
    part["limit_ms"] = rounded(limit, 1'000);
    part["ratio"] = rounded(ratios.back(), 1'000);
    by_instance[instance->name] = std::move(part);
  }
  workers.stop();
  return Json{{"value", rounded(*std::min_element(ratios.begin(), ratios.end()), 1'000)},
              {"unit", "of the makespan are the commits of the critical path, at worst"},
              {"commit_ms", rounded(*commit, 1'000)},
              {"by_instance", std::move(by_instance)}};
}

}  // namespace cairn
