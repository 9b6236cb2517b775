#include "ops/bench/rig/rig.hpp"

#include <iostream>
#include <stdexcept>
#include <thread>

#include "ops/bench/rig/handlers.hpp"
#include "storage/clock.hpp"
#include "storage/migration/migrator.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<Opened> open_bench(const FreshDatabase& database) {
  const std::string dsn = database.dsn();
  if (const Result<MigrateReport> report = migrate(dsn, 1); !report) return report.error();
  Result<std::unique_ptr<Catalogue>> catalogue = bench_catalogue();
  if (!catalogue) return catalogue.error();
  Result<CheckpointOptions> checkpoints = checkpoint_options({dsn, ""});
  if (!checkpoints) return checkpoints.error();
  checkpoints->folder = database.checkpoints();
  Opened opened;
  opened.dsn = dsn;
  opened.heads = std::make_unique<GatheredHeads>();
  Result<std::unique_ptr<Store>> store = open_store(dsn, store_connections, opened.heads->watch());
  if (!store) return store.error();
  opened.store = std::move(*store);
  opened.catalogue = std::move(*catalogue);
  opened.checkpointer = std::make_unique<Checkpointer>(*opened.store, *opened.heads, *checkpoints);
  opened.client = std::make_unique<Client>(*opened.store, *opened.catalogue, "bench");
  opened.client->load_graphs();
  for (const Json& graph : bench_graphs())
    if (const Result<GraphRef> added = opened.client->add_graph(graph); !added) return added.error();
  return opened;
}

std::vector<RunId> start_runs(Client& client, const std::string& graph, const std::vector<Json>& inputs) {
  std::vector<std::pair<StartRun, std::string>> commands(inputs.size());
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    commands[n].first.graph = graph;
    commands[n].first.input = inputs[n];
  }
  std::vector<RunId> runs;
  for (const Result<Started>& started : client.start_many(std::move(commands))) {
    if (!started) throw std::runtime_error(started.error().message);
    runs.push_back(started->run);
  }
  return runs;
}

std::vector<RunId> start_runs(Client& client, const std::string& graph, std::int64_t count, const Json& input) {
  return start_runs(client, graph, std::vector<Json>(static_cast<std::size_t>(count), input));
}

void wait_for_all(FreshDatabase& database, std::int64_t runs) {
  FreshDatabase::Runs before;
  for (Clock::time_point moved = Clock::now();; std::this_thread::sleep_for(poll_pause)) {
    const FreshDatabase::Runs now = database.runs();
    if (now.done == runs) return;
    if (now.events != before.events) moved = Clock::now();
    before = now;
    if (Clock::now() - moved > stand_still_max)
      throw std::runtime_error("Expected " + std::to_string(runs) + " runs to be done, but " +
                               std::to_string(now.done) + " are, and the others stand still.");
  }
}

void wait_until(const std::string& what, const std::function<bool()>& is_so) {
  const auto limit = Clock::now() + stand_still_max;
  while (!is_so()) {
    if (Clock::now() > limit) throw std::runtime_error("Expected " + what + " within a minute, but it is not so.");
    std::this_thread::sleep_for(poll_pause);
  }
}

double time_of_one(Client& client, const WorkerProcesses& workers, const std::string& graph, const Json& input) {
  const std::int64_t ended = workers.executed().ended;
  const TimeUs called_at = steady_us();
  start_runs(client, graph, 1, input);
  return static_cast<double>(workers.wait_for_ended(ended + 1) - called_at) / 1'000;
}

void hold_if(bool wanted) {
  if (!wanted) return;
  std::cerr << "All is prepared; a line on stdin begins the measurement." << std::endl;
  std::string line;
  std::getline(std::cin, line);
}

}  // namespace cairn
