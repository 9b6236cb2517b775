// Cases of a graph, as `cairn graph test` runs them: an input, what people, tools, models and other programs say, and
// the way and end that are expected. A case runs in the simulator without faults: real sessions and handlers, virtual
// time, nothing outside. Not thread-safe.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn::simulation {

// A case, read from
//   {"name", "input"?: {...},
//    "nodes"?: {NODE: [{"label", "patch"?, "sub_goals"?, "takes_ms"?} | {"error", "message"?, "retryable"?}]},
//    "tools"?: {TOOL: [{"outputs", "takes_ms"?} | {"error", ...}]},
//    "models"?: {NODE: [{"value"} | {"reply"} | {"error"}]},  as CAIRN_MODEL_SCRIPT has them
//    "answers"?: {NODE: [VALUE]}, "signals"?: {NAME: [VALUE]},
//    "cancel_ms"?: how long after its begin the run is cancelled,
//    "expect"?: {"status"?: "done" | "failed" | "aborted" | "waiting", "reason"?, "output"?, "path"?: [NODE]}}
// Entries of a list are taken in order. The last one of nodes, tools and models is then taken again each time; after
// the last answer or signal no other comes.
struct GraphCase {
  std::string name;
  Json input = Json::object();
  Json says = Json::object();  // nodes, tools, models, answers, signals
  std::int64_t cancel_ms = 0;  // 0: never
  Json expect = Json::object();
};

// Refuses `invalid` with one sentence that names the case.
Result<std::vector<GraphCase>> read_cases(const Json& cases);

using TakenEdge = std::pair<std::string, std::string>;  // node and label
std::set<TakenEdge> edges_of(const Graph& graph);

struct CaseResult {
  std::string finding;  // one sentence; "" if all came as expected
  std::string status;   // done, failed, aborted or waiting
  std::string reason;
  Json output;
  std::vector<std::string> path;  // the nodes that were left, in order, and the end that was reached
  std::set<TakenEdge> edges;      // of all runs of the graph
};

// The world that cases share.
struct CaseWorld {
  std::vector<Json> graphs;  // the first is run; those it calls follow
  const HandlerTable& handlers;
  ToolTable tools;
  Model& model;  // answers where a case says nothing
};

// Pure handlers do what they do; effects go to the case's tools and models. `echo`, `sleep` and `fail` do as always.
// If a step needs more than the case says, that is the finding.
CaseResult run_case(const GraphCase& graph_case, const CaseWorld& world);

}  // namespace cairn::simulation
