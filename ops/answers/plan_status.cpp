#include "ops/answers/plan_status.hpp"

#include <algorithm>
#include <set>

namespace cairn {
namespace {

constexpr std::int32_t page_events = 1'000;

bool is_structure(const SubGoal& goal) { return goal.tool.empty(); }

template <class Do>
void each_structure(RunState& state, Do work) {
  for (auto& [id, branch] : state.branches) {
    for (SubGoal& goal : branch.plan.goals) {
      if (is_structure(goal)) work(goal);
    }
  }
}

// A new plan skips only those sub-goals that an earlier plan has brought along.
class PlanStatusFold {
 public:
  explicit PlanStatusFold(RunState& state) : state_(state) {
    each_structure(state_, [this](const SubGoal& goal) {
      if (goal.status != GoalStatus::planned) revised_.insert(goal.id);
    });
  }

  void take(const EventBody& body) {
    if (const auto* created = std::get_if<PlanCreated>(&body)) {
      each_structure(state_, [this](SubGoal& goal) {
        const bool is_left = goal.status == GoalStatus::planned || goal.status == GoalStatus::open;
        if (is_left && made_.contains(goal.id) && !revised_.contains(goal.id)) goal.status = GoalStatus::skipped;
      });
      for (const PlanChild& child : created->children) made_.insert(child.id);
    }
    if (const auto* decomposed = std::get_if<TaskDecomposed>(&body)) {
      for (const PlanChild& child : decomposed->children) made_.insert(child.id);
    }
    if (const auto* record = std::get_if<Record>(&body)) take_record(*record);
  }

 private:
  void take_record(const Record& record) {
    const bool is_verified = record.kind == RecordKind::verification_recorded;
    if (!is_verified && record.kind != RecordKind::decision_enforced) return;
    const Json fields = parse_stored(record.fields);
    const Json target = fields.value("target", Json());
    each_structure(state_, [&](SubGoal& goal) {
      if (target != goal.id || goal.status == GoalStatus::skipped || revised_.contains(goal.id)) return;
      goal.status = !is_verified                              ? GoalStatus::open
                    : fields.value("ok", Json(false)) == true ? GoalStatus::succeeded
                                                              : GoalStatus::failed;
    });
  }

  RunState& state_;
  std::set<std::string> revised_;  // whose status revisions of the plan have set
  std::set<std::string> made_;
};

}  // namespace

Status project_plan_status(Client& client, RunState& state) {
  bool has_structure = false;
  each_structure(state, [&](const SubGoal&) { has_structure = true; });
  PlanStatusFold fold(state);
  for (std::int64_t after = 0; has_structure && after < state.seq;) {
    const auto wanted = static_cast<std::int32_t>(std::min<std::int64_t>(page_events, state.seq - after));
    const Result<std::vector<Event>> events = client.events(state.id, after, wanted);
    if (!events) return events.error();
    if (events->empty()) break;
    for (const Event& event : *events) fold.take(event.body);
    after = events->back().seq;
  }
  return Done{};
}

}  // namespace cairn
