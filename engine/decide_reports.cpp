#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/admission.hpp"
#include "engine/bounds.hpp"
#include "engine/closing_events.hpp"
#include "engine/decide.hpp"
#include "engine/deciding.hpp"
#include "engine/expectations.hpp"
#include "engine/outcome_check.hpp"

namespace cairn {
namespace {

// min(max, backoff * factor^(n-1)) * (1 - jitter * draw), in microseconds; see Retry.
TimeUs delay_us(const Retry& retry, std::int32_t errors, double draw) {
  if (retry.backoff_ms == 0) return 0;  // the power may be infinite
  const double ms = std::min(static_cast<double>(retry.max_ms),
                             static_cast<double>(retry.backoff_ms) * std::pow(retry.factor, errors - 1));
  return static_cast<TimeUs>(std::max(0.0, ms * (1 - retry.jitter * draw)) * 1000);
}

// The delay before a lost step is tried again: 100 ms, four times as long with each loss, at most a minute, less up to
// a half by chance, so that steps that were lost together do not come together again.
TimeUs delay_after_loss_us(std::int32_t losses, double draw) {
  constexpr double first_ms = 100, factor = 4, max_ms = 60'000;
  const double ms = std::min(max_ms, first_ms * std::pow(factor, losses));
  return static_cast<TimeUs>(ms * (1 - draw / 2) * 1000);
}

}  // namespace

// --- steps -----------------------------------------------------------------------------------------------------------

Status Deciding::operator()(const CompleteStep& complete) {
  if (Status open = expect_open(state_, complete.step, complete.attempt); !open) return open;
  const Step& step = state_.steps.at(complete.step);
  if (Status handled = expect_handled(state_, step); !handled) return handled;
  if (Status same = check_reuse(state_, step, complete); !same) return same;
  if (Status fits = check_outcome(state_, step, complete.outcome); !fits) {
    const Outcome& outcome = complete.outcome;
    fail_attempt(complete.step, {complete.step,
                                 complete.attempt,
                                 {"invalid", fits.error().message, true, outcome.facts, 0, outcome.digest},
                                 complete.worker,
                                 complete.started_at});
  } else if (step.goal >= 0) {
    close_goal(step, complete);
  } else {
    succeed(step, complete);
  }
  return Done{};
}

Json Deciding::data_after(const Step& step, const Json& patch) const {
  Json data = read_channels(state_, step.branch);
  apply_patch(data, patch, *state_.graph);
  return data;
}

// The facts come before the step's own event: the sub-goals must be in the plan when that event moves the branch on,
// for example into a map that takes them.
void Deciding::succeed(const Step& step, const CompleteStep& complete) {
  const Node& node = state_.node(step);
  const auto& facts = complete.outcome.facts;
  const bool plans = std::any_of(facts.begin(), facts.end(),
                                 [](const Fact& fact) { return std::holds_alternative<SubGoalOpened>(fact); });
  const Json data = plans ? data_after(step, complete.outcome.patch) : Json();
  for (EventBody& fact : admit(state_, step.branch, facts, data, context_.tools)) {
    if (auto* exhausted = std::get_if<BudgetExhausted>(&fact)) {
      const auto use = state_.budgets.find(exhausted->name);
      const bool is_counted = use != state_.budgets.end();
      if (is_counted && use->second.is_reported) continue;
      if (is_counted) *exhausted = {exhausted->name, use->second.cap, use->second.used};
    }
    emit(complete.step, std::move(fact));
  }
  StepSucceeded succeeded;
  succeeded.node = node.name;
  succeeded.label = complete.outcome.label;
  succeeded.patch = canonical(complete.outcome.patch);
  if (step.item < 0) succeeded.next = state_.graph->next_names(step.node, complete.outcome.label);
  succeeded.attempt = complete.attempt;
  succeeded.worker = complete.worker;
  succeeded.started_at = complete.started_at;
  succeeded.cached_from = complete.cached_from;
  succeeded.handler_version = complete.outcome.handler_version;
  const bool is_whole =
      std::all_of(facts.begin(), facts.end(), [](const Fact& fact) { return std::holds_alternative<Record>(fact); });
  if (node.cache && is_whole && complete.cached_from == 0) succeeded.cache_key = complete.outcome.cache_key;
  emit(complete.step, std::move(succeeded));
}

void Deciding::close_goal(const Step& step, const CompleteStep& complete) {
  record_use(complete.step, complete.outcome.facts);
  const Attempt attempt{complete.attempt, complete.worker, complete.started_at};
  emit(complete.step, succeeded_goal(goal_of(state_, step), attempt, canonical(complete.outcome.patch)));
}

Status Deciding::operator()(const FailStep& fail) {
  if (Status open = expect_open(state_, fail.step, fail.attempt); !open) return open;
  const Step& step = state_.steps.at(fail.step);
  if (Status handled = expect_handled(state_, step); !handled) return handled;
  if (fail.failure.error == lost_error && runs_alone(step) && !fail.alone)
    return refusal(Code::conflict, "Expected step " + std::to_string(fail.step) + " of " + name_of(state_) +
                                       ", which runs alone, to have begun, but it had not.");
  if (fail.failure.error == lost_error && may_not_be_lost(state_, step) && !fail.begun)
    return refusal(Code::conflict, "Expected step " + std::to_string(fail.step) + " of " + name_of(state_) +
                                       ", which may not be lost, to have begun, but it had not.");
  fail_attempt(fail.step, fail);
  return Done{};
}

// A failed attempt leaves only the records of what it used, and no record that may not be one.
void Deciding::record_use(StepId step, const std::vector<Fact>& facts) {
  if (facts.size() > facts_max || !check_facts(facts)) return;
  for (const Fact& fact : facts)
    if (const auto* record = std::get_if<Record>(&fact)) emit(step, *record);
}

bool Deciding::may_retry(const Step& step, const FailStep& fail) const {
  const Retry& retry = state_.node(step).retry;
  if (fail.failure.error == lost_error) return fail.failure.retryable && may_lose_again(step, retry);
  return fail.failure.retryable && step.errors + 1 < retry.attempts;
}

// Routes a failed attempt: to another attempt, to the end of the run (`diverged`), to the sub-goal's failure, or to the
// node's edge for "error"; without an edge the step stays failed and follow ends the run.
void Deciding::fail_attempt(StepId id, const FailStep& fail) {
  record_use(id, fail.failure.facts);
  const Step& step = state_.steps.at(id);
  const Attempt attempt{step.attempt, fail.worker, fail.started_at};
  StepFailed failed = failed_step(state_, step, attempt, fail.failure.error, fail.failure.message);
  failed.refused = fail.failure.refused;
  if (may_retry(step, fail)) {
    const TimeUs now = std::max(context_.now_us, state_.last_at);
    const TimeUs asked = std::clamp<std::int64_t>(fail.failure.pause_ms, 0, pause_ms_max) * 1'000;
    const TimeUs delay = failed.error == lost_error ? delay_after_loss_us(step.losses, context_.draw)
                                                    : delay_us(state_.node(step).retry, step.errors + 1, context_.draw);
    failed.retry_at = now + std::max(asked, delay);
    return emit(id, std::move(failed));
  }
  if (failed.error == diverged_error) return emit(id, std::move(failed));  // no edge leads on from there
  if (step.goal >= 0) {
    SubGoalClosed closed =
        failed_goal(goal_of(state_, step), attempt, std::move(failed.error), std::move(failed.message));
    closed.refused = std::move(failed.refused);
    return emit(id, std::move(closed));
  }
  route_error(failed, state_, step);
  emit(id, std::move(failed));
}

// --- times -----------------------------------------------------------------------------------------------------------

// The time of the whole run.
Status Deciding::run_is_due() {
  if (Status open = expect_open(state_); !open) return open;
  const std::optional<TimeUs> at = due_of_run(state_);
  if (!at) return refusal(Code::invalid, "Expected " + name_of(state_) + " to have a limit of time, but it has none.");
  if (context_.now_us < *at)
    return refusal(Code::invalid, "Expected " + name_of(state_) + " to be due, but that is at " + time_text(*at) + ".");
  emit(0, TimerFired{});
  return Done{};
}

Status Deciding::operator()(const Due& due) {
  if (state_.status == RunStatus::paused)
    return refusal(Code::conflict, "Expected " + name_of(state_) + " to be running, but it is paused.");
  if (due.step == 0) return run_is_due();
  if (Status open = expect_open(state_, due.step, 0); !open) return open;
  const Step& step = state_.steps.at(due.step);
  if (!step.due)
    return refusal(Code::invalid, "Expected step " + std::to_string(step.id) + " to wait for a time, but it does not.");
  if (context_.now_us < *step.due)
    return refusal(Code::invalid, "Expected step " + std::to_string(step.id) + " to be due, but that is at " +
                                      time_text(*step.due) + ".");
  if (state_.node(step).verb() != Verb::ask) {
    emit(step.id, TimerFired{});
    return Done{};
  }
  const auto open = state_.questions.find(step.question);
  if (open == state_.questions.end())
    return refusal(Code::closed, "Expected step " + std::to_string(step.id) + " to ask, but its question is closed.");
  const Question question = open->second;
  if (question.fallback)
    emit(step.id, QuestionAnswered{question.id, *question.fallback, "default"});
  else
    emit(step.id, QuestionExpired{question.id});
  return Done{};
}

}  // namespace cairn
