// ops/guide/graph.schema.json, held against the engine's own check of graphs: what the schema refuses is a fault, what
// is a fault the schema refuses where a schema can say it, and both know the same settings with the same defaults.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "workers/catalogue.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

using Names = std::set<std::string>;
using Pointer = Json::json_pointer;

Json read_json_file(const std::filesystem::path& path) { return Json::parse(program::read_file(path)); }

const Json& graph_schema() {
  static const Json schema =
      read_json_file(std::filesystem::path(testing::source_dir()) / "ops/guide/graph.schema.json");
  return schema;
}

const Handlers& known_handlers() {
  static const Handlers handlers = [] {
    const auto catalogue = make_catalogue({});
    Handlers labels = (*catalogue)->handlers.labels();
    labels["test.work"] = {{"ok", "no"}, false, true};
    return labels;
  }();
  return handlers;
}

// Every setting of every verb stands in it once.
Json full_graph() {
  return Json::parse(R"({
    "$schema": "graph.schema.json", "name": "full", "start": "work", "description": "One of each.",
    "input": {"type": "object", "properties": {"plain": {"type": "string"}}},
    "output": {"type": "object"},
    "channels": {"total": {"reducer": "sum"}},
    "finally": "pause", "limits": {"steps": 100, "ms": 60000}, "budgets": {"tries": {"cap": 3}},
    "context": {"keep_last": 5, "max_bytes": 10, "summary_template": "s"}, "keep": "90d",
    "expose": {"tool": "full-tool", "description": "Does one of each.", "resource": "full://{plain}/all",
               "mime_type": "text/plain"},
    "nodes": {
      "work": {"do": "test.work", "cache": true, "queue": "model", "timeout_ms": 1000, "spends": "tries", "join": false,
               "retry": {"attempts": 3, "lost": 2, "backoff_ms": 10, "factor": 1.5, "max_ms": 100, "jitter": 0.1},
               "labels": ["ok", "no"], "with": {"a": "$plain"},
               "on": {"ok": ["left", "right"], "no": "far", "exhausted": "over", "error": "over"}},
      "left": {"do": "elsewhere.left", "labels": ["ok"], "on": {"ok": "meet"}},
      "right": {"do": "elsewhere.right", "labels": ["ok"], "on": {"ok": "meet"}},
      "meet": {"do": "elsewhere.meet", "labels": ["ok"], "join": true, "on": {"ok": "far"}},
      "far": {"do": "elsewhere.far", "labels": ["ok"], "on": {"ok": "each"}},
      "each": {"map": {"over": "$plain", "do": "test.work", "with": {"a": "$item"}, "labels": ["ok", "no"],
                       "queue": "model", "concurrency": 5, "into": "plain", "failures": "lost"},
               "on": {"joined": "children", "partial": "over"}},
      "children": {"map": {"over": [1], "call": "other", "concurrency": 5}, "on": {"joined": "goals"}},
      "goals": {"map": "sub_goals", "retry": {"attempts": 2}, "cache": true, "timeout_ms": 9, "spends": "tries",
                "join": false, "on": {"joined": "pause", "partial": "over", "error": "over", "exhausted": "over"}},
      "pause": {"wait": {"ms": 10}, "on": {"fired": "signal"}},
      "signal": {"wait": {"signal": "go", "timeout_ms": 5}, "into": "plain", "spends": "tries", "join": false,
                 "on": {"fired": "until", "timeout": "over", "error": "over", "exhausted": "over"}},
      "until": {"wait": {"until": "2026-11-21T22:23:47Z"}, "on": {"fired": "child"}},
      "child": {"call": "other", "with": {"x": "$plain"}, "into": "plain", "spends": "tries", "join": false,
                "on": {"done": "question", "failed": "failed", "aborted": "over", "error": "over", "exhausted": "over"}},
      "question": {"ask": {"kind": "question", "prompt": "Go on?", "schema": {"type": "boolean"}, "default": true},
                   "expires_ms": 1000, "into": "plain", "spends": "tries", "join": false,
                   "on": {"answered": "open", "expired": "over", "error": "over", "exhausted": "over"}},
      "open": {"ask": {}, "on": {"answered": "over", "expired": "over"}},
      "over": {"end": {"status": "done", "reason": "It is over.", "output": "$plain"}},
      "failed": {"end": "failed"}}})");
}

// A graph has one of these at most.
std::vector<Json> full_graphs() {
  const Json policies = {{"singleton", {{"key", "/plain"}, {"when", "queue"}}},
                         {"debounce", {{"key", "tag.plain"}, {"quiet", "500ms"}, {"at_most", "1h"}}},
                         {"batch", {{"key", "/plain"}, {"size", 5}, {"after", "10s"}}}};
  std::vector<Json> graphs;
  for (const auto& [word, policy] : policies.items()) {
    graphs.push_back(full_graph());
    graphs.back()[word] = policy;
  }
  return graphs;
}

std::vector<std::string> faults_of(const Json& graph) { return graph_faults(graph, known_handlers()); }

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += "\n  " + sentence;
  return text;
}

// Faults that only the engine's check can find: it knows the handlers, follows the edges, and counts what refers to
// what.
bool is_beyond_a_schema(const std::string& fault) {
  static const std::regex beyond(
      "to be reachable from|to lead to a node, but there is no |to spend a budget of the graph|"
      "node \"(work|left|right|meet|far)\" to (leave by .* only|have an edge for|spend a budget, but)|"
      "to have a known handler|to declare the labels that|to be those of|"
      "to cache what a pure handler leaves|to be a node, but|to be a node that does something|branches");
  return std::regex_search(fault, beyond);
}

// True if both refuse it.
bool expect_agreement(const Json& graph, const std::string& change) {
  const Status fits = check_value(graph_schema(), graph);
  const std::vector<std::string> faults = faults_of(graph);
  if (!fits) {
    EXPECT_FALSE(faults.empty()) << change << ": only the schema refuses it: " << fits.error().message;
    return true;
  }
  EXPECT_TRUE(std::all_of(faults.begin(), faults.end(), is_beyond_a_schema))
      << change << ": only the engine refuses it:" << joined(faults);
  return false;
}

// Every place of a value, the value itself first.
void collect_places(const Json& value, const Pointer& at, std::vector<Pointer>& places) {
  places.push_back(at);
  if (value.is_object())
    for (const auto& [key, member] : value.items()) collect_places(member, at / key, places);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) collect_places(value[i], at / i, places);
}

std::vector<Pointer> places_of(const Json& value) {
  std::vector<Pointer> places;
  collect_places(value, Pointer(), places);
  return places;
}

// --- the built-in graphs --------------------------------------------------------------------------------------------

TEST(GraphSchema, can_be_used) { EXPECT_TRUE(check_schema(graph_schema())); }

TEST(GraphSchema, every_built_in_graph_fits) {
  int count = 0;
  const auto folder = std::filesystem::path(testing::source_dir()) / "engine/graphs";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Json graph = read_json_file(entry.path());
    EXPECT_TRUE(check_value(graph_schema(), graph)) << entry.path();
    expect_agreement(graph, entry.path().filename().string());
    ++count;
  }
  EXPECT_GE(count, 7);
}

// --- the same settings ----------------------------------------------------------------------------------------------

// The keys that an object may have, from the sentence of the check when it has another: "Expected the graph's limits to
// have only the keys steps, but it has "zz"." Nothing where any key is allowed.
std::optional<Names> keys_of_the_check(const Json& graph, const Pointer& object) {
  static const std::regex sentence("to have only the keys (.*), but it has \"zz\"\\.");
  Json changed = graph;
  changed[object]["zz"] = 1;
  for (const std::string& fault : faults_of(changed)) {
    std::smatch found;
    if (!std::regex_search(fault, found, sentence)) continue;
    const std::string listed = std::regex_replace(found[1].str(), std::regex(" and "), ", ");
    Names names;
    const std::regex name("[^, ]+");
    for (std::sregex_iterator word(listed.begin(), listed.end(), name), end; word != end; ++word)
      names.insert(word->str());
    return names;
  }
  return std::nullopt;
}

// Where the schema describes the object at a place of the full graph; "" for one of the graph's own maps (names to
// values), for data, and for edges, whose labels the check explains otherwise.
std::string place_in_schema(const Json& graph, const std::string& at) {
  static const std::regex node("/nodes/([a-z]+)(/(ask|wait|end|retry|map))?");
  static const std::regex part("/(limits|context|expose|singleton|debounce|batch)");
  static const std::regex entry("/(channel|budget)s/[a-z]+");
  std::smatch found;
  if (at.empty()) return "/properties";
  if (std::regex_match(at, found, part)) return "/properties/" + found[1].str() + "/properties";
  if (std::regex_match(at, found, entry)) return "/definitions/" + found[1].str() + "/properties";
  if (!std::regex_match(at, found, node)) return "";
  if (found[3] == "retry") return "/definitions/retry/properties";
  if (found[3] == "map") return "/definitions/map_items/properties";
  const Json& settings = graph["nodes"][found[1].str()];
  for (const char* verb : {"do", "ask", "map", "wait", "call", "end"}) {
    if (!settings.contains(verb)) continue;
    const std::string verb_of = "/definitions/" + std::string(verb) + "/properties";
    if (!found[3].matched) return verb_of;
    return verb_of + "/" + found[3].str() + (found[3] == "end" ? "/anyOf/1" : "") + "/properties";
  }
  return "";
}

TEST(GraphSchema, knows_the_settings_that_the_engine_knows_and_no_others) {
  for (const Json& graph : full_graphs()) {
    ASSERT_EQ(joined(faults_of(graph)), "");
    ASSERT_TRUE(check_value(graph_schema(), graph));
    std::size_t compared = 0;
    for (const Pointer& at : places_of(graph)) {
      if (!graph[at].is_object()) continue;
      const std::optional<Names> keys = keys_of_the_check(graph, at);
      const std::string place = place_in_schema(graph, at.to_string());
      EXPECT_EQ(keys.has_value(), !place.empty()) << "at \"" << at.to_string() << "\"";
      if (!keys || place.empty()) continue;
      Names described;
      for (const auto& [key, setting] : graph_schema()[Pointer(place)].items()) described.insert(key);
      EXPECT_EQ(*keys, described) << "at \"" << at.to_string() << "\"";
      ++compared;
    }
    EXPECT_EQ(compared, 33u);
  }
}

TEST(GraphSchema, the_full_graph_has_every_setting_of_the_schema) {
  Names used;
  for (const Json& graph : full_graphs())
    for (const Pointer& at : places_of(graph))
      if (!at.empty()) used.insert(at.back());
  const auto expect_used = [&used](const Json& properties) {
    for (const auto& [key, setting] : properties.items()) EXPECT_TRUE(used.contains(key)) << key;
  };
  for (const Pointer& at : places_of(graph_schema()))
    if (!at.empty() && at.back() == "properties") expect_used(graph_schema()[at]);
}

TEST(GraphSchema, knows_the_verbs_and_reducers_of_the_engine) {
  Names verbs;
  for (const Json& verb : graph_schema()["definitions"]["node"]["oneOf"]) {
    const auto ref = verb["$ref"].get<std::string>();
    verbs.insert(ref.substr(ref.rfind('/') + 1));
  }
  Names engine;
  for (const Verb verb : {Verb::do_, Verb::ask, Verb::map, Verb::wait, Verb::call, Verb::end})
    engine.insert(std::string(to_string(verb)));
  EXPECT_EQ(verbs, engine);
  Json graph = full_graph();
  graph["nodes"]["failed"] = Json::object();
  const std::string fault = faults_of(graph).at(0);
  EXPECT_NE(fault.find("to have one of do, ask, map, wait, call and end"), std::string::npos) << fault;
  Names reducers;
  for (const Reducer reducer : {Reducer::last, Reducer::append, Reducer::merge, Reducer::sum, Reducer::max})
    reducers.insert(std::string(to_string(reducer)));
  EXPECT_EQ(graph_schema()["definitions"]["channel"]["properties"]["reducer"]["enum"].get<Names>(), reducers);
}

TEST(GraphSchema, gives_the_defaults_of_the_engine) {
  const Json& retry = graph_schema()["definitions"]["retry"]["properties"];
  const Retry without;
  EXPECT_EQ(retry["attempts"]["default"], without.attempts);
  EXPECT_EQ(retry["lost"]["default"], without.lost);
  EXPECT_EQ(retry["backoff_ms"]["default"], without.backoff_ms);
  EXPECT_EQ(retry["factor"]["default"], without.factor);
  EXPECT_EQ(retry["max_ms"]["default"], without.max_ms);
  EXPECT_EQ(retry["jitter"]["default"], without.jitter);
  const Json& definitions = graph_schema()["definitions"];
  const Node node;
  EXPECT_EQ(definitions["join"]["default"], node.join);
  EXPECT_EQ(definitions["cache"]["default"], node.cache);
  EXPECT_EQ(definitions["with"]["default"], DoNode().with);
  EXPECT_EQ(definitions["with"]["default"], CallNode().with);
  EXPECT_EQ(definitions["do"]["properties"]["queue"]["default"], DoNode().queue);
  EXPECT_EQ(definitions["map_items"]["properties"]["queue"]["default"], DoNode().queue);
  EXPECT_EQ(definitions["map_items"]["properties"]["concurrency"]["default"], MapNode::Items().concurrency);
  const Json& question = definitions["ask"]["properties"]["ask"]["properties"];
  EXPECT_EQ(question["kind"]["default"], AskNode().kind);
  EXPECT_EQ(question["schema"]["default"], AskNode().schema);
  const Graph graph;
  EXPECT_EQ(definitions["channel"]["properties"]["reducer"]["default"], to_string(graph.reducer("undeclared")));
}

// --- the same verdicts ----------------------------------------------------------------------------------------------

const Json& odd_values() {
  static const Json values = Json::parse(R"([null, true, 0, -1, 0.5, 1000000000001, "", "Upper", "a/b", "$plain", "$$x",
    "cairn.x", "a.b", "over", "nowhere", "2026-11-21T22:23:47Z", [], ["over", 1], {}, {"zz": 1}])");
  return values;
}

TEST(GraphSchema, agrees_with_the_engine_on_every_value_put_at_every_place) {
  int refused = 0;
  const auto put_each_at = [&refused](const Json& graph, const Pointer& at) {
    for (const Json& value : odd_values()) {
      Json changed = graph;
      changed[at] = value;
      refused += expect_agreement(changed, "\"" + at.to_string() + "\" as " + value.dump()) ? 1 : 0;
    }
  };
  const Json graph = full_graph();
  const std::regex like_others("/nodes/(left|right|meet)/.*");
  for (const Pointer& at : places_of(graph))
    if (!std::regex_match(at.to_string(), like_others)) put_each_at(graph, at);
  const std::regex policy("/(singleton|debounce|batch).*");
  for (const Json& one : full_graphs())
    for (const Pointer& at : places_of(one))
      if (std::regex_match(at.to_string(), policy)) put_each_at(one, at);
  EXPECT_GT(refused, 1000);
}

TEST(GraphSchema, agrees_with_the_engine_on_everything_that_is_left_out) {
  int refused = 0;
  for (const Json& graph : full_graphs())
    for (const Pointer& at : places_of(graph)) {
      if (at.empty() || !graph[at.parent_pointer()].is_object()) continue;
      Json changed = graph;
      changed[at.parent_pointer()].erase(at.back());
      refused += expect_agreement(changed, "\"" + at.to_string() + "\" left out") ? 1 : 0;
    }
  EXPECT_GT(refused, 20);
}

TEST(GraphSchema, refuses_names_that_the_engine_refuses) {
  for (const char* map : {"/channels", "/budgets", "/nodes", "/nodes/work/on"}) {
    const Pointer at(map);
    for (const std::string name : {"Upper", "with space", "a/b", "$a", "", "1a", "a-b", "a_1", "über"}) {
      Json changed = full_graph();
      Json& entries = changed[at];
      entries[name] = entries.begin().value();
      expect_agreement(changed, map + (" with " + Json(name).dump()));
    }
  }
}

TEST(GraphSchema, refuses_bad_graphs_as_the_engine_does) {
  const Json bad = Json::parse(R"([
    ["/nodes/over/end/status", "finished"], ["/nodes/pause/wait/until", "$plain"], ["/nodes/pause/wait", {}],
    ["/nodes/signal/wait/timeout_ms", "soon"], ["/nodes/signal/on", {"fired": "until"}],
    ["/nodes/until/wait/until", "tomorrow"], ["/nodes/work/queue", "cairn.timer"], ["/nodes/work/retry/jitter", 2],
    ["/nodes/each/map/call", "other"],
    ["/nodes/each/map/over", "plain"], ["/nodes/children/map/concurrency", 1001], ["/nodes/children/map/queue", "q"],
    ["/nodes/children/cache", true], ["/nodes/each/map/into", "$x"], ["/nodes/work/retry/atempts", 3],
    ["/nodes/work/expires_ms", 1], ["/nodes/goals/queue", "fast"],
    ["/nodes/question/retry", {}], ["/nodes/question/ask/promt", "?"], ["/nodes/question/ask/schema", "boolean"],
    ["/nodes/open/on", {"answered": "over"}], ["/nodes/open/on", {"answered": "over", "expired": "over", "exhausted": "over"}],
    ["/nodes/child/call", "Other"], ["/nodes/work/do", "work"], ["/nodes/work/ask", {}], ["/nodes/work/on/ok", []],
    ["/expose/resource", "full://{plain}{id}"], ["/expose/resource", "cairn://run/{run}"],
    ["/expose/resource", "a b:c"], ["/expose/resource", "full://{Plain}"], ["/expose/mime_type", "text"],
    ["/limits/steps", 0], ["/limits/time", 5], ["/budgets/tries/cap", -1], ["/channels/total/reducer", "avg"],
    ["/nodes/failed/with", {}], ["/version", 1], ["/nodes", {}], ["/start", null]])");
  for (const Json& one : bad) {
    Json changed = full_graph();
    changed[Pointer(one[0].get<std::string>())] = one[1];
    EXPECT_FALSE(faults_of(changed).empty()) << one;
    EXPECT_FALSE(check_value(graph_schema(), changed)) << one;
  }
}

}  // namespace
}  // namespace cairn
