#include "workers/simulation/checker.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/decide.hpp"
#include "engine/evolve.hpp"
#include "engine/follow.hpp"
#include "engine/replay_check.hpp"
#include "engine/snapshot.hpp"
#include "engine/state_check.hpp"
#include "storage/chain.hpp"
#include "storage/limit_book.hpp"
#include "storage/limits/queue_room.hpp"
#include "workers/runs/history.hpp"

namespace cairn::simulation {
namespace {

constexpr std::int32_t all = std::numeric_limits<std::int32_t>::max();

std::string name_of(const RunId& run) { return "run " + to_string(run).substr(0, 8); }
std::string name_of(const RunId& run, StepId step) { return "step " + std::to_string(step) + " of " + name_of(run); }

bool holds(const HeldJob& job, const Fence& fence) {
  return job.session == fence.session && job.epoch == fence.epoch && job.job.step == fence.step;
}

std::string text_of(const HeldJob& held) {
  return "branch " + std::to_string(held.job.branch) + " step " + std::to_string(held.job.step) + " attempt " +
         std::to_string(held.job.attempt) + " in " + held.job.queue + " at " + time_text(held.job.run_at_us) +
         (held.session == 0 ? "" : " held by " + std::to_string(held.session));
}

std::string text_of(const QueueLimits& limits) { return "the queue " + limits.name; }
std::string text_of(const QueueLimits& limits, const std::string& key) {
  return "the key " + key + " of " + text_of(limits);
}

std::int64_t count_of(const std::map<std::string, std::int64_t>& counts, const std::string& key) {
  const auto found_count = counts.find(key);
  return found_count == counts.end() ? 0 : found_count->second;
}

// REQUIRES: the same budgets, with other caps.
void raise_caps(std::vector<UnitBudget>& highest, const std::vector<UnitBudget>& now) {
  CHECK(highest.size() == now.size());
  for (std::size_t n = 0; n < now.size(); ++n) highest[n].cap = std::max(highest[n].cap, now[n].cap);
}

}  // namespace

void found(std::string says) { throw Violation{std::move(says)}; }

Checker::Checker(Store& store, Graphs graphs) : store_(store), graphs_(std::move(graphs)) {}

const RunState* Checker::state(const RunId& run) const {
  const auto known = known_.find(run);
  return known == known_.end() ? nullptr : &known->second.state;
}

std::vector<RunId> Checker::runs() const { return order_; }

std::int32_t Checker::errors(const RunId& run, StepId step) const {
  const RunState* folded = state(run);
  const Step* open = folded == nullptr ? nullptr : find_step(*folded, step);
  return open == nullptr ? 0 : open->errors;
}

void Checker::executed(const RunId& run, StepId step, std::int32_t attempt) { executed_.insert({run, step, attempt}); }

bool Checker::has_ended(const RunId& run, StepId step, std::int32_t attempt) const {
  const auto known = known_.find(run);
  return known != known_.end() && known->second.ended.contains({step, attempt});
}

void Checker::before(std::span<const Entry> batch) {
  held_.clear();
  for (const Entry& entry : batch) {
    Held& held = held_[entry.run.id];
    const RunState* folded = state(entry.run.id);
    held.head = folded == nullptr ? 0 : folded->seq;
    if (!entry.fences.empty()) held.jobs = store_.jobs().of(entry.run.id);
    for (const JobWrite& write : entry.jobs)
      if (write.op == JobWrite::Op::insert_held && has_rate(write.job.queue))
        found("A branch in the queue " + write.job.queue + " is held from the first, although the queue has a rate.");
  }
}

std::vector<std::pair<RunId, Event>> Checker::after(std::span<const Entry> batch, std::span<const Verdict> verdicts) {
  if (verdicts.size() != batch.size()) found("A commit has not one verdict for each of its entries.");
  std::vector<std::pair<RunId, Event>> arrived;
  for (std::size_t at = 0; at < batch.size(); ++at) {
    const Entry& entry = batch[at];
    const std::size_t had = arrived.size();
    reporting_.clear();
    const auto [known, is_new] = known_.try_emplace(entry.run.id);
    if (is_new) known->second.state.id = entry.run.id;
    read_on(entry.run.id, known->second, arrived);
    const bool moved = arrived.size() > had;
    if (known->second.state.seq == 0) {
      known_.erase(known);
      continue;
    }
    if (is_new) order_.push_back(entry.run.id);
    const bool passed = verdicts[at].kind == Verdict::Kind::committed;
    if (moved && !passed) found("A refused commit wrote to " + name_of(entry.run.id) + ".");
    if (passed && !moved && !entry.in_doubt)
      found("A commit to " + name_of(entry.run.id) + " passed, but wrote nothing.");
    if (moved) check_fences(entry, held_[entry.run.id]);
    for (std::size_t n = had; n < arrived.size(); ++n) count_tokens(entry.run.id, arrived[n].second);
    check_queue(entry.run.id, known->second);
    check_questions(entry.run.id, known->second.state);
    check_row(entry.run.id, known->second);
  }
  for (const Entry& entry : batch)
    if (const RunState* folded = state(entry.run.id)) check_family(*folded);
  check_limits();
  return arrived;
}

// --- limits ---------------------------------------------------------------------------------------------------------

bool Checker::has_rate(const std::string& queue) const {
  const auto limits = limits_.find(queue);
  return limits != limits_.end() && (limits->second.rate || limits->second.key_rate);
}

std::string Checker::key_of(const QueueLimits& limits, const RunId& run) const {
  if (!limits.has_keys()) return "";
  const RunState& folded = known_.at(run).state;
  return limit_key(limits.key, folded.tags, parse_stored(folded.input));
}

void Checker::limit(const QueueLimits& limits) {
  const auto [known, is_first] = limits_.try_emplace(limits.name, limits);
  const QueueLimits before = std::exchange(known->second, limits);
  QueueLimits& highest = highest_.try_emplace(limits.name, limits).first->second;
  raise_caps(highest.budgets, limits.budgets);
  raise_caps(highest.key_budgets, limits.key_budgets);
  std::erase_if(passed_, [&](const auto& of) { return of.first.first == limits.name; });
  before_limit_[limits.name] = is_first ? HeldCounts{} : held_of(limits);
  if (before.rate != limits.rate) queue_starts_.erase(limits.name);
  if (before.key_rate != limits.key_rate || before.key != limits.key)
    std::erase_if(key_starts_, [&](const auto& of) { return of.first.starts_with(limits.name + " "); });
}

void Checker::check_limits() {
  for (const auto& [queue, limits] : limits_)
    if (limits.is_counted()) check_held(limits);
}

Checker::HeldCounts Checker::held_of(const QueueLimits& limits) const {
  HeldCounts held;
  for (const RunId& run : order_)
    for (const HeldJob& job : store_.jobs().of(run)) {
      if (job.session == 0 || job.job.queue != limits.name) continue;
      ++held.of_queue;
      ++held.of_keys[key_of(limits, run)];
    }
  return held;
}

void Checker::check_held(const QueueLimits& limits) {
  const HeldCounts held = held_of(limits);
  HeldCounts& before = before_limit_.at(limits.name);
  before.of_queue = std::min(before.of_queue, held.of_queue);
  for (auto& [key, count] : before.of_keys) count = std::min(count, count_of(held.of_keys, key));
  if (limits.concurrency) check_held(held.of_queue, before.of_queue, *limits.concurrency, text_of(limits));
  if (!limits.key_concurrency) return;
  for (const auto& [key, count] : held.of_keys) {
    check_held(count, count_of(before.of_keys, key), *limits.key_concurrency, text_of(limits, key));
    if (count == *limits.key_concurrency) ++full_keys_;
  }
}

void Checker::check_held(std::int64_t held, std::int64_t before, std::int64_t limit, const std::string& of) {
  if (held <= limit) return;
  ++held_before_checks_;
  if (held > before)
    found(std::to_string(held) + " jobs of " + of + " are held, but its limit is " + std::to_string(limit) +
          (before == 0 ? "." : ", and " + std::to_string(before) + " are left from before."));
}

// A claim from the queue, of jobs with these keys, has left what the limits say.
void Checker::check_reserved(const QueueLimits& limits, const std::set<std::string>& claimed_keys) const {
  const HeldCounts held = held_of(limits);
  check_reserved(limits.budgets, limits.reserves, held.of_queue, text_of(limits));
  for (const std::string& key : claimed_keys)
    check_reserved(limits.key_budgets, limits.reserves, count_of(held.of_keys, key), text_of(limits, key));
}

void Checker::check_reserved(const std::vector<UnitBudget>& budgets, const Reserves& reserves, std::int64_t held,
                             const std::string& of) const {
  for (const UnitBudget& budget : budgets) {
    const auto found_use = tokens_.find({of, window_start(budget.per, store_.database_time())});
    const std::int64_t used = found_use == tokens_.end() ? 0 : found_use->second;
    const std::int64_t reserved = held * reserves.at(budget.unit);
    if (used + reserved > budget.cap)
      found("A claim leaves " + std::to_string(used) + " tokens used and " + std::to_string(reserved) +
            " reserved by " + of + ", but its budget is " + std::to_string(budget.cap) + ".");
  }
}

// --- the log --------------------------------------------------------------------------------------------------------

void Checker::read_on(const RunId& run, Known& known, std::vector<std::pair<RunId, Event>>& arrived) {
  std::vector<BranchId> touched;
  for (const EventRow& row : store_.events(run, known.state.seq, all)) {
    if (row.seq != known.state.seq + 1)
      found("Event " + std::to_string(row.seq) + " of " + name_of(run) + " follows event " +
            std::to_string(known.state.seq) + ".");
    const TimeUs before = known.state.last_at;
    if (row.at_us < before) found("Event " + std::to_string(row.seq) + " of " + name_of(run) + " goes back in time.");
    Result<Event> event = event_of(row);
    if (!event) found("Event " + std::to_string(row.seq) + " of " + name_of(run) + ": " + event.error().message);
    touched.clear();
    check_event(run, known, *event);
    try {
      evolve(known.state, *event, graphs_, touched);
    } catch (const std::exception& bad) {
      found("Event " + std::to_string(row.seq) + " of " + name_of(run) + " cannot follow: " + bad.what());
    }
    const Hash previous = row.seq == 1 ? chain_start(run, known.state.graph->version) : known.chain;
    if (chain_next(previous, shard_of(run, store_.shards()), run, row) != row.chain_hash)
      found("Event " + std::to_string(row.seq) + " of " + name_of(run) + " breaks the chain.");
    known.chain = row.chain_hash;
    arrived.emplace_back(run, *std::move(event));
  }
  for (const auto& [id, branch] : known.state.branches)
    if (follow(known.state, id)) found("Branch " + std::to_string(id) + " of " + name_of(run) + " is not settled.");
  // A state that was folded is held to what one is held to that is read.
  if (const Status whole = check_references(known.state); !whole) found(name_of(run) + ": " + whole.error().message);
}

void Checker::check_event(const RunId& run, Known& known, const Event& event) {
  if (const auto* done = std::get_if<StepSucceeded>(&event.body)) {
    if (done->attempt > 0 && done->worker != 0)
      check_report(run, known, event, done->attempt, done->cached_from == 0 && done->node != "");
  } else if (const auto* failed = std::get_if<StepFailed>(&event.body)) {
    const bool is_by_engine = failed->worker == 0 && failed->error != lost_error;
    if (failed->attempt > 0 && !is_by_engine)
      check_report(run, known, event, failed->attempt, failed->error == "error");
  } else if (const auto* closed = std::get_if<SubGoalClosed>(&event.body)) {
    if (closed->attempt > 0 && closed->worker != 0)
      check_report(run, known, event, closed->attempt, closed->status == GoalStatus::succeeded);
  } else if (std::holds_alternative<RunReopened>(event.body)) {
    known.reported.clear();  // failed steps begin again with attempt 1
    known.ended.clear();
  }
}

void Checker::check_report(const RunId& run, Known& known, const Event& event, std::int32_t attempt, bool was_run) {
  const std::string of = "Attempt " + std::to_string(attempt) + " at " + name_of(run, event.step);
  if (const Step* step = find_step(known.state, event.step)) reporting_[step->branch] = event.step;
  if (!known.reported.insert({event.step, attempt}).second) found(of + " is reported twice.");
  if (was_run) known.ended.insert({event.step, attempt});
  if (was_run && !executed_.contains({run, event.step, attempt})) found(of + " is reported, but nobody executed it.");
}

void Checker::check_fences(const Entry& entry, const Held& held) const {
  if (entry.head_before != held.head)
    found("A commit at head " + std::to_string(entry.head_before) + " of " + name_of(entry.run.id) +
          " was taken at head " + std::to_string(held.head) + ".");
  for (const Fence& fence : entry.fences) {
    const bool is_held = std::any_of(held.jobs.begin(), held.jobs.end(), [&](const HeldJob& job) {
      return job.job.branch == fence.branch && holds(job, fence);
    });
    if (!is_held)
      found("Session " + std::to_string(fence.session) + " committed " + name_of(entry.run.id, fence.step) +
            " with epoch " + std::to_string(fence.epoch) + ", which it no longer held.");
  }
  for (const auto& [branch, step] : reporting_) {
    const auto speaks_for = [at = branch](const Fence& fence) { return fence.branch == at; };
    if (std::none_of(entry.fences.begin(), entry.fences.end(), speaks_for))
      found("An attempt at " + name_of(entry.run.id, step) + " is reported without a fence.");
  }
}

// --- what is derived from the log -----------------------------------------------------------------------------------

// A held row keeps its queue and times; a released one may come later than the state says, but never is forgotten.
void Checker::check_queue(const RunId& run, Known& known) {
  const std::vector<Job> wanted = jobs_of(known.state);
  const std::vector<HeldJob> rows = store_.jobs().of(run);
  for (std::size_t at = 0; at < std::max(wanted.size(), rows.size()); ++at) {
    if (at >= rows.size() || (at < wanted.size() && wanted[at].branch < rows[at].job.branch))
      found("The queue of " + name_of(run) + " lacks branch " + std::to_string(wanted[at].branch) + " with " +
            name_of(run, wanted[at].step) + ".");
    if (at >= wanted.size() || wanted[at].branch != rows[at].job.branch)
      found("The queue of " + name_of(run) + " has a row too many: " + text_of(rows[at]) + ".");
    const Job& job = rows[at].job;
    const bool is_free = rows[at].session == 0;
    const bool fits = job.step == wanted[at].step && job.attempt == wanted[at].attempt &&
                      job.timeout_ms == wanted[at].timeout_ms && job.queue == wanted[at].queue &&
                      (!is_free || (job.run_at_us >= wanted[at].run_at_us || wanted[at].run_at_us == never_us));
    const bool is_offered = wanted[at].run_at_us < never_us;
    if (!fits || (is_free && is_offered != (job.run_at_us < never_us)))
      found("The queue of " + name_of(run) + " has " + text_of(rows[at]) + ", but the state wants step " +
            std::to_string(wanted[at].step) + " attempt " + std::to_string(wanted[at].attempt) + " in " +
            wanted[at].queue + " at " + time_text(wanted[at].run_at_us) + ".");
    known.epochs[job.step] = std::max(known.epochs[job.step], rows[at].epoch);
  }
}

void Checker::claimed(std::span<const HeldJob> jobs) {
  std::map<std::string, std::set<std::string>> keys;  // by limited queue
  for (const HeldJob& job : jobs) {
    std::int64_t& newest = known_.at(job.run).epochs[job.job.step];
    if (job.epoch <= newest)
      found("Session " + std::to_string(job.session) + " claimed " + name_of(job.run, job.job.step) + " with epoch " +
            std::to_string(job.epoch) + ", but it had epoch " + std::to_string(newest) + " before.");
    newest = job.epoch;
    if (has_rate(job.job.queue)) ++claims_[{job.run, job.job.step}];
    const auto limits = limits_.find(job.job.queue);
    if (limits == limits_.end()) continue;
    const std::string key = key_of(limits->second, job.run);
    count_start(limits->second, key);
    keys[limits->first].insert(key);
  }
  for (const auto& [queue, claimed_keys] : keys) {
    const QueueLimits& limits = limits_.at(queue);
    if (limits.is_counted()) check_held(limits);
    check_reserved(limits, claimed_keys);
  }
}

// After the claim. A claim of certain runs passes the turns of all other keys on.
void Checker::turns(const ClaimRequest& request, std::span<const HeldJob> jobs) {
  for (const auto& [queue, limits] : limits_) {
    if (!limits.has_keys() || std::ranges::find(request.queues, queue) == request.queues.end()) continue;
    std::map<std::string, std::int64_t> begun;
    for (const HeldJob& job : jobs)
      if (job.job.queue == queue) ++begun[key_of(limits, job.run)];
    if (request.only_runs.empty() && request.not_of.empty())
      check_turns(limits, request, begun);
    else
      passed_.erase({queue, request.shard});
  }
}

// Those with jobs that the claim could have taken, and with room for them.
std::set<std::string> Checker::waiting_keys(const QueueLimits& limits, const ClaimRequest& request) const {
  std::set<std::string> keys;
  for (const RunId& run : order_)
    for (const HeldJob& job : store_.jobs().of(run))
      if (job.session == 0 && job.home == 0 && job.job.queue == limits.name && job.job.run_at_us <= request.now_us &&
          shard_of(run, store_.shards()) == request.shard)
        keys.insert(key_of(limits, run));
  const std::map<std::string, QueueUse> uses = store_.limits().key_uses(limits.name, {keys.begin(), keys.end()});
  const TimeUs now_us = store_.database_time();
  std::erase_if(keys, [&](const std::string& key) { return room_of(limits.of_key(), uses.at(key), now_us).free <= 0; });
  return keys;
}

void Checker::check_turns(const QueueLimits& limits, const ClaimRequest& request,
                          const std::map<std::string, std::int64_t>& begun) {
  const std::set<std::string> waiting = waiting_keys(limits, request);
  auto& passed = passed_[{limits.name, request.shard}];
  std::erase_if(passed, [&](const auto& of) { return !waiting.contains(of.first) || begun.contains(of.first); });
  for (const std::string& key : waiting) {
    if (begun.contains(key)) continue;
    for (const auto& [other, count] : begun) {
      const auto weight = limits.weights.find(other);
      const std::int64_t turn = weight == limits.weights.end() ? 1 : weight->second;
      passed_by_ += count;
      if ((passed[key][other] += count) > turn)
        found(std::to_string(passed[key][other]) + " jobs of " + text_of(limits, other) + " have begun while " + key +
              " waited, but a turn has " + std::to_string(turn) + ".");
    }
  }
}

void Checker::taken(const std::string& queue, const KeyCounts& starts) {
  const QueueLimits& limits = limits_.at(queue);
  for (const auto& [key, count] : starts) {
    taken_[queue] += count;
    for (std::int64_t n = 0; n < count; ++n) count_start(limits, key);
  }
}

void Checker::begun(const RunId& run, StepId step) {
  if (limits_.empty()) return;
  const std::vector<HeldJob> jobs = store_.jobs().of(run);
  const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const HeldJob& one) { return one.job.step == step; });
  if (job == jobs.end() || !has_rate(job->job.queue)) return;  // the hold of an earlier step, which is lost
  std::int64_t& claims = claims_[{run, step}];
  if (claims > 0) {
    --claims;
    return;
  }
  if (--taken_[job->job.queue] < 0)
    found("Step " + name_of(run, step) + " of the queue " + job->job.queue +
          " begins without a start, although the queue has a rate.");
  ++kept_with_start_;
}

// A job of the queue is started now.
void Checker::count_start(const QueueLimits& limits, const std::string& key) {
  if (limits.rate) count_start(queue_starts_[limits.name], *limits.rate, text_of(limits));
  if (limits.key_rate) count_start(key_starts_[limits.name + " " + key], *limits.key_rate, text_of(limits, key));
}

void Checker::count_start(std::deque<TimeUs>& starts, const StartRate& rate, const std::string& of) {
  const TimeUs now_us = store_.database_time();
  const auto most = static_cast<std::size_t>(rate.n + rate.burst);
  starts.push_back(now_us);
  while (starts.front() < now_us - rate.per_us) starts.pop_front();
  if (starts.size() > most)
    found(std::to_string(starts.size()) + " jobs of " + of + " are started in " + std::to_string(rate.per_us) +
          " us, but its rate allows " + std::to_string(most) + ".");
  if (starts.size() > static_cast<std::size_t>(rate.burst)) ++full_windows_;
}

// If the event is a model call of a step that is held in a queue with budgets.
void Checker::count_tokens(const RunId& run, const Event& event) {
  const auto* record = std::get_if<Record>(&event.body);
  if (record == nullptr || record->kind != RecordKind::model_called) return;
  const std::vector<HeldJob>& jobs = held_[run].jobs;
  const auto job =
      std::find_if(jobs.begin(), jobs.end(), [&](const HeldJob& one) { return one.job.step == event.step; });
  if (job == jobs.end()) return;
  const auto found = limits_.find(job->job.queue);
  if (found == limits_.end() || !found->second.has_budgets()) return;
  const QueueLimits& limits = found->second;
  const QueueLimits& highest = highest_.at(limits.name);
  const std::int64_t tokens = parse_stored(record->fields).at("tokens_in");
  count_tokens(highest.budgets, text_of(limits), tokens);
  count_tokens(highest.key_budgets, text_of(limits, key_of(limits, run)), tokens);
}

void Checker::count_tokens(const std::vector<UnitBudget>& budgets, const std::string& of, std::int64_t tokens) {
  for (const UnitBudget& budget : budgets) {
    std::int64_t& used = tokens_[{of, window_start(budget.per, store_.database_time())}];
    used += tokens;
    if (used > budget.cap)
      found("The steps of " + of + " used " + std::to_string(used) + " tokens in one window, but its budget is " +
            std::to_string(budget.cap) + ".");
    if (used == budget.cap) ++full_budgets_;
  }
}

void Checker::check_questions(const RunId& run, const RunState& folded) const {
  const std::vector<QuestionRow> rows = store_.all_runs().questions(run, all);
  const bool is_open = !is_ended(folded.status);
  if (rows.size() != (is_open ? folded.questions.size() : 0))
    found("The store has " + std::to_string(rows.size()) + " open questions of " + name_of(run) + ", the state " +
          std::to_string(folded.questions.size()) + ".");
  for (const QuestionRow& row : rows)
    if (!folded.questions.contains(row.id)) found("Question " + row.id + " of " + name_of(run) + " is not open.");
}

void Checker::check_row(const RunId& run, const Known& known) const {
  const std::optional<RunRow> row = store_.run(run);
  const RunState& folded = known.state;
  if (!row || row->head != folded.seq || row->chain_hash != known.chain || row->status != folded.status ||
      row->waiting != is_waiting(folded) || row->reason != folded.reason)
    found("The row of " + name_of(run) + " is not what its events say.");
}

// A called run that has ended is known to its caller, in the same commit.
void Checker::check_family(const RunState& folded) const {
  if (folded.parent && is_ended(folded.status)) {
    const RunState* caller = state(folded.parent->run);
    if (caller == nullptr) found("The caller of " + name_of(folded.id) + " is not in the log.");
    const Step* step = find_step(*caller, folded.parent->step);
    if (!is_ended(caller->status) && step != nullptr && step->child == folded.id)
      found(name_of(folded.id) + " has ended, but its caller waits for it.");
  }
  if (is_ended(folded.status)) return;
  for (const auto& [id, step] : folded.steps)
    if (!step.child.is_nil() && state(step.child) == nullptr)
      found(name_of(folded.id, id) + " waits for a run that never began.");
}

void Checker::at_the_end() {
  for (const RunId& run : order_) {
    Known& known = known_.at(run);
    check_queue(run, known);
    RunState again;
    again.id = run;
    const std::vector<EventRow> rows = store_.events(run, 0, all);
    if (const Status folded = fold_rows(again, rows, graphs_); !folded)
      found(name_of(run) + " cannot be folded: " + folded.error().message);
    if (state_fingerprint(again) != state_fingerprint(known.state))
      found("The replay of " + name_of(run) + " differs from its live state.");
    check_decisions(run, rows);
  }
}

// Deciding again from the recorded outcomes must give the recorded events.
void Checker::check_decisions(const RunId& run, const std::vector<EventRow>& rows) const {
  ReplayCheck check(run, graphs_);
  std::vector<Event> commit;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    commit.push_back(*event_of(rows[at]));
    if (at + 1 < rows.size() && rows[at + 1].commit == rows[at].commit) continue;
    if (!check.add(commit))
      found(name_of(run) + " is decided otherwise at event " + std::to_string(check.divergence()->seq) + ": " +
            check.divergence()->says + " Recorded: " + check.divergence()->recorded +
            " Again: " + check.divergence()->again);
    commit.clear();
  }
}

}  // namespace cairn::simulation
