// The cost of the planners' own handlers per step, on a store in memory, without the model and the tools they call.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/handler_clock.hpp"
#include "ops/bench/rig/meter.hpp"
#include "storage/memory/memory_store.hpp"
#include "workers/client.hpp"
#include "workers/ids.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
constexpr int runs_default = 50;
constexpr std::chrono::seconds patience{60};

// The change history of a made-up repository, for as long as it lives.
class MadeHistory {
 public:
  MadeHistory() : path_(fs::temp_directory_path() / ("cairn-bench-" + to_string(new_run_id()) + ".tsv")) {
    std::ofstream file(path_);
    file << "commit\tauthor\tdate\tadded\tdeleted\tpath\n";
    for (int n = 0; n < 200; ++n)
      file << "c" << n << "\tdev-" << n % 7 << "\t2026-01-" << 10 + n % 18 << "T12:00:00+00:00\t" << n % 40 << "\t1\t"
           << (n % 2 == 0 ? "engine/decide.cpp" : "storage/commit.cpp") << "\n";
  }
  ~MadeHistory() {
    std::error_code gone;
    fs::remove(path_, gone);
  }
  MadeHistory(const MadeHistory&) = delete;
  MadeHistory& operator=(const MadeHistory&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

// A planner's input, and its model's replies in each run; none: the rule book answers.
struct PlannerLoad {
  std::string graph;
  Json input;
  Json replies = nullptr;
};

Json call_of(const std::string& id) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", "echo"}, {"arguments", R"({"content": "found"})"}}}};
}

std::vector<PlannerLoad> planner_loads(const MadeHistory& history) {
  Json goals = Json::array();
  for (int n = 0; n < 50; ++n) {
    goals.push_back({{"id", "g" + std::to_string(n)}, {"tool", "echo"}, {"inputs", {{"n", n}}}});
    if (n > 0) goals.back()["after"] = Json::array({"g" + std::to_string(n / 2)});
  }
  const Json message = {{{"role", "system"}, {"content", "You look things up."}},
                        {{"role", "user"}, {"content", "Where is it?"}}};
  const Json calls = {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call_of("1"), call_of("2")}}};
  const Json says = {{"role", "assistant"}, {"content", "It is there."}};
  return {{"seven_node", {{"repository", history.path()}, {"question", "Who owns engine AND storage?"}}},
          {"plan_runner", {{"goal", "Find the way back."}, {"sub_goals", goals}}},
          {"tool_agent", {{"messages", message}}, {{{"reply", calls}}, {{"reply", says}}}}};
}

std::unique_ptr<Catalogue> catalogue_for(const PlannerLoad& load, int runs) {
  CatalogueOptions options;
  Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue(options);
  if (!catalogue) throw std::runtime_error(catalogue.error().message);
  if (load.replies.is_null()) return *std::move(catalogue);
  Json replies = Json::array();
  for (int n = 0; n < runs; ++n) replies.insert(replies.end(), load.replies.begin(), load.replies.end());
  (*catalogue)->model = make_scripted_model({{"replies", std::move(replies)}});
  return *std::move(catalogue);
}

// Until it has ended, or only a person can move it on.
void execute(Store& store, Catalogue& catalogue, Client& client, const PlannerLoad& load) {
  StartRun start;
  start.graph = load.graph;
  start.input = load.input;
  const Result<Started> started = client.start(std::move(start), "");
  if (!started) throw std::runtime_error(started.error().message);
  const auto limit = std::chrono::steady_clock::now() + patience;
  const auto rests = [&] {
    const std::optional<RunRow> row = store.run(started->run);
    return row->status == RunStatus::done || row->waiting;
  };
  WorkerOptions options;
  options.concurrency = 1;
  options.until = [&] { return std::chrono::steady_clock::now() > limit || rests(); };
  Worker(store, catalogue, options).run();
  if (!rests()) throw std::runtime_error("Expected a run of " + load.graph + " to come to its end, but it did not.");
}

Json part_of(const HandlerClock& clock) {
  Json handlers = Json::object();
  HandlerClock::Use all;
  for (const auto& [name, use] : clock.uses()) {
    all.steps += use.steps;
    all.seconds += use.seconds;
    handlers[name] = rounded(use.seconds * 1e6 / static_cast<double>(use.steps), 10);
  }
  return {{"cpu_us_per_step", rounded(all.seconds * 1e6 / static_cast<double>(all.steps), 10)},
          {"steps", all.steps},
          {"cpu_us_by_handler", std::move(handlers)}};
}

Json measure_planner(const PlannerLoad& load, int runs) {
  HandlerClock clock;
  const std::unique_ptr<Store> store = make_memory_store(1);
  const std::unique_ptr<Catalogue> catalogue = catalogue_for(load, runs + 1);
  watch(*catalogue, clock);
  Client client(*store, *catalogue, "bench");
  client.load_graphs();
  for (int n = 0; n <= runs; ++n) {
    execute(*store, *catalogue, client, load);
    if (n == 0) clock.forget();  // what is done once a process
  }
  return part_of(clock);
}

}  // namespace

Result<Json> measure_planners(const std::string&, BenchServer&, const BenchOptions& options) {
  const MadeHistory history;
  Json by_planner = Json::object();
  double dearest = 0;
  for (const PlannerLoad& load : planner_loads(history)) {
    Json part = measure_planner(load, options.runs > 0 ? options.runs : runs_default);
    dearest = std::max(dearest, part["cpu_us_per_step"].get<double>());
    by_planner[load.graph] = std::move(part);
  }
  return Json{{"value", dearest}, {"unit", "us of processor time a step"}, {"by_planner", std::move(by_planner)}};
}

}  // namespace cairn
