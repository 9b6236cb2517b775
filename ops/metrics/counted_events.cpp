#include "ops/metrics/counted_events.hpp"

#include <algorithm>

#include "engine/codec.hpp"
#include "engine/event_types.hpp"
#include "engine/json_scan.hpp"

namespace cairn {
namespace {

constexpr double us_per_second = 1e6;

double seconds_between(TimeUs from, TimeUs to) {
  return static_cast<double>(std::max<TimeUs>(to - from, 0)) / us_per_second;
}

constexpr std::int16_t number_of(RecordKind kind) {
  return static_cast<std::int16_t>(first_record + static_cast<std::int16_t>(kind));
}

void count_attempt(StepCounts& counts, StepEnd end, TimeUs started_at, TimeUs at_us) {
  counts.ended[static_cast<std::size_t>(end)].add();
  if (started_at > 0 && end != StepEnd::reused) counts.seconds.add(seconds_between(started_at, at_us));
}

StepEnd end_of(const StepFailed& failed) {
  if (failed.error == lost_error) return StepEnd::lost;
  return failed.retry_at ? StepEnd::retried : StepEnd::failed;
}

void count_succeeded(WorkCounts& counts, const Entry& entry, const EventRow& row) {
  if (const std::optional<SucceededStep> read = read_succeeded(row.payload))
    return count_attempt(counts.steps.of({entry.run.graph, read->node}),
                         read->is_reused ? StepEnd::reused : StepEnd::succeeded, read->started_at, row.at_us);
  const Result<EventBody> body = decode_payload(row.type, row.version, row.payload);
  if (!body) return;
  const auto& step = std::get<StepSucceeded>(*body);
  count_attempt(counts.steps.of({entry.run.graph, step.node}),
                step.cached_from != 0 ? StepEnd::reused : StepEnd::succeeded, step.started_at, row.at_us);
}

void count_goal(GraphCounts& counts, const SubGoalClosed& goal, TimeUs at_us) {
  if (goal.status == GoalStatus::skipped) return counts.goals_skipped.add();
  (goal.status == GoalStatus::succeeded ? counts.goals_succeeded : counts.goals_failed).add();
  if (goal.started_at > 0) counts.goal_seconds.add(seconds_between(goal.started_at, at_us));
}

void count_end(GraphCounts& counts, RunStatus status, double seconds) {
  counts.seconds.add(seconds);
  (status == RunStatus::done ? counts.done : status == RunStatus::failed ? counts.failed : counts.aborted).add();
}

// --- records: their fields are a planner's own, so any of them may be missing or of another type --------------------

double number_in(const JsonMember& member) {
  return member.scalar.is_number() ? std::max(member.scalar.get<double>(), 0.0) : 0;
}

std::uint64_t whole_number_in(const JsonMember& member) {
  constexpr double most = 1e15;
  return static_cast<std::uint64_t>(std::min(number_in(member), most));
}

void count_call(CallCounts& counts, const std::vector<JsonMember>& fields) {
  bool is_ok = false;
  for (const JsonMember& field : fields) {
    if (field.key == "ok") is_ok = field.scalar.is_boolean() && field.scalar.get<bool>();
    if (field.key == "latency_ms") counts.seconds.add(number_in(field) / 1'000);
  }
  (is_ok ? counts.ok : counts.failed).add();
}

std::string name_in(const std::vector<JsonMember>& fields, std::string_view key) {
  for (const JsonMember& field : fields)
    if (field.key == key && field.scalar.is_string()) return field.scalar.get<std::string>();
  return "";
}

void count_model(WorkCounts& counts, const std::vector<JsonMember>& fields) {
  const std::string model = name_in(fields, "model");
  ModelCounts& of = counts.models.of({model});
  count_call(of.calls, fields);
  for (const JsonMember& field : fields) {
    if (field.key == "tokens_in") of.tokens_in.add(whole_number_in(field));
    if (field.key == "tokens_out") of.tokens_out.add(whole_number_in(field));
    if (field.key == "cost") of.cost.fetch_add(number_in(field), std::memory_order_relaxed);
  }
}

void count_record(WorkCounts& counts, const EventRow& row) {
  const Result<std::vector<JsonMember>, NoObject> fields = members_of(row.payload);
  if (!fields) return;
  if (row.type == number_of(RecordKind::model_called)) return count_model(counts, *fields);
  const std::string tool = name_in(*fields, "tool");
  count_call(counts.tools.of({tool}), *fields);
}

// Events of which there are few for each step.
void count_decoded(WorkCounts& counts, const Entry& entry, const EventRow& row) {
  const Result<EventBody> body = decode_payload(row.type, row.version, row.payload);
  if (!body) return;
  const auto graph = [&]() -> GraphCounts& { return counts.graphs.of({entry.run.graph}); };
  if (const auto* failed = std::get_if<StepFailed>(&*body))
    return count_attempt(counts.steps.of({entry.run.graph, failed->node}), end_of(*failed), failed->started_at,
                         row.at_us);
  if (const auto* goal = std::get_if<SubGoalClosed>(&*body)) return count_goal(graph(), *goal, row.at_us);
  if (const auto* finished = std::get_if<RunFinished>(&*body))
    count_end(graph(), finished->status, seconds_between(entry.run.started_at, row.at_us));
}

}  // namespace

void count_events(WorkCounts& counts, const Entry& entry) {
  counts.events.add(entry.events.size());
  for (const EventRow& row : entry.events) {
    switch (row.type) {
      case event_type_of<StepSucceeded>.number:
        count_succeeded(counts, entry, row);
        break;
      case event_type_of<RunStarted>.number:
        counts.graphs.of({entry.run.graph}).started.add();
        break;
      case event_type_of<StepFailed>.number:
      case event_type_of<SubGoalClosed>.number:
      case event_type_of<RunFinished>.number:
        count_decoded(counts, entry, row);
        break;
      case number_of(RecordKind::model_called):
      case number_of(RecordKind::tool_called):
        count_record(counts, row);
        break;
      default:
        break;
    }
  }
}

}  // namespace cairn
