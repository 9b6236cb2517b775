#include "workers/simulation/shrink.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/graph_check.hpp"

namespace cairn::simulation {
namespace {

constexpr std::size_t story_lines = 1'000;  // the last ones

class Shrinker {
 public:
  Shrinker(Shrunk shrunk, const Cast& cast, int tries_max)
      : best_(std::move(shrunk)), cast_(cast), labels_(cast.handlers.labels()), tries_max_(tries_max) {}

  Shrunk shrunk() {
    for (bool moved = true; moved && best_.tries < tries_max_;) {
      moved = drop_from(&Scenario::faults);
      moved = drop_from(&Scenario::commands) || moved;
      moved = drop_from(&Scenario::other_changes) || moved;
      moved = drop_runs() || moved;
      moved = drop_sessions() || moved;
      moved = drop_nodes() || moved;
    }
    return std::move(best_);
  }

 private:
  bool still_fails(const Scenario& candidate) {
    if (++best_.tries > tries_max_) return false;
    Course course = simulate_and_compare(candidate, cast_);
    if (course.finding.empty() || is_comparison(course.finding) != is_comparison(best_.finding)) return false;
    best_.scenario = candidate;
    best_.finding = std::move(course.finding);
    return true;
  }

  // Other ends are no fault if a smaller graph lets the order decide; see smaller_graphs.
  static bool is_comparison(const std::string& finding) { return finding.starts_with("Run "); }

  // Halves first, then ever smaller pieces.
  template <class Part>
  bool drop_from(std::vector<Part> Scenario::*parts) {
    bool moved = false;
    for (std::size_t size = std::max<std::size_t>(1, (best_.scenario.*parts).size() / 2); size > 0; size /= 2) {
      for (std::size_t at = 0; at < (best_.scenario.*parts).size();) {
        Scenario smaller = best_.scenario;
        std::vector<Part>& left = smaller.*parts;
        const auto from = left.begin() + static_cast<std::ptrdiff_t>(at);
        left.erase(from, from + static_cast<std::ptrdiff_t>(std::min(size, left.size() - at)));
        if (still_fails(smaller)) {
          moved = true;
        } else {
          at += size;
        }
      }
    }
    return moved;
  }

  bool drop_runs() {
    bool moved = false;
    for (std::size_t at = 0; best_.scenario.runs.size() > 1 && at < best_.scenario.runs.size();) {
      Scenario smaller = best_.scenario;
      smaller.runs.erase(smaller.runs.begin() + static_cast<std::ptrdiff_t>(at));
      std::erase_if(smaller.commands, [at](const OutsideCommand& command) { return command.run == at; });
      for (OutsideCommand& command : smaller.commands) command.run -= command.run > at ? 1 : 0;
      if (still_fails(smaller)) {
        moved = true;
      } else {
        ++at;
      }
    }
    return moved;
  }

  bool drop_sessions() {
    bool moved = false;
    for (std::size_t at = 0; best_.scenario.sessions.size() > 1 && at < best_.scenario.sessions.size();) {
      Scenario smaller = best_.scenario;
      smaller.sessions.erase(smaller.sessions.begin() + static_cast<std::ptrdiff_t>(at));
      std::erase_if(smaller.faults, [at](const Fault& fault) { return fault.session == at; });
      for (Fault& fault : smaller.faults) fault.session -= fault.session > at ? 1 : 0;
      if (still_fails(smaller)) {
        moved = true;
      } else {
        ++at;
      }
    }
    return moved;
  }

  bool drop_nodes() {
    bool moved = false;
    for (const Json& graph : smaller_graphs(best_.scenario.graphs.front())) {
      if (!graph_faults(graph, labels_).empty()) continue;
      Scenario smaller = best_.scenario;
      smaller.graphs.front() = graph;
      if (!still_fails(smaller)) continue;
      return drop_nodes() || true;
    }
    return moved;
  }

  // Each without one node, or without one part of a fan-out; joins stay, so that no branch comes to an end of its own.
  static std::vector<Json> smaller_graphs(const Json& graph) {
    std::vector<Json> smaller;
    for (const auto& [name, node] : graph.at("nodes").items()) {
      const Json edges = node.value("on", Json::object());
      for (const auto& [label, next] : edges.items()) {
        if (next.is_string() && next != name && !node.contains("join")) {
          smaller.push_back(without(graph, name, next));
          break;
        }
        for (std::size_t part = 0; next.is_array() && next.size() > 1 && part < next.size(); ++part) {
          Json thinner = graph;
          thinner["nodes"][name]["on"][label].erase(part);
          smaller.push_back(reachable(std::move(thinner)));
        }
      }
    }
    return smaller;
  }

  static Json without(Json graph, const std::string& name, const Json& next) {
    if (graph["start"] == name) graph["start"] = next;
    graph["nodes"].erase(name);
    for (auto& [other, node] : graph["nodes"].items()) {
      if (!node.contains("on")) continue;
      for (auto& [label, target] : node["on"].items()) {
        if (target == name) target = next;
        if (!target.is_array()) continue;
        for (Json& part : target)
          if (part == name) part = next;
      }
    }
    return reachable(std::move(graph));
  }

  static Json reachable(Json graph) {
    std::set<std::string> seen{graph.at("start").get<std::string>()};
    std::vector<std::string> open(seen.begin(), seen.end());
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (!graph["nodes"].contains(name) || !graph["nodes"][name].contains("on")) continue;
      for (const auto& [label, target] : graph["nodes"][name]["on"].items()) {
        const Json targets = target.is_array() ? target : Json::array({target});
        for (const Json& one : targets)
          if (seen.insert(one.get<std::string>()).second) open.push_back(one.get<std::string>());
      }
    }
    Json nodes = Json::object();
    for (const auto& [name, node] : graph["nodes"].items())
      if (seen.contains(name)) nodes[name] = node;
    graph["nodes"] = std::move(nodes);
    return graph;
  }

  Shrunk best_;
  const Cast& cast_;
  Handlers labels_;
  int tries_max_;
};

}  // namespace

Shrunk shrink(Scenario failing, const Cast& cast, int tries_max) {
  Shrunk shrunk{std::move(failing), "", 0};
  shrunk.finding = simulate_and_compare(shrunk.scenario, cast).finding;
  CHECK(!shrunk.finding.empty());
  return Shrinker(std::move(shrunk), cast, tries_max).shrunk();
}

std::vector<std::string> lines_of(const Shrunk& shrunk, const Cast& cast) {
  std::vector<std::string> lines{
      shrunk.finding, "in this scenario (after " + std::to_string(shrunk.tries) + " tries to make it smaller):"};
  for (std::string& line : lines_of(shrunk.scenario)) lines.push_back("  " + std::move(line));
  lines.emplace_back("what happened:");
  Course course = simulate(shrunk.scenario, cast, true);
  const std::size_t from = course.story.size() > story_lines ? course.story.size() - story_lines : 0;
  if (from > 0) lines.push_back("  ... " + std::to_string(from) + " lines before");
  for (std::size_t at = from; at < course.story.size(); ++at) lines.push_back("  " + std::move(course.story[at]));
  return lines;
}

}  // namespace cairn::simulation
