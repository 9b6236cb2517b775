#include "workers/simulation/random_graph.hpp"

#include <utility>
#include <vector>

namespace cairn::simulation {
namespace {

// Builds a graph of blocks, each of which leads on to the next one.
class GraphMaker {
 public:
  GraphMaker(Chance& chance, const RandomGraph& what) : chance_(chance), what_(what) {}

  Json made() {
    nodes_["z"] = {{"end", "done"}};
    if (what_.has_references)
      nodes_["z"]["end"] = {
          {"status", "done"},
          {"output", {{"sum", {{"$", "sum"}, {"default", 0}}}, {"says", "{{sum|0}} of {{top|none}}"}}}};
    std::string next = "z";
    for (std::uint64_t n = 1 + chance_.below(what_.blocks_max); n > 0; --n) next = block(next, 0);
    Json graph = {{"name", what_.name},
                  {"start", next},
                  {"limits", {{"steps", 100000}}},
                  {"budgets", {{"coins", {{"cap", chance_.below(3)}}}}},
                  {"channels",
                   {{"trace", {{"reducer", "append"}}},
                    {"sum", {{"reducer", "sum"}}},
                    {"top", {{"reducer", "max"}}},
                    {"map", {{"reducer", "merge"}}}}}};
    if (what_.is_fragile) may_end_early(graph);
    graph["nodes"] = nodes_;
    return graph;
  }

 private:
  void may_end_early(Json& graph) {
    if (chance_.one_in(3)) graph["limits"]["ms"] = chance_.between(50, 3'000);
    if (chance_.one_in(2)) graph["finally"] = chance_.one_in(2) ? call("z") : fan(step("z"), 2);
  }

  std::string fresh(const std::string& kind) { return kind + "_" + std::to_string(++count_); }

  std::string block(const std::string& next, int depth) {
    switch (chance_.below(depth < 3 ? 9 : 6)) {
      case 0:
        return ask(next);
      case 1:
        return wait(next);
      case 2:
        return loop(next);
      case 3:
        return call(next);
      case 4:
        return chance_.one_in(2) ? map(next) : items(next, depth);
      case 5:
        return depth == 0 ? budgeted(next) : step(next);
      case 6:
        return step(next);
      default:
        return fan(next, depth);
    }
  }

  Json worker(const std::string& next, std::vector<std::string> labels) {
    const bool is_pure = what_.has_pure && chance_.one_in(2);
    Json node = {{"do", is_pure ? "x.pure" : "x.y"}, {"labels", labels}, {"on", {{"ok", next}, {"error", next}}}};
    const int lost = what_.is_fragile && chance_.one_in(6) ? 0 : 1000;
    node["retry"] = {{"attempts", 1 + chance_.below(3)}, {"lost", lost}, {"backoff_ms", chance_.below(2) * 10}};
    if (what_.has_queues && (what_.is_all_in_other || chance_.one_in(4))) node["queue"] = "other";
    if (is_pure && chance_.one_in(3)) node["cache"] = true;
    if (what_.has_times && !is_pure && chance_.one_in(3)) node["timeout_ms"] = 300;
    if (what_.is_fragile && chance_.one_in(4)) node["on"].erase("error");
    if (what_.has_references && chance_.one_in(2)) node["with"] = references();
    return node;
  }
  // They read what may be missing, with a default; where a failure does no harm, without one too.
  Json references() {
    Json with = {{"number", {{"$", "last_" + std::to_string(chance_.below(3))}, {"default", 7}}},
                 {"why", {{"$", "error/error"}, {"default", nullptr}}},
                 {"said", "At {{error/node|the start}}: {{error/message|nothing}}, {{{{ {{map|none}}"}};
    if (what_.is_fragile && chance_.one_in(3)) with["needed"] = "$last_" + std::to_string(chance_.below(3));
    return with;
  }

  std::string step(const std::string& next) {
    const std::string name = fresh("do");
    nodes_[name] = worker(next, {"ok"});
    return name;
  }
  std::string budgeted(const std::string& next) {
    const std::string name = step(next);
    nodes_[name]["spends"] = "coins";
    nodes_[name]["on"]["exhausted"] = next;
    return name;
  }
  std::string loop(const std::string& next) {
    const std::string name = fresh("loop");
    nodes_[name] = worker(next, {"ok", "again"});
    nodes_[name]["on"]["again"] = name;
    return name;
  }
  std::string ask(const std::string& next) {
    const std::string name = fresh("ask");
    nodes_[name] = {{"ask", {{"kind", "question"}, {"prompt", "?"}}},
                    {"into", name},
                    {"on", {{"answered", next}, {"expired", next}}}};
    if (what_.is_fragile && chance_.one_in(2)) nodes_[name]["expires_ms"] = chance_.between(50, 1'500);
    return name;
  }
  std::string wait(const std::string& next) {
    const std::string name = fresh("wait");
    if (chance_.below(2) == 0) {
      nodes_[name] = {{"wait", {{"ms", 5}}}, {"on", {{"fired", next}}}};
      return name;
    }
    nodes_[name] = {{"wait", {{"signal", name}}}, {"into", name}, {"on", {{"fired", next}}}};
    if (what_.is_fragile && chance_.one_in(2)) {
      nodes_[name]["wait"]["timeout_ms"] = chance_.between(50, 1'500);
      nodes_[name]["on"]["timeout"] = next;
    }
    return name;
  }
  std::string call(const std::string& next) {
    const std::string name = fresh("call");
    nodes_[name] = {{"call", "kid"}, {"into", name}, {"on", {{"done", next}, {"failed", next}}}};
    return name;
  }
  std::string map(const std::string& next) {
    const std::string work = fresh("map");
    nodes_[work] = {{"map", "sub_goals"},
                    {"retry", {{"attempts", 1 + chance_.below(2)}, {"lost", 1000}}},
                    {"on", {{"joined", next}, {"partial", next}}}};
    const std::string plan = fresh("plan");
    nodes_[plan] = worker(work, {"ok"});
    nodes_[plan]["on"]["error"] = work;
    return plan;
  }
  std::string items(const std::string& next, int depth) {
    const std::string name = fresh("each");
    Json map = {{"over", Json::array()}, {"into", name}, {"failures", name + "_failed"}};
    for (std::uint64_t n = chance_.below(6); n > 0; --n) map["over"].push_back(n);
    map["concurrency"] = 1 + chance_.below(4);
    if (chance_.one_in(3)) {
      map["call"] = "kid";
      map["with"] = {{"n", "$item"}};
    } else {
      map["do"] = what_.has_pure && chance_.one_in(2) ? "x.pure" : "x.y";
      map["labels"] = {"ok"};
    }
    nodes_[name] = {{"map", map},
                    {"retry", {{"attempts", 1 + chance_.below(2)}, {"lost", 1000}}},
                    {"on", {{"joined", next}, {"partial", next}}}};
    if (depth == 0 && chance_.one_in(3)) nodes_[name]["spends"] = "coins";
    return name;
  }
  std::string fan(const std::string& next, int depth) {
    const std::string join = fresh("join");
    nodes_[join] = worker(next, {"ok"});
    nodes_[join]["join"] = true;
    Json parts = Json::array();
    for (std::uint64_t n = 2 + chance_.below(3); n > 0; --n) {
      std::string part = join;
      for (std::uint64_t m = 1 + chance_.below(2); m > 0; --m) part = block(part, depth + 1);
      parts.push_back(part);
    }
    const std::string fork = fresh("fork");
    nodes_[fork] = worker(next, {"ok"});
    nodes_[fork]["on"] = {{"ok", parts}};
    nodes_[fork]["retry"]["attempts"] = 1000;
    return fork;
  }

  Chance& chance_;
  const RandomGraph& what_;
  Json nodes_ = Json::object();
  int count_ = 0;
};

}  // namespace

Json random_graph(Chance& chance, const RandomGraph& what) { return GraphMaker(chance, what).made(); }

}  // namespace cairn::simulation
