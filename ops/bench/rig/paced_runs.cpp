#include "ops/bench/rig/paced_runs.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "ops/bench/rig/rig.hpp"

namespace cairn {
namespace {

constexpr std::size_t starts_at_once = 500;
constexpr std::chrono::microseconds paced_poll{200};

}  // namespace

std::vector<PacedRun> start_paced(Opened& opened, const std::string& graph, const std::vector<TimeUs>& times,
                                  const std::function<Json(std::size_t)>& input) {
  const TimeUs begin = opened.store->database_time() + 10'000;
  std::vector<PacedRun> runs;
  while (runs.size() < times.size()) {
    const TimeUs now = opened.store->database_time();
    std::vector<Json> inputs;
    const auto is_due = [&](std::size_t at) { return at < times.size() && begin + times[at] <= now; };
    for (std::size_t at = runs.size(); is_due(at) && inputs.size() < starts_at_once; ++at) inputs.push_back(input(at));
    if (inputs.empty()) {
      std::this_thread::sleep_for(paced_poll);
      continue;
    }
    for (const RunId& run : start_runs(*opened.client, graph, inputs))
      runs.push_back({run, begin + times[runs.size()]});
  }
  return runs;
}

void wait_for_ends(Store& store, const std::vector<PacedRun>& runs) {
  std::vector<RunId> open;
  for (const PacedRun& run : runs) open.push_back(run.run);
  wait_until("all these runs to have ended", [&] {
    const std::vector<std::optional<RunHead>> heads = store.all_runs().heads(open);
    std::vector<RunId> still;
    for (std::size_t n = 0; n < open.size(); ++n)
      if (!heads[n] || !is_ended(heads[n]->status)) still.push_back(open[n]);
    open = std::move(still);
    return open.empty();
  });
}

double wait_ms(Client& client, const PacedRun& run) {
  const Result<std::vector<Event>> events = client.events(run.run, 1, 1);
  const auto* const step = events && !events->empty() ? std::get_if<StepSucceeded>(&events->front().body) : nullptr;
  if (step == nullptr) throw std::runtime_error("Expected the benchmark's run to begin with a step, but it does not.");
  return static_cast<double>(step->started_at - run.due) / 1'000;
}

}  // namespace cairn
