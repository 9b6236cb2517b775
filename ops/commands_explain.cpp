#include <algorithm>

#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/explain.hpp"
#include "ops/print.hpp"
#include "storage/administration.hpp"

namespace cairn {
namespace {

constexpr int looks_max = 5;  // a run that moves so often while it is looked at does move
constexpr std::size_t counted_max = 50;
constexpr std::int32_t before_max = 10'000;

std::map<RunId, std::string> runs_called(Store& store, const RunState& state) {
  std::map<RunId, std::string> called;
  for (const auto& [id, step] : state.steps) {
    if (step.child.is_nil()) continue;
    if (const std::optional<RunRow> row = store.run(step.child)) called.emplace(step.child, status_word(*row));
  }
  return called;
}

std::map<BranchId, std::int64_t> jobs_before(const OpenedRun& found, const Situation& situation) {
  std::map<BranchId, std::int64_t> before;
  std::vector<HeldJob> waiting = waiting_jobs(situation);
  if (waiting.empty()) return before;
  if (waiting.size() > counted_max) waiting.resize(counted_max);
  Administration database(found.opened.dsn, "cairn explain");
  for (const HeldJob& held : waiting) {
    const Job& job = held.job;
    const std::vector<std::string> parameters = {std::to_string(found.shard),
                                                 job.queue,
                                                 std::to_string(job.priority),
                                                 std::to_string(job.run_at_us),
                                                 to_string(held.run),
                                                 std::to_string(job.branch),
                                                 std::to_string(situation.now_us),
                                                 std::to_string(before_max)};
    before[job.branch] = database.query("jobs_before", parameters).number(0, 0);
  }
  return before;
}

// Looks at every job, so it is asked only when a limit stands before one of the run's.
std::map<std::string, std::int64_t> held_by_queue(Store& store, const Situation& situation) {
  std::map<std::string, std::int64_t> held;
  const std::vector<HeldJob> waiting = waiting_jobs(situation);
  const auto is_limited = [&](const QueueSettings& set) {
    return set.concurrency &&
           std::any_of(waiting.begin(), waiting.end(), [&](const HeldJob& job) { return job.job.queue == set.name; });
  };
  if (std::none_of(situation.queues.begin(), situation.queues.end(), is_limited)) return held;
  for (const QueueRow& row : store.queues()) held[row.name] = row.held;
  return held;
}

struct Seen {
  RunState state;
  Situation situation;
};

// State and jobs of the same moment: read again while the run moves in between.
Result<Seen> look_at(OpenedRun& found) {
  Store& store = *found.opened.store;
  for (int look = 1;; ++look) {
    Result<RunState> state = found.opened.client->state(found.run);
    if (!state) return state.error();
    Situation situation;
    situation.jobs = store.jobs(found.run);
    const std::optional<RunRow> row = store.run(found.run);
    if (row && row->head != state->seq && look < looks_max) continue;
    situation.sessions = store.sessions();
    situation.queues = store.queue_settings();
    situation.now_us = store.database_time();
    situation.held = held_by_queue(store, situation);
    situation.called = runs_called(store, *state);
    situation.before = jobs_before(found, situation);
    return Seen{*std::move(state), std::move(situation)};
  }
}

std::string place_of(const Reason& reason) {
  if (reason.details.contains("sub_goal")) return "sub-goal " + reason.details["sub_goal"].get<std::string>();
  return reason.node.empty() ? "the run" : reason.node;
}

void print_reasons(const RunState& state, const std::vector<Reason>& reasons) {
  print_line(painted(to_string(state.id), Paint::bold) + "  " + state.graph->name + "  " +
             painted_status(status_word(state)));
  Table table({"STEP", "AT", "KIND", "WHY"});
  for (const Reason& reason : reasons)
    table.add({reason.step == 0 ? "" : std::to_string(reason.step), place_of(reason),
               std::string(to_string(reason.kind)), reason.says});
  table.print();
}

}  // namespace

Exit explain_run(const Settings& settings, const std::string& run) {
  Result<OpenedRun> found = find_run(settings, run);
  if (!found) return found.error();
  const Result<Seen> seen = look_at(*found);
  if (!seen) return seen.error();
  const std::vector<Reason> reasons = explain(seen->state, seen->situation);
  if (!settings.json) {
    print_reasons(seen->state, reasons);
    return 0;
  }
  Json shown = Json::array();
  for (const Reason& reason : reasons)
    shown.push_back(found->opened.client->expand_blobs(reason_json(reason), found->shard));
  print_json({{"run", run}, {"status", status_word(seen->state)}, {"reasons", std::move(shown)}});
  return 0;
}

}  // namespace cairn
