#include "engine/graph_walk.hpp"

#include <map>
#include <set>
#include <utility>

namespace cairn {
namespace {

std::string in_quotes(const std::string& name) { return "\"" + name + "\""; }

std::size_t index(NodeIndex node) { return static_cast<std::size_t>(node); }

std::vector<bool> spread(const std::vector<std::vector<NodeIndex>>& edges, std::vector<NodeIndex> open) {
  std::vector<bool> seen(edges.size());
  for (const NodeIndex node : open) seen[index(node)] = true;
  while (!open.empty()) {
    const NodeIndex node = open.back();
    open.pop_back();
    for (const NodeIndex target : edges[index(node)]) {
      if (seen[index(target)]) continue;
      seen[index(target)] = true;
      open.push_back(target);
    }
  }
  return seen;
}

void find_unreached(const Shape& shape, std::vector<std::string>& faults) {
  std::vector<std::vector<NodeIndex>> forward(shape.places.size());
  std::vector<std::vector<NodeIndex>> backward(shape.places.size());
  std::vector<NodeIndex> ends;
  for (std::size_t from = 0; from < shape.places.size(); ++from) {
    if (shape.places[from].end) ends.push_back(static_cast<NodeIndex>(from));
    for (const Edge& edge : shape.places[from].edges) {
      for (const NodeIndex target : edge.targets) {
        forward[from].push_back(target);
        backward[index(target)].push_back(static_cast<NodeIndex>(from));
      }
    }
  }
  const std::vector<bool> reached = spread(forward, {shape.start});
  const std::vector<bool> can_end = spread(backward, ends);
  const std::string start = in_quotes(shape.places[index(shape.start)].name);
  for (std::size_t i = 0; i < shape.places.size(); ++i) {
    const std::string node = "node " + in_quotes(shape.places[i].name);
    if (!reached[i])
      faults.push_back("Expected " + node + " to be reachable from " + start + ", but no edge leads there.");
    if (!can_end[i]) faults.push_back("Expected an end to be reachable from " + node + ", but there is none.");
  }
}

// Walks every branch of every fan-out. The stack of fan-outs around a node matters only by its top: what lies below is
// the same for all that the top encloses, and is found again through those who opened the top. So a place in the walk
// is (node, innermost fan-out), and the walk is bounded by nodes times fan-outs.
class FanOutWalk {
 public:
  explicit FanOutWalk(const Shape& shape) : shape_(shape) {}

  std::vector<std::string> faults() {
    enter(shape_.start, root);
    while (!open_.empty()) {
      const auto [node, inside] = open_.back();
      open_.pop_back();
      leave(node, inside);
    }
    for (const auto& [name, fan_out] : fan_outs_) {
      find_two_joins(name, fan_out);
      find_nesting_in_itself(name);
    }
    return std::move(faults_);
  }

 private:
  using Name = std::pair<NodeIndex, std::string>;  // of a fan-out: node and label
  struct FanOut {
    std::set<Name> opened_inside;  // the fan-outs around it
    std::set<NodeIndex> joins;     // where its branches arrive
  };
  inline static const Name root{-1, ""};  // not inside any fan-out

  void leave(NodeIndex node, const Name& inside) {
    for (const Edge& edge : shape_.places[index(node)].edges) {
      if (edge.targets.size() == 1) {
        enter(edge.targets.front(), inside);
      } else {
        fan_out(node, edge, inside);
      }
    }
  }

  void fan_out(NodeIndex node, const Edge& edge, const Name& inside) {
    const Name name{node, edge.label};
    FanOut& opened = fan_outs_[name];
    if (!opened.opened_inside.insert(inside).second) return;
    for (const NodeIndex join : opened.joins) visit(join, inside);
    for (const NodeIndex target : edge.targets) enter(target, name);
  }

  void enter(NodeIndex node, const Name& inside) {
    if (!shape_.places[index(node)].join) return visit(node, inside);
    if (inside == root) return tell_outside(node);
    FanOut& joined = fan_outs_[inside];
    if (!joined.joins.insert(node).second) return;
    for (const Name& around : joined.opened_inside) visit(node, around);
  }

  void visit(NodeIndex node, const Name& inside) {
    if (visited_.emplace(node, inside).second) open_.emplace_back(node, inside);
  }

  void tell_outside(NodeIndex join) {
    if (!told_outside_.insert(join).second) return;
    faults_.push_back("Expected join " + in_quotes(shape_.places[index(join)].name) +
                      " to be reached by branches of a fan-out only, but it can be reached outside of one.");
  }

  void find_two_joins(const Name& name, const FanOut& fan_out) {
    if (fan_out.joins.size() < 2) return;
    std::string joins;
    for (const NodeIndex join : fan_out.joins) {
      joins += (joins.empty() ? "" : " and ") + in_quotes(shape_.places[index(join)].name);
    }
    faults_.push_back("Expected all branches of " + text(name) + " to reach one join, but they reach " + joins + ".");
  }

  void find_nesting_in_itself(const Name& name) {
    std::set<Name> around;
    std::vector<Name> open{name};
    while (!open.empty()) {
      const Name inner = open.back();
      open.pop_back();
      for (const Name& outer : fan_outs_[inner].opened_inside) {
        if (outer != root && around.insert(outer).second) open.push_back(outer);
      }
    }
    if (!around.contains(name)) return;
    faults_.push_back("Expected " + text(name) + " to be joined before it opens again, but it can open inside itself.");
  }

  std::string text(const Name& name) const {
    return "fan-out " + in_quotes(name.second) + " of node " + in_quotes(shape_.places[index(name.first)].name);
  }

  const Shape& shape_;
  std::map<Name, FanOut> fan_outs_;
  std::set<std::pair<NodeIndex, Name>> visited_;
  std::vector<std::pair<NodeIndex, Name>> open_;
  std::set<NodeIndex> told_outside_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> walk_faults(const Shape& shape) {
  std::vector<std::string> faults;
  find_unreached(shape, faults);
  for (std::string& fault : FanOutWalk(shape).faults()) faults.push_back(std::move(fault));
  return faults;
}

}  // namespace cairn
