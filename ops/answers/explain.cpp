#include "ops/answers/explain.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/answers/queues.hpp"
#include "ops/answers/sessions.hpp"
#include "ops/answers/step_progress.hpp"
#include "ops/answers/words.hpp"
#include "workers/handlers/http_call.hpp"
#include "workers/ports/ports.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {
namespace {

using Kind = Reason::Kind;

constexpr std::size_t prompt_bytes_max = 200;

const Node& node_of(const RunState& state, const Step& step) { return state.node(step); }

Reason reason(Kind kind, std::string says, Json details = Json::object()) {
  return {kind, 0, "", std::move(says), std::move(details)};
}

// --- what needs no queue ---------------------------------------------------------------------------------------------

Reason question_reason(const RunState& state, const Step& step, const Situation& situation) {
  const Question& question = state.questions.find(step.question)->second;
  Json details = {{"question", question.id}, {"prompt", question.prompt}};
  std::string says = "Question " + question.id + " waits for an answer";
  if (question.expires_at) {
    details["expires_at"] = time_text(*question.expires_at);
    says += " until " + situation.time_said(*question.expires_at);
  }
  return reason(Kind::question, says + ": " + excerpt(question.prompt, prompt_bytes_max), std::move(details));
}

// "; what came instead and was not taken: payed": where a name was misspelt, it is seen here.
std::string other_signals(const RunState& state, const std::string& name) {
  std::string says;
  for (const auto& [other, queued] : state.signals)
    if (other != name && !queued.empty()) says += (says.empty() ? "" : ", ") + other;
  return says.empty() ? "" : "; what came instead and was not taken: " + says;
}

Reason signal_reason(const RunState& state, const Step& step, const Situation& situation, const std::string& name) {
  Json details = {{"signal", name}};
  std::string says = "It waits for the signal " + name;
  if (step.due) {
    details["due"] = time_text(*step.due);
    says += " until " + situation.time_said(*step.due);
  }
  return reason(Kind::signal, says + other_signals(state, name) + ".", std::move(details));
}

bool is_end_word(const std::string& status) {
  const auto is_word = [&](RunStatus one) { return status == to_string(one); };
  return is_word(RunStatus::done) || is_word(RunStatus::failed) || is_word(RunStatus::aborted);
}

Reason child_reason(const Step& step, const Situation& situation) {
  const auto called = situation.called.find(step.child);
  const std::string status = called == situation.called.end() ? "unknown" : called->second;
  const std::string run = to_string(step.child);
  if (is_end_word(status))
    return reason(Kind::child,
                  "It waits for run " + run + ", which is " + status +
                      ", but ended without it: the sweep of any worker that can read both lets this one go on.",
                  {{"child", run}, {"status", status}});
  return reason(Kind::child, "It waits for run " + run + ", which is " + status + ".",
                {{"child", run}, {"status", status}});
}

Reason items_reason(const MapProgress& map) {
  std::string says =
      std::to_string(map.open_items) + " of " + counted(static_cast<std::int64_t>(map.items.size()), "item") +
      (map.items.size() == 1 ? " is" : " are") + " open, " + std::to_string(map.next_item - map.open_items) +
      " have ended, of which " + std::to_string(map.failed.size()) + " failed";
  Json details = {{"open", map.open_items},
                  {"of", map.items.size()},
                  {"ended", map.next_item - map.open_items},
                  {"failed", map.failed.size()}};
  if (map.failed.empty()) return reason(Kind::map, says + ".", std::move(details));
  const auto& [place, first] = *map.failed.begin();
  details["first_failed"] = Json{{"item", place}, {"error", first.error}, {"message", first.message}};
  says += "; the first was item " + std::to_string(place) + ": " + first.error + ": " + first.message;
  return reason(Kind::map, says, std::move(details));
}

Reason map_reason(const RunState& state, const Step& step) {
  if (!step.map.items.is_null()) return items_reason(step.map);
  const Plan& plan = state.branches.at(step.branch).plan;
  const auto of =
      std::count_if(plan.goals.begin(), plan.goals.end(), [&](const SubGoal& goal) { return goal.map == step.id; });
  return reason(
      Kind::map,
      std::to_string(step.map.open_goals) + " of " + counted(of, "sub-goal") + (of == 1 ? " is" : " are") + " open.",
      {{"open", step.map.open_goals}, {"of", of}});
}

// The part of the cause that the reason of the end does not say: "Step 2 (make) failed: error: No water." has all of
// it.
std::string cause_besides(const std::string& reason, const CauseOfFailure& cause) {
  const std::string step = "tep " + std::to_string(cause.step) + " (" + cause.node + ")";
  if (reason.find(step + " failed: " + cause.error + ": " + cause.message) != std::string::npos) return "";
  const bool is_open = !reason.empty() && reason.find_last_of(".!?") != reason.size() - 1;
  return (is_open ? ". Cause: s" : " Cause: s") + step + ", attempt " + std::to_string(cause.attempt) + ": " +
         cause.error + (has_message_of(reason, cause) ? "." : ": " + cause.message);
}

Reason run_reason(const RunState& state) {
  if (state.status == RunStatus::paused) {
    const std::string why = state.pause_reason.empty() ? "" : " The reason given: " + state.pause_reason;
    return reason(Kind::paused, "The run is paused: nothing new begins until it is resumed." + why);
  }
  std::string says = "The run has ended as " + std::string(to_string(state.status));
  says += state.reason.empty() ? "." : ": " + state.reason;
  Json details = {{"status", to_string(state.status)}};
  if (!state.cause) return reason(Kind::ended, says, std::move(details));
  details["cause"] = cause_json(*state.cause);
  return reason(Kind::ended, says + cause_besides(state.reason, *state.cause), std::move(details));
}

// --- joins -----------------------------------------------------------------------------------------------------------

std::string branch_text(const RunState& state, BranchId id) {
  const Branch& branch = state.branches.at(id);
  std::string text = "branch " + std::to_string(id);
  if (branch.step != 0) text += " (step " + std::to_string(branch.step) + ")";
  return text;
}

// None for a branch that has not forked, or for a fan-out of which no branch has arrived.
std::optional<Reason> join_reason(const RunState& state, const Branch& forked) {
  NodeIndex join = -1;
  std::vector<BranchId> away;
  for (const BranchId id : forked.fan) {
    const Branch& branch = state.branches.at(id);
    if (branch.at_join >= 0)
      join = branch.at_join;
    else
      away.push_back(id);
  }
  if (join < 0 || away.empty()) return std::nullopt;
  std::string says = std::to_string(forked.arrived) + " of " + std::to_string(forked.fan.size()) +
                     " branches have arrived; it still waits for ";
  for (std::size_t i = 0; i < away.size(); ++i) says += (i == 0 ? "" : ", ") + branch_text(state, away[i]);
  Reason found = reason(Kind::join, says + ".", {{"branches", away}});
  found.node = state.graph->node(join).name;
  return found;
}

// --- what stands in a queue ------------------------------------------------------------------------------------------

// The reason why one step's job is not done. Lives for one call.
class Queued {
 public:
  Queued(const RunState& state, const Step& step, const HeldJob& job, const Situation& situation)
      : state_(state), step_(step), job_(job), situation_(situation) {}

  Reason why() const {
    if (job_.session != 0) return held();
    if (state_.status == RunStatus::paused) return reason(Kind::paused, "The run is paused.");
    if (step_.run_at > situation_.now_us) return retry();
    if (job_.job.run_at_us == never_us) return stopped();
    const QueueLimits* set = limits();
    if (set != nullptr && set->paused)
      return reason(Kind::queue_paused, "Queue " + queue() + " is paused.", {{"queue", queue()}});
    const std::vector<const SessionRow*> serving = servers();
    if (serving.empty()) return no_worker("No worker that is alive serves queue " + queue() + ".", Json::object());
    if (std::optional<Reason> lacking = unmet_need(serving)) return *std::move(lacking);
    if (set == nullptr) return ready();
    if (std::optional<Reason> full = at_limits(*set, use(), "Queue " + queue())) {
      full->says += turn(*set, full->details);
      return *std::move(full);
    }
    if (set->has_keys()) {
      const std::string key = this->key();
      const std::string named = "Key " + excerpt(Json(key), 100) + " of queue " + queue();
      if (std::optional<Reason> full = at_limits(set->of_key(), key_use(key), named)) {
        full->details["key"] = key;
        return *std::move(full);
      }
    }
    Reason found = ready();
    if (set->is_limited()) {
      found.details["limits"] = limits_words(*set);
      found.says += " The queue has " + limits_words(*set) + "." + turn(*set, found.details);
    }
    return found;
  }

 private:
  const std::string& queue() const { return job_.job.queue; }
  std::string said(TimeUs at) const { return situation_.time_said(at); }

  const QueueLimits* limits() const {
    const auto found = std::find_if(situation_.queues.begin(), situation_.queues.end(),
                                    [&](const QueueLimits& set) { return set.name == queue(); });
    return found == situation_.queues.end() ? nullptr : &*found;
  }

  QueueUse use() const {
    const auto found = situation_.uses.find(queue());
    return found == situation_.uses.end() ? QueueUse{} : found->second;
  }
  std::string key() const {
    const auto found = situation_.keys.find(job_.job.branch);
    return found == situation_.keys.end() ? "" : found->second;
  }
  QueueUse key_use(const std::string& key) const {
    const auto found = situation_.key_uses.find({queue(), key});
    return found == situation_.key_uses.end() ? QueueUse{} : found->second;
  }

  // The jobs that a claim would take first, where that was counted and decides.
  std::optional<std::int64_t> before() const {
    const QueueLimits* set = limits();
    const auto found = situation_.before.find(job_.job.branch);
    if (found == situation_.before.end() || (set != nullptr && !begins_in_order(*set))) return std::nullopt;
    return found->second;
  }

  // The key whose turn the job waits for, in a sentence; "" where the queue has no keys.
  std::string turn(const QueueLimits& set, Json& details) const {
    if (!set.has_keys()) return "";
    details["key"] = key();
    return " Its keys take turns, and the step's key is " + excerpt(Json(key()), 100) + ".";
  }

  // Nothing if neither limit of the queue, or of a key of it, stands before the job. `of` names which.
  std::optional<Reason> at_limits(const QueueLimits& limits, const QueueUse& use, const std::string& of) const {
    Json details = {{"queue", queue()}};
    if (limits.concurrency && use.held >= *limits.concurrency) {
      details["concurrency"] = *limits.concurrency;
      details["held"] = use.held;
      return reason(Kind::queue_limit,
                    of + " may hold " + std::to_string(*limits.concurrency) + " at once, and holds " +
                        std::to_string(use.held) + ".",
                    std::move(details));
    }
    if (const UnitBudget* full = full_budget(limits, use)) return at_budget(*full, limits.reserves, use, of, details);
    const TimeUs full_at = use.full_at.value_or(situation_.now_us);
    if (!limits.rate || free_starts(*limits.rate, full_at, situation_.now_us) > 0) return std::nullopt;
    const TimeUs next = next_start_at(*limits.rate, full_at, situation_.now_us);
    details["rate"] = rate_shown(*limits.rate);
    details["next"] = time_text(next);
    std::string says = of + " may begin " + rate_text(*limits.rate) + ", and that is used up until " + said(next) + ".";
    return reason(Kind::queue_rate, says + before_at_rate(*limits.rate, next, details), std::move(details));
  }

  // The budget that stands before the job, the longest if several do; null: none.
  const UnitBudget* full_budget(const QueueLimits& limits, const QueueUse& use) const {
    const UnitBudget* full = nullptr;
    TimeUs until = 0;  // 0: what is held stands before the job, and not what was used
    for (const UnitBudget& budget : limits.budgets) {
      const std::int64_t used = used_of(budget, use.budgets, situation_.now_us);
      if (free_steps(budget, limits.reserves, used, use.held) > 0) continue;
      const bool is_used = is_used_up(budget, limits.reserves, used);
      const TimeUs end = is_used ? window_end(budget.per, situation_.now_us) : 0;
      if (full == nullptr || end > until) full = &budget;
      until = std::max(until, end);
    }
    return full;
  }

  // REQUIRES: it is used up, or what is held reserves the rest of it.
  Reason at_budget(const UnitBudget& budget, const Reserves& reserves, const QueueUse& use, const std::string& of,
                   Json details) const {
    const std::int64_t used = used_of(budget, use.budgets, situation_.now_us);
    const TimeUs next = window_end(budget.per, situation_.now_us);
    const auto reserved = reserves.find(budget.unit);
    const std::int64_t one = reserved == reserves.end() ? 0 : reserved->second;
    // Jobs that were held before the budget was set may reserve more than can be counted.
    const std::int64_t reserved_now =
        one > 0 && use.held > budget_amount_max / one ? budget_amount_max : one * use.held;
    const auto shown = [&](std::int64_t amount) { return amount_json(budget.unit, amount); };
    details.update(Json{{"unit", to_string(budget.unit)},
                        {"per", to_string(budget.per)},
                        {"cap", shown(budget.cap)},
                        {"used", shown(used)},
                        {"reserved", shown(reserved_now)}});
    std::string says = of + " may use " + budget_text(budget) + "; " + shown(used).dump() + " are used";
    if (one > 0)
      says += ", " + shown(reserved_now).dump() + " reserved by steps that are held, and a step reserves " +
              shown(one).dump();
    if (!is_used_up(budget, reserves, used))
      return reason(Kind::queue_budget, says + ". It begins when one of these ends.", std::move(details));
    details["next"] = time_text(next);
    return reason(Kind::queue_budget, says + ". The next window begins at " + said(next) + ".", std::move(details));
  }

  // The jobs that come earlier, and when that lets this one begin.
  std::string before_at_rate(const StartRate& rate, TimeUs next, Json& details) const {
    const std::int64_t others = before().value_or(0);
    if (others == 0) return "";
    details["before"] = others;
    return " " + counted(others, "job") + (others == 1 ? " is" : " are") + " before it, so it may begin at " +
           said(next + others * interval_us(rate)) + " at the earliest.";
  }

  const SessionRow* session() const {
    const auto found = std::find_if(situation_.sessions.begin(), situation_.sessions.end(),
                                    [&](const SessionRow& row) { return row.id == job_.session; });
    return found == situation_.sessions.end() ? nullptr : &*found;
  }

  // The time at which this attempt was claimed: its deadline minus the time it was given.
  std::optional<TimeUs> held_since() const {
    if (job_.deadline_us == never_us) return std::nullopt;
    return job_.deadline_us - (timeout_of(job_.job.timeout_ms, step_timeout_ms) + deadline_grace_ms) * 1000;
  }

  Reason held() const {
    const SessionRow* holder = session();
    Json details = {{"session", job_.session}};
    if (holder == nullptr)
      return reason(Kind::dead_worker,
                    "It is held by session " + std::to_string(job_.session) +
                        ", which is gone; the sweep of any worker takes it back.",
                    std::move(details));
    details.update(Json{{"host", holder->host}, {"pid", holder->pid}});
    if (is_silent(*holder, situation_.now_us)) {
      details["last_beat"] = time_text(holder->beat_at);
      return reason(Kind::dead_worker,
                    "It is held by " + session_text(*holder) + ", which has not been heard of since " +
                        said(holder->beat_at) + "; the sweep of any other worker takes it back.",
                    std::move(details));
    }
    std::string says = "It is held by " + session_text(*holder);
    if (const std::optional<TimeUs> since = held_since()) {
      details["since"] = time_text(*since);
      details["deadline"] = time_text(job_.deadline_us);
      says += " since " + said(*since) +
              (job_.deadline_us < situation_.now_us ? "; its deadline has passed at " : "; its deadline is ") +
              said(job_.deadline_us);
    }
    says += ".";
    if (const auto written = situation_.progress.find(step_.id); written != situation_.progress.end()) {
      details["written"] = written->second.written;
      says += " " + progress_sentence(written->second);
    }
    return reason(Kind::held, std::move(says), std::move(details));
  }

  Reason stopped() const {
    return reason(
        Kind::stopped,
        "A worker found the run's history corrupt and took the job out of the queue; once `cairn verify` finds "
        "nothing more than that, `cairn rebuild " +
            to_string(state_.id) + "` offers it again.");
  }

  Reason retry() const {
    const std::string at = time_text(step_.run_at);
    if (step_.error.empty())  // nothing failed: the database's clock was ahead when it was queued
      return reason(Kind::retry,
                    "Attempt " + std::to_string(step_.attempt) + " begins at " + said(step_.run_at) +
                        ", for which it was queued.",
                    {{"attempt", step_.attempt}, {"at", at}});
    return reason(Kind::retry,
                  "Attempt " + std::to_string(step_.attempt) + " begins at " + said(step_.run_at) +
                      "; the one before failed with " + step_.error + ": " + step_.message,
                  {{"attempt", step_.attempt}, {"at", at}, {"error", step_.error}, {"message", step_.message}});
  }

  // A session that may claim it: alive, serves the queue, and not known to work only for other runs.
  std::vector<const SessionRow*> servers() const {
    std::vector<const SessionRow*> serving;
    for (const SessionRow& row : situation_.sessions) {
      const bool works_here = !row.only_own || situation_.own.contains(row.id) || holds_of_run(row);
      if (works_here && serves(row, queue()) && !is_silent(row, situation_.now_us)) serving.push_back(&row);
    }
    return serving;
  }

  bool holds_of_run(const SessionRow& row) const {
    return std::any_of(situation_.jobs.begin(), situation_.jobs.end(),
                       [&](const HeldJob& job) { return job.session == row.id; });
  }

  Reason no_worker(std::string says, Json details) const {
    details["queue"] = queue();
    return reason(Kind::no_worker, std::move(says), std::move(details));
  }

  std::optional<Reason> unmet_need(const std::vector<const SessionRow*>& serving) const {
    if (step_.goal >= 0) return unmet(serving, "tool", goal_of(state_, step_).tool);
    const DoNode* work = work_of(state_, step_);
    if (work == nullptr) return std::nullopt;  // a timer needs nothing
    if (auto lacking = unmet(serving, "handler", work->handler)) return lacking;
    const std::string tool = work->handler == "tool.call" ? named_tool(*work) : "";
    return tool.empty() ? std::nullopt : unmet(serving, "tool", tool);
  }

  // The name of the tool in the settings of a step; "" if it cannot be read.
  std::string named_tool(const DoNode& work) const {
    const Json tool = work.with.value("tool", Json());
    const Result<Json> named = resolved(state_, step_.branch, tool);
    return named && named->is_string() ? named->get<std::string>() : "";
  }

  std::optional<Reason> unmet(const std::vector<const SessionRow*>& serving, const std::string& kind,
                              const std::string& name) const {
    const auto may_have = [&](const SessionRow* row) {
      const auto& names = kind == "tool" ? row->tools : row->handlers;
      return !names || std::find(names->begin(), names->end(), name) != names->end();
    };
    if (std::any_of(serving.begin(), serving.end(), may_have)) return std::nullopt;
    const std::string hint = kind == "handler" && name == http_call_name ? std::string("; ") + http_call_need : "";
    return no_worker("No worker that serves queue " + queue() + " has the " + kind + " " + name + hint + ".",
                     {{kind, name}});
  }

  const SessionRow* home() const {
    const auto found = std::find_if(situation_.sessions.begin(), situation_.sessions.end(),
                                    [&](const SessionRow& row) { return row.id == job_.home; });
    return job_.home == 0 || found == situation_.sessions.end() ? nullptr : &*found;
  }

  Reason ready() const {
    const TimeUs since = std::min(job_.job.run_at_us, situation_.now_us);
    Json details = {{"queue", queue()}, {"since", time_text(since)}};
    std::string says = "It is ready in queue " + queue() + " since " + said(since);
    if (const std::optional<std::int64_t> others = before()) {
      details["before"] = *others;
      says += ", behind " + counted(*others, "other");
    }
    if (const SessionRow* kept_by = home()) {
      details["home"] = kept_by->id;
      says += ", for " + session_text(*kept_by) + ", which keeps open what the run uses";
    }
    return reason(Kind::ready, says + ".", std::move(details));
  }

  const RunState& state_;
  const Step& step_;
  const HeldJob& job_;
  const Situation& situation_;
};

Reason queued_reason(const RunState& state, const Step& step, const Situation& situation) {
  const auto job = std::find_if(situation.jobs.begin(), situation.jobs.end(),
                                [&](const HeldJob& held) { return held.job.branch == step.branch; });
  if (job == situation.jobs.end())
    return reason(Kind::no_job, "The queue holds no job for it, although it should: the queue has to be rebuilt.");
  return Queued(state, step, *job, situation).why();
}

Reason timed_reason(const RunState& state, const Step& step, const Situation& situation) {
  if (state.status == RunStatus::paused) return reason(Kind::paused, "The run is paused: no timer fires.");
  if (*step.due <= situation.now_us) return queued_reason(state, step, situation);
  return reason(Kind::timer, "It is due at " + situation.time_said(*step.due) + ".", {{"due", time_text(*step.due)}});
}

Reason step_reason(const RunState& state, const Step& step, const Situation& situation) {
  if (step.goal >= 0) return queued_reason(state, step, situation);
  if (call_of(state, step) != nullptr) return child_reason(step, situation);
  if (step.item >= 0) return queued_reason(state, step, situation);
  const Node& node = node_of(state, step);
  const bool is_overdue = step.due && *step.due <= situation.now_us && state.status != RunStatus::paused;
  switch (node.verb()) {
    case Verb::ask:
      return is_overdue ? queued_reason(state, step, situation) : question_reason(state, step, situation);
    case Verb::wait:
      if (const auto* wait = node.as<WaitNode>(); wait->signal && !is_overdue)
        return signal_reason(state, step, situation, *wait->signal);
      return timed_reason(state, step, situation);
    case Verb::map:
      return map_reason(state, step);
    case Verb::do_:
    case Verb::call:
    case Verb::end:
      break;
  }
  return queued_reason(state, step, situation);
}

}  // namespace

std::string_view to_string(Reason::Kind kind) {
  static constexpr std::array<std::string_view, 19> words = {
      "paused",       "ended",     "question", "signal",      "timer",        "retry",       "child",
      "map",          "join",      "held",     "dead_worker", "queue_paused", "queue_limit", "queue_rate",
      "queue_budget", "no_worker", "ready",    "no_job",      "stopped"};
  return words[static_cast<std::size_t>(kind)];
}

std::vector<Reason> explain(const RunState& state, const Situation& situation) {
  std::vector<Reason> reasons;
  if (state.status != RunStatus::running) reasons.push_back(run_reason(state));
  if (is_ended(state.status)) return reasons;
  for (const auto& [id, step] : state.steps) {
    Reason found = step_reason(state, step, situation);
    found.step = id;
    found.node = node_of(state, step).name;
    if (step.goal >= 0) found.details["sub_goal"] = goal_of(state, step).id;
    if (step.item >= 0) found.details["item"] = step.item;
    reasons.push_back(std::move(found));
  }
  for (const auto& [id, branch] : state.branches)
    if (std::optional<Reason> found = join_reason(state, branch)) reasons.push_back(*std::move(found));
  return reasons;
}

bool begins_in_order(const QueueLimits& limits) { return !limits.has_keys() && limits.ageing_us == 0; }

std::vector<HeldJob> waiting_jobs(const Situation& situation) {
  std::vector<HeldJob> waiting;
  for (const HeldJob& job : situation.jobs)
    if (job.session == 0 && job.job.run_at_us <= situation.now_us) waiting.push_back(job);
  return waiting;
}

Json reason_json(const Reason& reason) {
  Json shown = reason.details;
  shown["step"] = reason.step == 0 ? Json(nullptr) : Json(reason.step);
  shown["node"] = reason.node.empty() ? Json(nullptr) : Json(reason.node);
  shown["kind"] = to_string(reason.kind);
  shown["says"] = reason.says;
  return shown;
}

}  // namespace cairn
