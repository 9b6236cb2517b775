#include "engine/graph_migration.hpp"

#include <map>
#include <set>
#include <utility>

#include "engine/corrupt_history.hpp"

namespace cairn {
namespace {

std::string title(const Graph& graph) { return "graph " + graph.name + " of version " + graph.version.substr(0, 12); }

// The nodes where the run stands, by name, with who stands there.
std::map<std::string, std::string> standing(const RunState& state) {
  std::map<std::string, std::string> places;
  for (const auto& [id, step] : state.steps)
    places.emplace(state.graph->node(step.node).name, "step " + std::to_string(id));
  for (const auto& [id, branch] : state.branches) {
    if (branch.at_join >= 0) places.emplace(state.graph->node(branch.at_join).name, "branch " + std::to_string(id));
    if (branch.at_end >= 0) places.emplace(state.graph->node(branch.at_end).name, "branch " + std::to_string(id));
  }
  return places;
}

// The joins at which a branch that leaves `from` may arrive: those of fan-outs opened before `from`.
std::set<NodeIndex> joins_ahead(const Graph& graph, NodeIndex from) {
  std::set<NodeIndex> joins;
  std::set<std::pair<NodeIndex, int>> seen;  // a node and the fan-outs entered since `from`
  std::vector<std::pair<NodeIndex, int>> open{{from, 0}};
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    for (const auto& [label, targets] : graph.node(node).on) {
      const int inside = depth + (targets.size() > 1 ? 1 : 0);
      for (const NodeIndex target : targets) {
        const bool joins_here = graph.node(target).join;
        if (joins_here && inside == 0)
          joins.insert(target);
        else if (const std::pair next{target, inside - (joins_here ? 1 : 0)}; seen.insert(next).second)
          open.push_back(next);
      }
    }
  }
  return joins;
}

std::string kind_of_map(const Node& node) {
  if (node.items() == nullptr) return "sub-goals";
  return node.work() == nullptr ? "items by a call" : "items by a handler";
}

class Hindrances {
 public:
  Hindrances(const RunState& state, const Graph& to) : state_(state), to_(to) {}

  std::vector<std::string> all() && {
    for (const auto& [name, who] : standing(state_)) check_node(name, who);
    if (!says_.empty()) return std::move(says_);
    for (const auto& [id, step] : state_.steps) check_ways_out(step);
    check_branch(state_.branches.at(root_branch), "outside every fan-out", true);
    for (const auto& [id, branch] : state_.branches) check_data(branch);
    return std::move(says_);
  }

 private:
  void check_node(const std::string& name, const std::string& who) {
    const NodeIndex there = to_.find(name);
    const Node& here = state_.graph->node(state_.graph->find(name));
    if (there < 0) {
      says_.push_back("Expected " + title(to_) + " to have node " + name + ", where " + who +
                      " stands, but it has none of that name.");
      return;
    }
    const Node& node = to_.node(there);
    if (node.verb() == Verb::map && kind_of_map(node) != kind_of_map(here))
      says_.push_back("Expected node " + name + ", where " + who + " stands, to map " + kind_of_map(here) + " in " +
                      title(to_) + " as well, but it maps " + kind_of_map(node) + ".");
    else if (node.verb() != here.verb())
      says_.push_back("Expected node " + name + ", where " + who + " stands, to be " +
                      std::string(to_string(here.verb())) + " in " + title(to_) + " as well, but it is " +
                      std::string(to_string(node.verb())) + ".");
    else if (node.join != here.join)
      says_.push_back("Expected node " + name + ", where " + who + " stands, to " + (here.join ? "" : "not ") +
                      "be a join in " + title(to_) + " as well, but it is " + (node.join ? "one." : "none."));
  }

  // The label by which time may close the step, which stays as it was opened; "": none. All other labels of the engine
  // have an edge at each node of their verb.
  std::string label_of_time(const Step& step) const {
    const Node& here = state_.node(step);
    if (const auto* wait = here.as<WaitNode>(); wait != nullptr && wait->signal && step.due) return "timeout";
    const auto question = state_.questions.find(step.question);
    const bool may_expire = here.verb() == Verb::ask && question != state_.questions.end() &&
                            !question->second.fallback && (step.due || state_.options.autonomous);
    return may_expire ? "expired" : "";
  }

  void check_ways_out(const Step& step) {
    if (step.goal >= 0 || step.item >= 0) return;
    const Node& here = state_.node(step);
    const NodeIndex place = there(step.node);
    const Node& node = to_.node(place);
    const auto* wait = here.as<WaitNode>();
    if (wait != nullptr && wait->signal.has_value() != node.as<WaitNode>()->signal.has_value())
      says_.push_back("Expected node " + here.name + ", where step " + std::to_string(step.id) +
                      " stands, to wait for " + (wait->signal ? "a signal" : "a time") + " in " + title(to_) +
                      " as well, but it waits for " + (wait->signal ? "a time." : "a signal."));
    if (const std::string label = label_of_time(step); !label.empty() && to_.next(place, label) == nullptr)
      says_.push_back("Expected node " + here.name + " to have an edge for \"" + label + "\" in " + title(to_) +
                      ", by which step " + std::to_string(step.id) + " may leave, but it has none.");
  }

  NodeIndex there(NodeIndex node) const { return to_.find(state_.graph->node(node).name); }

  // The joins ahead of a branch in the new graph. A forked one's own branches must meet first, at one join.
  std::set<NodeIndex> check_branch(const Branch& branch, const std::string& where, bool is_outside) {
    std::set<NodeIndex> ahead;
    if (branch.at_join >= 0) {
      ahead = {there(branch.at_join)};
    } else if (branch.step != 0) {
      ahead = joins_ahead(to_, there(state_.steps.at(branch.step).node));
    } else if (!branch.fan.empty()) {
      for (const NodeIndex join : check_fan(branch)) ahead.merge(joins_ahead(to_, join));
    }
    if (is_outside && !ahead.empty())
      says_.push_back("Expected branch " + std::to_string(branch.id) + ", which is " + where + ", to meet no join in " +
                      title(to_) + ", but it would meet " + to_.node(*ahead.begin()).name + ".");
    return ahead;
  }

  std::set<NodeIndex> check_fan(const Branch& branch) {
    std::set<NodeIndex> joins;
    for (const BranchId id : branch.fan) joins.merge(check_branch(state_.branches.at(id), "in a fan-out", false));
    if (joins.size() < 2) return joins;
    std::string names;
    for (const NodeIndex join : joins) names += (names.empty() ? "" : " and ") + to_.node(join).name;
    says_.push_back("Expected the branches of the fan-out in branch " + std::to_string(branch.id) +
                    " to meet at one join in " + title(to_) + ", but they would meet at " + names + ".");
    return joins;
  }

  void check_data(const Branch& branch) {
    if (const Status fits = check_patch(Json::object(), branch.data.composed(*state_.graph), to_); !fits)
      says_.push_back("Expected what the run holds to fit the channels of " + title(to_) + ". " + fits.error().message);
  }

  const RunState& state_;
  const Graph& to_;
  std::vector<std::string> says_;
};

}  // namespace

std::vector<std::string> move_hindrances(const RunState& state, const Graph& to) { return Hindrances(state, to).all(); }

std::vector<std::string> missing_nodes(const RunState& state, const Graph& to) {
  std::vector<std::string> missing;
  for (const auto& [name, who] : standing(state))
    if (to.find(name) < 0) missing.push_back(name);
  return missing;
}

void move_to(RunState& state, GraphRef to) {
  for (const auto& [id, branch] : state.branches) branch.data.composed(*state.graph);
  const GraphRef from = std::exchange(state.graph, std::move(to));
  const auto moved = [&](NodeIndex node) {
    if (node < 0) return node;
    const std::string& name = from->node(node).name;
    const NodeIndex there = state.graph->find(name);
    if (there < 0) throw CorruptHistory("Expected " + title(*state.graph) + " to have node " + name + ".");
    return there;
  };
  for (auto& [id, step] : state.steps) step.node = moved(step.node);
  for (auto& [id, branch] : state.branches) {
    branch.at_join = moved(branch.at_join);
    branch.at_end = moved(branch.at_end);
  }
  for (const auto& [name, budget] : state.graph->budgets) {
    BudgetUse& use = state.budgets[name];
    const auto asked = state.options.budgets.find(name);
    use.cap = asked == state.options.budgets.end() ? budget.cap : asked->second;
    use.is_reported = use.is_reported && use.used >= use.cap;
  }
}

}  // namespace cairn
