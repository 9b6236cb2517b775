#include "engine/graph_walk.hpp"

#include <set>
#include <utility>

#include "engine/bounds.hpp"

namespace cairn {
namespace {

std::size_t index(int place) { return static_cast<std::size_t>(place); }

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
  std::vector<NodeIndex> begins{shape.start};
  if (shape.finally >= 0) begins.push_back(shape.finally);
  const std::vector<bool> reached = spread(forward, begins);
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
  explicit FanOutWalk(const Shape& shape) : shape_(shape), number_of_(shape.places.size()) {
    for (std::size_t node = 0; node < shape.places.size(); ++node) {
      for (const Edge& edge : shape.places[node].edges) {
        number_of_[node].push_back(edge.targets.size() > 1 ? static_cast<int>(fan_outs_.size()) : outside);
        if (edge.targets.size() > 1) fan_outs_.push_back({shape.places[node].name, edge.label, {}, {}});
      }
    }
  }

  std::vector<std::string> faults() {
    enter(shape_.start, outside);
    if (shape_.finally >= 0) enter(shape_.finally, outside);
    while (!open_.empty()) {
      const auto [node, around] = open_.back();
      open_.pop_back();
      leave(node, around);
    }
    for (std::size_t number = 0; number < fan_outs_.size(); ++number) {
      find_two_joins(fan_outs_[number]);
      find_nesting_in_itself(static_cast<int>(number));
    }
    return std::move(faults_);
  }

 private:
  static constexpr int outside = -1;  // not inside any fan-out
  struct FanOut {
    std::string node;
    std::string label;
    std::set<int> opened_inside;  // the fan-outs around it
    std::set<NodeIndex> joins;    // where its branches arrive
  };

  void leave(NodeIndex node, int around) {
    const std::vector<Edge>& edges = shape_.places[index(node)].edges;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const int number = number_of_[index(node)][i];
      if (number == outside) {
        enter(edges[i].targets.front(), around);
      } else {
        fan_out(number, edges[i], around);
      }
    }
  }

  void fan_out(int number, const Edge& edge, int around) {
    FanOut& opened = fan_outs_[index(number)];
    if (!opened.opened_inside.insert(around).second) return;
    for (const NodeIndex join : opened.joins) visit(join, around);
    for (const NodeIndex target : edge.targets) enter(target, number);
  }

  void enter(NodeIndex node, int around) {
    if (!shape_.places[index(node)].join) return visit(node, around);
    if (around == outside) return report_outside(node);
    FanOut& joined = fan_outs_[index(around)];
    if (!joined.joins.insert(node).second) return;
    for (const int outer : joined.opened_inside) visit(node, outer);
  }

  void visit(NodeIndex node, int around) {
    if (visited_.emplace(node, around).second) open_.emplace_back(node, around);
  }

  void report_outside(NodeIndex join) {
    if (!reported_outside_.insert(join).second) return;
    faults_.push_back("Expected join " + in_quotes(shape_.places[index(join)].name) +
                      " to be reached by branches of a fan-out only, but it can be reached outside of one.");
  }

  void find_two_joins(const FanOut& fan_out) {
    if (fan_out.joins.size() < 2) return;
    std::string joins;
    for (const NodeIndex join : fan_out.joins) {
      joins += (joins.empty() ? "" : " and ") + in_quotes(shape_.places[index(join)].name);
    }
    faults_.push_back("Expected all branches of " + text(fan_out) + " to reach one join, but they reach " + joins +
                      ".");
  }

  void find_nesting_in_itself(int number) {
    std::vector<bool> around(fan_outs_.size());
    std::vector<int> open{number};
    while (!open.empty()) {
      const int inner = open.back();
      open.pop_back();
      for (const int outer : fan_outs_[index(inner)].opened_inside) {
        if (outer == outside || around[index(outer)]) continue;
        around[index(outer)] = true;
        open.push_back(outer);
      }
    }
    if (!around[index(number)]) return;
    faults_.push_back("Expected " + text(fan_outs_[index(number)]) +
                      " to be joined before it opens again, but it can open inside itself.");
  }

  static std::string text(const FanOut& fan_out) {
    return "fan-out " + in_quotes(fan_out.label) + " of node " + in_quotes(fan_out.node);
  }

  const Shape& shape_;
  std::vector<std::vector<int>> number_of_;  // by node and edge; `outside` for an edge that is no fan-out
  std::vector<FanOut> fan_outs_;
  std::set<std::pair<NodeIndex, int>> visited_;
  std::vector<std::pair<NodeIndex, int>> open_;
  std::set<NodeIndex> reported_outside_;
  std::vector<std::string> faults_;
};

}  // namespace

std::string in_quotes(std::string_view name) {
  return "\"" + recordable(std::string(name.substr(0, name_bytes_max + 1)), name_bytes_max) + "\"";
}

std::vector<std::string> walk_faults(const Shape& shape) {
  std::vector<std::string> faults;
  find_unreached(shape, faults);
  for (std::string& fault : FanOutWalk(shape).faults()) faults.push_back(std::move(fault));
  return faults;
}

}  // namespace cairn
