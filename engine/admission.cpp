#include "engine/admission.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/bounds.hpp"

namespace cairn {
namespace {

struct Reference {
  std::string sub_goal;
  std::string slot;  // "": it names none
};

void find_references(const Json& value, std::vector<Reference>& found) {
  if (!value.is_structured()) return;
  if (value.is_object() && value.contains("from_sub_goal") && value["from_sub_goal"].is_string()) {
    const Json slot = value.value("slot", Json(""));
    found.push_back({value["from_sub_goal"].get<std::string>(), slot.is_string() ? slot.get<std::string>() : ""});
    return;
  }
  for (const Json& part : value) find_references(part, found);
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Proposal {
  SubGoalOpened goal;
  std::vector<Reference> references;
  std::string reason;  // "": admitted so far
  std::vector<std::string> unmet;
};

class Admission {
 public:
  Admission(const RunState& state, BranchId branch, const Json& data, const ToolTable* tools)
      : state_(state), branch_(branch), data_(data), tools_(tools) {}

  void propose(SubGoalOpened goal) {
    Proposal proposal{std::move(goal), {}, "", {}};
    find_references(proposal.goal.inputs, proposal.references);
    for (const Reference& reference : proposal.references)
      if (!contains(proposal.goal.after, reference.sub_goal)) proposal.goal.after.push_back(reference.sub_goal);
    const std::string& id = proposal.goal.sub_goal;
    if (id.empty()) {
      proposal.reason = "Expected a sub-goal to have an id, but it has none.";
    } else if (by_id_.count(id) != 0 || find_goal(state_, branch_, id) != nullptr) {
      proposal.reason = "Expected sub-goal " + id + " once, but its id is already taken.";
    } else {
      by_id_[id] = proposals_.size();
      check_tool(proposal);
    }
    proposals_.push_back(std::move(proposal));
  }

  // One that the handler rejects: what depends on it goes with it.
  void propose(const SubGoalRejected& rejected) {
    SubGoalOpened goal;
    goal.sub_goal = rejected.sub_goal;
    goal.tool = rejected.tool;
    if (find_goal(state_, branch_, rejected.sub_goal) == nullptr)
      by_id_.try_emplace(rejected.sub_goal, proposals_.size());
    proposals_.push_back({std::move(goal), {}, rejected.reason, rejected.unmet});
  }

  // Judges what each depends on, then cycles; a rejection rejects the dependents.
  std::vector<Proposal> judged() && {
    for (Proposal& proposal : proposals_) {
      check_references(proposal);
      check_slots(proposal);
    }
    spread_rejections();
    reject_cycles();
    return std::move(proposals_);
  }

 private:
  static void reject(Proposal& proposal, std::string reason, std::vector<std::string> unmet) {
    if (!proposal.reason.empty()) return;
    proposal.reason = std::move(reason);
    proposal.unmet = std::move(unmet);
  }

  void check_tool(Proposal& proposal) const {
    const std::string& tool = proposal.goal.tool;
    if (tool.empty()) return;
    const auto found = tools_ == nullptr ? ToolTable::const_iterator{} : tools_->find(tool);
    if (tools_ == nullptr || found == tools_->end())
      return reject(proposal, "Expected a known tool, but there is no tool " + tool + ".", {tool});
    proposal.goal.queue = found->second.queue;
    if (const Status fits = check_name(proposal.goal.queue, "the queue of a tool"); !fits)
      return reject(proposal, fits.error().message, {tool});
    std::vector<std::string> unmet;
    for (const std::string& need : found->second.needs)
      if (!is_met(need, proposal)) unmet.push_back(need);
    if (!unmet.empty())
      reject(proposal, "Expected tool " + tool + " to find " + unmet.front() + ", but it is not there.", unmet);
  }

  bool is_met(const std::string& need, const Proposal& proposal) const {
    if (need.starts_with("$")) return !value_of(need).is_null();
    if (need.starts_with("*."))
      return std::any_of(proposal.references.begin(), proposal.references.end(),
                         [&](const Reference& reference) { return reference.slot == need.substr(2); });
    const auto input = proposal.goal.inputs.find(need);
    return input != proposal.goal.inputs.end() && !input->is_null();
  }

  Json value_of(const std::string& need) const {
    const auto read = [&](std::string_view channel) -> std::optional<Json> {
      const auto found = data_.find(channel);
      return found == data_.end() ? std::nullopt : std::optional<Json>(*found);
    };
    return referred(std::string_view(need).substr(1), read).value_or(Json());
  }

  void check_references(Proposal& proposal) const {
    for (const std::string& id : proposal.goal.after) {
      if (id == proposal.goal.sub_goal)
        return reject(proposal, "Expected no cycle, but sub-goal " + id + " comes after itself.", {id});
      if (Status usable = check_usable(id, proposal.goal.tool.empty()); !usable)
        return reject(proposal, std::move(usable).error().message, {id});
    }
  }

  // A slot that was not left, or that the tool does not give.
  void check_slots(Proposal& proposal) const {
    for (const Reference& reference : proposal.references) {
      if (reference.slot.empty() || gives(reference)) continue;
      return reject(proposal,
                    "Expected sub-goal " + reference.sub_goal + " to give " + reference.slot + ", but it does not.",
                    {reference.sub_goal + "." + reference.slot});
    }
  }

  bool gives(const Reference& reference) const {
    const auto proposed = by_id_.find(reference.sub_goal);
    const SubGoal* goal = proposed == by_id_.end() ? find_goal(state_, branch_, reference.sub_goal) : nullptr;
    if (goal != nullptr && goal->status == GoalStatus::succeeded) return goal->outputs.contains(reference.slot);
    if (goal == nullptr && proposed == by_id_.end()) return true;  // rejected for another reason
    const std::string& tool = goal == nullptr ? proposals_[proposed->second].goal.tool : goal->tool;
    const auto facts = tools_ == nullptr ? ToolTable::const_iterator{} : tools_->find(tool);
    if (tools_ == nullptr || facts == tools_->end()) return true;
    return facts->second.gives.empty() || contains(facts->second.gives, reference.slot);
  }

  // Refuses a sub-goal that cannot be waited for. Structure may come after structure; work would wait for ever.
  Status check_usable(const std::string& id, bool by_structure) const {
    const auto proposed = by_id_.find(id);
    const SubGoal* goal = proposed == by_id_.end() ? find_goal(state_, branch_, id) : nullptr;
    const bool is_structure = goal == nullptr
                                  ? proposed != by_id_.end() && proposals_[proposed->second].goal.tool.empty()
                                  : goal->tool.empty();
    const auto refused = [](std::string says) { return Error{Code::invalid, std::move(says)}; };
    if (is_structure && !by_structure)
      return refused("Expected " + id + " to be work that can succeed, but it is structure, without a tool.");
    if (proposed != by_id_.end() || is_structure) return Done{};
    if (goal == nullptr) return refused("Expected " + id + " to be a sub-goal, but there is none of that id.");
    if (goal->status == GoalStatus::succeeded) return Done{};
    const Plan& own = state_.branches.at(branch_).plan;
    const bool will_run = own.by_id.find(id) != own.by_id.end() && goal->status == GoalStatus::planned;
    if (will_run) return Done{};
    return refused("Expected sub-goal " + id + " to have succeeded, but it is " + std::string(to_string(goal->status)) +
                   ".");
  }

  // Places of the proposals that come after each.
  std::vector<std::vector<std::size_t>> dependents() const {
    std::vector<std::vector<std::size_t>> after(proposals_.size());
    for (std::size_t place = 0; place < proposals_.size(); ++place)
      for (const std::string& id : proposals_[place].goal.after)
        if (const auto found = by_id_.find(id); found != by_id_.end()) after[found->second].push_back(place);
    return after;
  }

  void spread_rejections() {
    const auto after = dependents();
    std::deque<std::size_t> rejected;
    for (std::size_t place = 0; place < proposals_.size(); ++place)
      if (!proposals_[place].reason.empty()) rejected.push_back(place);
    while (!rejected.empty()) {
      const std::size_t place = rejected.front();
      rejected.pop_front();
      const std::string& id = proposals_[place].goal.sub_goal;
      for (const std::size_t next : after[place]) {
        if (!proposals_[next].reason.empty()) continue;
        reject(proposals_[next], "Expected sub-goal " + id + " to be part of the plan, but it was rejected.", {id});
        rejected.push_back(next);
      }
    }
  }

  // Kahn's topological order over the rest: a sub-goal that it cannot reach stands on a cycle or depends on one.
  void reject_cycles() {
    const auto after = dependents();
    std::vector<std::size_t> waits(proposals_.size(), 0);
    for (const auto& list : after)
      for (const std::size_t next : list) ++waits[next];
    std::deque<std::size_t> ready;
    for (std::size_t place = 0; place < proposals_.size(); ++place)
      if (waits[place] == 0) ready.push_back(place);
    std::set<std::size_t> reached;
    while (!ready.empty()) {
      const std::size_t place = ready.front();
      ready.pop_front();
      reached.insert(place);
      for (const std::size_t next : after[place])
        if (--waits[next] == 0) ready.push_back(next);
    }
    for (std::size_t place = 0; place < proposals_.size(); ++place)
      if (reached.count(place) == 0)
        reject(proposals_[place],
               "Expected no cycle, but sub-goal " + proposals_[place].goal.sub_goal +
                   " comes after itself through others, or after one that does.",
               proposals_[place].goal.after);
  }

  const RunState& state_;
  BranchId branch_;
  const Json& data_;
  const ToolTable* tools_;
  std::vector<Proposal> proposals_;
  std::map<std::string, std::size_t, std::less<>> by_id_;  // the first of each id
};

EventBody as_event(Proposal proposal) {
  if (proposal.reason.empty()) return std::move(proposal.goal);
  return SubGoalRejected{proposal.goal.sub_goal, proposal.goal.tool, std::move(proposal.reason),
                         std::move(proposal.unmet)};
}

}  // namespace

std::vector<EventBody> admit(const RunState& state, BranchId branch, const std::vector<Fact>& facts, const Json& data,
                             const ToolTable* tools) {
  Admission admission(state, branch, data, tools);
  for (const Fact& fact : facts) {
    if (const auto* goal = std::get_if<SubGoalOpened>(&fact)) admission.propose(*goal);
    if (const auto* rejected = std::get_if<SubGoalRejected>(&fact)) admission.propose(*rejected);
  }
  std::vector<Proposal> judged = std::move(admission).judged();
  std::vector<EventBody> events;
  std::size_t next = 0;
  for (const Fact& fact : facts) {
    if (std::holds_alternative<SubGoalOpened>(fact) || std::holds_alternative<SubGoalRejected>(fact))
      events.push_back(as_event(std::move(judged[next++])));
    else
      std::visit([&](const auto& other) { events.emplace_back(other); }, fact);
  }
  return events;
}

}  // namespace cairn
