#include "ops/answers/explain_facts.hpp"

#include <algorithm>

#include "ops/answers/words.hpp"
#include "storage/limit_book.hpp"
#include "storage/postgres/administration.hpp"

namespace cairn {
namespace {

constexpr int reads_max = 5;  // a run that moves between this many reads is moving
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

std::map<BranchId, std::int64_t> jobs_before(Store& store, const std::string& dsn, const RunId& run,
                                             const Situation& situation) {
  std::map<BranchId, std::int64_t> before;
  std::vector<HeldJob> waiting = waiting_jobs(situation);
  std::erase_if(waiting, [&situation](const HeldJob& held) {
    return std::any_of(situation.queues.begin(), situation.queues.end(),
                       [&held](const QueueLimits& set) { return set.name == held.job.queue && !begins_in_order(set); });
  });
  if (waiting.empty() || dsn.empty()) return before;
  if (waiting.size() > counted_max) waiting.resize(counted_max);
  Administration database(dsn, "cairn explain", opening_limit_ms);
  for (const HeldJob& held : waiting) {
    const Job& job = held.job;
    const std::vector<std::string> parameters = {std::to_string(shard_of(run, store.shards())),
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

// Counting reads every job, so it is done only when a limit stands before one of the run's.
std::map<std::string, QueueUse> uses_of_queues(Store& store, const Situation& situation) {
  std::map<std::string, QueueUse> uses;
  const std::vector<HeldJob> waiting = waiting_jobs(situation);
  std::vector<std::string> measured;
  bool is_counted = false;
  for (const QueueLimits& set : situation.queues) {
    const auto is_in = [&set](const HeldJob& job) { return job.job.queue == set.name; };
    if (std::none_of(waiting.begin(), waiting.end(), is_in)) continue;
    is_counted = is_counted || set.concurrency || !set.budgets.empty();
    if (set.rate || !set.budgets.empty()) measured.push_back(set.name);
  }
  if (!measured.empty()) uses = store.limits().queue_uses(measured);
  if (is_counted)
    for (const QueueRow& row : store.jobs().queues()) uses[row.name].held = row.held;
  return uses;
}

void read_keys(Store& store, const RunId& run, Situation& situation) {
  const auto has_keys = [](const QueueLimits& set) { return set.has_keys(); };
  if (std::none_of(situation.queues.begin(), situation.queues.end(), has_keys)) return;
  situation.keys = store.limits().keys_of_run(run);
  for (const HeldJob& job : waiting_jobs(situation)) {
    const auto key = situation.keys.find(job.job.branch);
    if (key == situation.keys.end()) continue;
    for (auto& [of, use] : store.limits().key_uses(job.job.queue, {key->second}))
      situation.key_uses[{job.job.queue, of}] = use;
  }
}

}  // namespace

Result<Explained> read_explained(Client& client, Store& store, const std::string& dsn, const RunId& run) {
  for (int read = 1;; ++read) {
    Result<RunState> state = client.state(run);
    if (!state) return state.error();
    Situation situation;
    situation.jobs = store.jobs().of(run);
    const std::optional<RunRow> row = store.run(run);
    if (row && row->head != state->seq && read < reads_max) continue;
    situation.sessions = store.sessions().all();
    for (ProgressRow& one : store.progress().of(run))
      situation.progress.insert_or_assign(one.place.step, std::move(one));
    situation.queues = store.limits().queue_limits();
    situation.now_us = store.database_time();
    situation.uses = uses_of_queues(store, situation);
    read_keys(store, run, situation);
    situation.called = runs_called(store, *state);
    situation.before = jobs_before(store, dsn, run, situation);
    for (auto& [id, question] : state->questions)
      question.prompt = client.expand_blobs(std::move(question.prompt), shard_of(run, store.shards()));
    return Explained{*std::move(state), std::move(situation)};
  }
}

Json explained_json(const Explained& seen) {
  Json reasons = Json::array();
  for (const Reason& reason : explain(seen.state, seen.situation)) reasons.push_back(reason_json(reason));
  return {{"run", to_string(seen.state.id)}, {"status", status_word(seen.state)}, {"reasons", std::move(reasons)}};
}

}  // namespace cairn
