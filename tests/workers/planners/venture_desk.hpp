// venture_scope's nodes one at a time, without a store or a worker: the channels lie on a desk, and each node's patch
// is applied by the graph's reducers. For one thread.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/workers/ports/loopback.hpp"
#include "workers/catalogue.hpp"
#include "workers/planners/venture_scope/fields.hpp"

namespace cairn::test {

// total = a * b; `a` may be searched and asked, `b` only asked, `c` is made of parts when it is wanted.
inline Json tiny_profile() {
  return Json::parse(R"({"name":"tiny","calculator":{"target":"total"},"fields":{
    "a":{"sources":["search","user"],"query":"alpha of {region}","question":"What is a?","find":{"about":["alpha"]},
         "min":0,"max":1000},
    "b":{"sources":["user"],"question":"What is b?"},
    "total":{"formula":"a * b"},
    "c":{"sources":["search","user"],"requires_components":true,"required":false,"find":{"about":["c"]}}},
    "decompositions":{"b":{"formula":"b.one + b.two","fields":{
        "b.one":{"sources":["user"],"question":"One?"},"b.two":{"sources":["user"],"question":"Two?"}}},
      "c":{"formula":"c.part * 2","fields":{"c.part":{"sources":["search","user"],"find":{"about":["part"]}}}}}})");
}

class VentureDesk {
 public:
  VentureDesk() : catalogue_(*make_catalogue({})) {
    for (const GraphRef& each : catalogue_->graphs)
      if (each->name == "venture_scope") graph = each;
    for (const auto& [name, budget] : graph->budgets) caps[name] = budget.cap;
    for (const auto& [name, cap] : caps) used[name] = 0;
    data = {{"question", "How much?"}, {"region", "Norland"}, {"currency", "EUR"}, {"profile", tiny_profile()}};
    data["fields"] = Json::object();
  }

  // Runs a pure node on the channels it declares and applies its patch.
  StepResult at(const std::string& node, const Json& given = nullptr) {
    StepResult result = std::get<PureHandler>(handler(node).run)(input_of(node, given));
    apply(result);
    return result;
  }
  // The same for a node that asks one of the ports.
  StepResult at(const std::string& node, Ports& ports) {
    StepResult result = testing::run(std::get<EffectHandler>(handler(node).run)(input_of(node), ports));
    apply(result);
    return result;
  }
  Outcome outcome(const std::string& node, const Json& given = nullptr) { return *at(node, given); }
  std::string label(const std::string& node, const Json& given = nullptr) { return outcome(node, given).label; }
  bool is_pure(const std::string& node) { return handler(node).is_pure(); }

  void set(const std::string& path, double value) {
    const std::int64_t version = data["fields"].value(path, Json::object()).value("version", std::int64_t{0});
    data["fields"][path] = {{"value", value}, {"source", "user"}, {"version", version + 1}};
  }
  void propose(const std::string& action, const std::string& target = "", const std::string& reason = "Because.") {
    data["decision"] = {{"action", action}, {"target_path", target}, {"query", ""},
                        {"question", ""},   {"reason", reason},      {"source", "model"}};
  }
  void calculation(const std::string& status, const std::string& blocked_path = "") {
    data["last_calculation"] = {{"status", status}, {"path", "total"}, {"inputs", {{"a", 1}, {"b", 1}}}};
    if (!blocked_path.empty()) data["last_calculation"]["blocked_path"] = blocked_path;
  }
  void use_up(const std::string& budget) { used[budget] = caps[budget]; }

  // The records of a kind that the outcome leaves, as JSON.
  static std::vector<Json> records(const Outcome& outcome, RecordKind kind) {
    std::vector<Json> found;
    for (const Fact& fact : outcome.facts)
      if (const auto* record = std::get_if<Record>(&fact); record != nullptr && record->kind == kind)
        found.push_back(Json::parse(record->fields));
    return found;
  }
  template <class T>
  static std::vector<T> facts(const Outcome& outcome) {
    std::vector<T> found;
    for (const Fact& fact : outcome.facts)
      if (const T* one = std::get_if<T>(&fact)) found.push_back(*one);
    return found;
  }

  GraphRef graph;
  Json data;
  std::map<std::string, std::int64_t> used;
  std::map<std::string, std::int64_t> caps;
  std::int64_t plan_version = 0;

 private:
  const Handler& handler(const std::string& node) const { return *catalogue_->handlers.find("venture_scope." + node); }

  StepInput input_of(const std::string& node, const Json& given = nullptr) const {
    StepInput input;
    input.node = node;
    input.with = Json::object();
    input.data = Json::object();
    for (const std::string& channel : handler(node).reads)
      if (data.contains(channel) && !data[channel].is_null()) input.data[channel] = data[channel];
    input.given = given;
    input.budgets = used;
    input.caps = caps;
    input.plan_version = plan_version;
    return input;
  }

  void apply(const StepResult& result) {
    if (!result) return;
    apply_patch(data, result->patch, *graph);
    for (const Fact& fact : result->facts) {
      if (const auto* created = std::get_if<PlanCreated>(&fact)) plan_version = created->version;
      if (const auto* revised = std::get_if<PlanRevised>(&fact)) plan_version = revised->version;
    }
  }

  std::unique_ptr<Catalogue> catalogue_;
};

// A case of the gate before a calculation, and a desk on which it is so.
struct GateCase {
  bool backed;
  bool capped;
  std::string last;
  bool current;
};
inline VentureDesk gate_desk(const GateCase& a) {
  VentureDesk desk;
  if (!a.backed) desk.data["profile"].erase("calculator");
  desk.outcome("prepare");
  desk.set("a", 2);
  desk.set("b", 3);
  if (!a.last.empty()) desk.calculation(a.last, a.last == "BLOCKED" ? "a" : "");
  if (!a.current) desk.set("a", 4);
  if (a.capped) desk.use_up("calc");
  return desk;
}

}  // namespace cairn::test
