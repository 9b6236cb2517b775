// A graph with every verb, the handlers that it names, and its faults once a part of it is spoiled. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph_parsing.hpp"

namespace cairn::whole_graph {

using Faults = std::vector<std::string>;

inline const Handlers handlers{{"planner.work", {{"ok", "no"}, false}}, {"model.decide", {{}, true}}};

// A graph with every verb, to be spoiled part by part.
inline Json whole() {
  return Json::parse(R"({
    "name": "sound", "start": "work", "description": "One of each.",
    "channels": {"sum": {"reducer": "sum"}, "plain": {}},
    "limits": {"steps": 100}, "budgets": {"tries": {"cap": 3}}, "context": {"keep_last": 5},
    "nodes": {
      "work": {"do": "planner.work", "cache": true, "queue": "model", "timeout_ms": 1000, "spends": "tries",
               "retry": {"attempts": 3, "lost": 2, "backoff_ms": 10, "factor": 1.5, "max_ms": 100, "jitter": 0.1},
               "with": {"a": "$plain"}, "on": {"ok": "question", "no": "far", "exhausted": "over", "error": "over"}},
      "far": {"do": "elsewhere.far", "labels": ["ok"], "on": {"ok": "goals"}},
      "goals": {"map": "sub_goals", "retry": {"attempts": 2}, "on": {"joined": "pause", "partial": "over"}},
      "pause": {"wait": {"ms": 10}, "on": {"fired": "signal"}},
      "signal": {"wait": {"signal": "go", "timeout_ms": 5}, "into": "plain", "on": {"fired": "until", "timeout": "over"}},
      "until": {"wait": {"until": "$plain"}, "on": {"fired": "child"}},
      "child": {"call": "other", "with": {"x": "$plain"}, "on": {"done": "over", "failed": "failed", "aborted": "over"}},
      "question": {"ask": {"kind": "question", "prompt": "Go on?", "schema": {"type": "boolean"}}, "expires_ms": 1000,
                   "into": "plain", "on": {"answered": "over", "expired": "over"}},
      "over": {"end": {"status": "done", "reason": "It is over.", "output": "$plain"}},
      "failed": {"end": "failed"}}})");
}

inline Faults faults_with(std::string_view pointer, const Json& value) {
  Json graph = whole();
  graph[Json::json_pointer(std::string(pointer))] = value;
  return graph_faults(graph, handlers);
}

inline Faults faults_without(std::string_view parent, const char* key) {
  Json graph = whole();
  graph[Json::json_pointer(std::string(parent))].erase(key);
  return graph_faults(graph, handlers);
}

}  // namespace cairn::whole_graph
