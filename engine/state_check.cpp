#include "engine/state_check.hpp"

#include <algorithm>
#include <string>

#include "engine/bounds.hpp"

namespace cairn {
namespace {

constexpr std::int64_t count_max = 2'000'000'000;             // of steps, branches, attempts: the next one is counted
constexpr std::int64_t long_max = 9'000'000'000'000'000'000;  // of events and microseconds: a delay may be added

struct Broken {  // never leaves check_references
  std::string says;
};

void must(bool holds, const std::string& otherwise) {
  if (!holds) throw Broken{otherwise};
}

template <class T>
bool is_place(std::int64_t place, const T& in) {
  return place >= 0 && place < static_cast<std::int64_t>(in.size());
}

bool contains(const std::vector<BranchId>& branches, BranchId id) {
  return std::find(branches.begin(), branches.end(), id) != branches.end();
}

std::string name_of(const Branch& branch) { return "branch " + std::to_string(branch.id); }
std::string name_of(const Step& step) { return "step " + std::to_string(step.id); }
std::string name_of(const SubGoal& goal) { return "sub-goal " + goal.id; }

class References {
 public:
  explicit References(const RunState& state)
      : state_(state), keeps_steps_(!is_ended(state.status) || state.status == RunStatus::failed) {}

  void check() const {
    run();
    for (const auto& [id, part] : state_.branches) branch(part);
    for (const auto& [id, question] : state_.questions)
      must(find_step(state_, question.step) != nullptr, "question " + id + " is of no open step");
    for (const auto& [id, one] : state_.steps) step(one);
    for (const auto& [id, part] : state_.branches) {
      fan(part);
      plan(part);
    }
    for (const auto& [name, queue] : state_.signals)
      must(!queue.empty(), "signal " + name + " waits, but there is none");
  }

 private:
  const Branch* find_branch(BranchId id) const {
    const auto found = state_.branches.find(id);
    return found == state_.branches.end() ? nullptr : &found->second;
  }

  void run() const {
    must((state_.seq == 0) == (state_.graph == nullptr), "it has events without a graph, or a graph without events");
    must(state_.seq >= 0 && state_.seq <= long_max && state_.last_at <= long_max,
         "its events are too many or too late");
    must(state_.language >= 1 && state_.language <= language_now, "its language is unknown");
    must(state_.last_step >= 0 && state_.last_step <= count_max, "its steps are too many");
    must(state_.last_branch >= 0 && state_.last_branch <= count_max, "its branches are too many");
    must(!state_.parent || (state_.parent->depth > 0 && state_.parent->depth <= call_depth_max),
         "it is called at no depth that there is");
    must(state_.seq == 0 ? state_.branches.empty() : find_branch(root_branch) != nullptr,
         "its first branch is missing");
  }

  // A parent is older than its branches, so that the way up ends.
  void branch(const Branch& part) const {
    const std::string name = name_of(part);
    must(part.id >= root_branch && part.id <= state_.last_branch, name + " is not of this run");
    if (part.id == root_branch) {
      must(part.parent == 0, name + ", the first, lies in another one");
    } else {
      const Branch* parent = part.parent < part.id ? find_branch(part.parent) : nullptr;
      must(parent != nullptr, name + " lies in branch " + std::to_string(part.parent) + ", which is no earlier one");
      must(!keeps_steps_ || contains(parent->fan, part.id) || is_of_goal(part), name + " comes of nothing");
    }
    const Step* open = part.step == 0 ? nullptr : find_step(state_, part.step);
    must(part.step == 0 || (open != nullptr && open->branch == part.id),
         name + " stands at step " + std::to_string(part.step) + ", which is not its own");
    must(part.at_join < 0 || state_.graph->node(part.at_join).join, name + " waits at a node that is no join");
    must(part.at_end < 0 || state_.graph->node(part.at_end).verb() == Verb::end, name + " has reached no end");
  }
  bool is_of_goal(const Branch& part) const {
    const Step* open = find_step(state_, part.step);
    return open != nullptr && (open->goal >= 0 || open->item >= 0);
  }

  void fan(const Branch& part) const {
    std::int64_t arrived = 0;
    for (const BranchId id : part.fan) {
      const Branch* inner = find_branch(id);
      must(inner != nullptr && inner->parent == part.id && std::count(part.fan.begin(), part.fan.end(), id) == 1,
           name_of(part) + " forked into branch " + std::to_string(id) + ", which is not there, or twice");
      arrived += inner->at_join >= 0 ? 1 : 0;
    }
    must(part.arrived == arrived && (part.fan.empty() || arrived < static_cast<std::int64_t>(part.fan.size())),
         name_of(part) + " counts " + std::to_string(part.arrived) + " branches at its join, but " +
             std::to_string(arrived) + " are there");
  }

  void plan(const Branch& part) const {
    const std::vector<SubGoal>& goals = part.plan.goals;
    must(part.plan.next_untaken >= 0 && part.plan.next_untaken <= static_cast<std::int64_t>(goals.size()),
         name_of(part) + " has no sub-goal at the place of the next one");
    for (const auto& [id, place] : part.plan.by_id)
      must(is_place(place, goals) && goals[static_cast<std::size_t>(place)].id == id,
           "sub-goal " + id + " is not at its place");
    std::vector<std::int32_t> awaited(goals.size(), 0);
    for (const SubGoal& goal : goals) {
      must(part.plan.by_id.contains(goal.id), name_of(goal) + " is not known by its id");
      for (const std::int32_t place : goal.dependents) {
        must(is_place(place, goals), "what waits for " + name_of(goal) + " is not there");
        if (goal.status == GoalStatus::open) ++awaited[static_cast<std::size_t>(place)];
      }
    }
    for (std::size_t place = 0; place < goals.size(); ++place)
      if (keeps_steps_ && goals[place].map != 0 && goals[place].status == GoalStatus::open)
        open_goal(part, goals[place], static_cast<std::int32_t>(place), awaited[place]);
  }

  void open_goal(const Branch& part, const SubGoal& goal, std::int32_t place, std::int32_t awaited) const {
    const Step* map = find_step(state_, goal.map);
    must(map != nullptr && map->branch == part.id, name_of(goal) + " is of no open map of its branch");
    must(goal.waits_for >= awaited && goal.waits_for <= count_max, name_of(goal) + " waits for less than there is");
    if (goal.waits_for > 0) return;
    const Step* step = find_step(state_, goal.step);
    const Branch* of = step == nullptr ? nullptr : find_branch(step->branch);
    must(of != nullptr && of->parent == part.id && step->goal == place, name_of(goal) + " is open, but has no step");
  }

  void step(const Step& one) const {
    const std::string name = name_of(one);
    const Branch* in = find_branch(one.branch);
    must(one.id >= 1 && one.id <= state_.last_step && in != nullptr && in->step == one.id,
         name + " is of branch " + std::to_string(one.branch) + ", which is not at it");
    must(one.node >= 0, name + " stands at no node");
    must(one.attempt >= 1 && std::max({one.attempt, one.errors, one.losses}) <= count_max,
         name + " has been tried too often");
    must(one.errors >= 0 && one.losses >= 0, name + " has been tried less than never");
    if (one.goal >= 0) return goal_step(one, *in);
    if (one.item >= 0) return item_step(one, *in);
    must(state_.node(one).verb() != Verb::end, name + " stands at an end");
    const bool asks = !one.question.empty() && one.closing_label.empty() && !one.failed_final;
    const auto question = state_.questions.find(one.question);
    must(!asks || (question != state_.questions.end() && question->second.step == one.id),
         name + " waits for question " + one.question + ", which is not open");
    map_step(one, *in);
  }

  void goal_step(const Step& one, const Branch& in) const {
    const Branch* map_branch = find_branch(in.parent);
    must(map_branch != nullptr && is_place(one.goal, map_branch->plan.goals),
         name_of(one) + " is for a sub-goal that is not there");
    must(one.map.open_goals == 0 && one.map.doomed.empty(), name_of(one) + " is for a sub-goal and has some itself");
  }

  void item_step(const Step& one, const Branch& in) const {
    const Branch* map_branch = find_branch(in.parent);
    const Step* map = map_branch == nullptr ? nullptr : find_step(state_, map_branch->step);
    must(map != nullptr && map->map.items.is_array() && one.item < map->map.next_item && map->node == one.node,
         name_of(one) + " is for an item that is not there");
    must(state_.node(one).items() != nullptr, name_of(one) + " is for an item of a node that maps none");
    must(one.map.items.is_null() && one.map.open_items == 0, name_of(one) + " is for an item and has some itself");
  }

  void item_map(const Step& one) const {
    const MapProgress& map = one.map;
    if (map.items.is_null()) return must(map.open_items == 0, name_of(one) + " has open items of no list");
    must(map.items.is_array() && map.results.is_array() && map.results.size() == map.items.size(),
         name_of(one) + " has results for other items than it has");
    must(map.next_item == 0 || is_place(map.next_item - 1, map.items),
         name_of(one) + " opened items that are not there");
    const auto is_open = [&](const auto& entry) {
      const Branch* in = find_branch(entry.second.branch);
      return entry.second.item >= 0 && in != nullptr && in->parent == one.branch;
    };
    const auto open = std::count_if(state_.steps.begin(), state_.steps.end(), is_open);
    must(map.open_items == open, name_of(one) + " counts " + std::to_string(map.open_items) +
                                     " open items, but there are " + std::to_string(open));
    for (const auto& [place, failed] : map.failed)
      must(is_place(place, map.items), name_of(one) + " has a failed item that is not there");
  }

  void map_step(const Step& one, const Branch& in) const {
    item_map(one);
    const std::vector<SubGoal>& goals = in.plan.goals;
    for (const std::int32_t place : one.map.doomed)
      must(is_place(place, goals), name_of(one) + " is to skip a sub-goal that is not there");
    const auto is_open = [&](const SubGoal& goal) { return goal.map == one.id && goal.status == GoalStatus::open; };
    const auto open = std::count_if(goals.begin(), goals.end(), is_open);
    must(one.map.open_goals == open, name_of(one) + " counts " + std::to_string(one.map.open_goals) +
                                         " open sub-goals, but there are " + std::to_string(open));
  }

  const RunState& state_;
  const bool keeps_steps_;  // a run that is done or aborted has none any more
};

}  // namespace

Status check_references(const RunState& state) {
  try {
    References(state).check();
    return Done{};
  } catch (const Broken& broken) {
    return Error{Code::corrupt, "Expected the state of a run, but " + broken.says + "."};
  }
}

}  // namespace cairn
