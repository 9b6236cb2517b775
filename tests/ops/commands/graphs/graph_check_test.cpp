// `cairn graph check` with what surrounds a graph, `cairn graph test`, and inputs that do not fit their graph.
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "engine/graph_review.hpp"
#include "ops/answers/graph_surroundings.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/ops/program.hpp"
#include "workers/means.hpp"

namespace cairn::program {
namespace {

const char* const coffee = R"({"name": "coffee", "start": "ask_size", "limits": {"steps": 20},
  "input": {"properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false},
  "nodes": {
    "ask_size": {"ask": {"prompt": "Which size, {{name}}?", "schema": {"enum": ["small", "large"]}, "default": "small"},
                 "into": "size", "expires_ms": 3600000, "on": {"answered": "choose", "expired": "none"}},
    "choose": {"do": "data.pick", "labels": ["small", "large"], "with": {"value": "$size"},
               "on": {"small": "make", "large": "wait"}},
    "wait": {"wait": {"signal": "beans", "timeout_ms": 86400000}, "on": {"fired": "make", "timeout": "none"}},
    "make": {"do": "tool.call", "with": {"tool": "machine", "inputs": {"size": "$size"}, "into": "cup"},
             "retry": {"attempts": 3, "backoff_ms": 60000}, "on": {"ok": "served", "error": "none"}},
    "served": {"end": {"status": "done", "output": {"cup": "$cup"}}},
    "none": {"end": {"status": "failed", "reason": "No coffee. {{error/message|It took too long.}}"}}}})";

Json with(const std::string& pointer, const Json& value) {
  Json graph = Json::parse(coffee);
  graph[Json::json_pointer(pointer)] = value;
  return graph;
}

std::string file_of(const Json& document, const std::string& name = "coffee.json") {
  return write_file(name, document.dump()).string();
}

// --- check -----------------------------------------------------------------------------------------------------------

TEST(GraphCheck, F6_a_warning_lets_a_graph_pass_unless_the_check_is_strict) {
  const std::string file = file_of(Json::parse(coffee));
  const Ran passed = cairn_ok({"graph", "check", file});
  EXPECT_EQ(
      passed.out,
      "Warning: Expected a tool that this program has, but node \"make\" calls \"machine\".\nThe graph may run.\n");
  const Ran strict = cairn({"graph", "check", file, "--strict"});
  EXPECT_EQ(strict.exit, 1);
  EXPECT_EQ(strict.out, "Expected a tool that this program has, but node \"make\" calls \"machine\".\n");
  const Json told = cairn_ok({"graph", "check", file, "--json"}).json();
  EXPECT_EQ(told["ok"], true);
  EXPECT_EQ(told["faults"], Json::array());
  EXPECT_EQ(told["warnings"].size(), 1u);
}

TEST(GraphCheck, F7_a_question_that_could_never_be_answered_is_refused) {
  const Json graph = with("/nodes/ask_size/ask/schema", {{"type", "strng"}});
  const Ran checked = cairn({"graph", "check", file_of(graph)});
  EXPECT_EQ(checked.exit, 1);
  EXPECT_NE(checked.out.find("In the schema of the question of node \"ask_size\""), std::string::npos) << checked.out;
  expect_refused(cairn({"graph", "add", file_of(graph)}), 4, "In the schema of the question of node");
}

TEST(GraphCheck, what_no_condition_operation_or_pointer_is_called_is_a_fault) {
  const auto checked = [](const Json& node) {
    const Json graph = {{"name", "small_logic"},
                        {"start", "think"},
                        {"limits", {{"steps", 9}}},
                        {"nodes", {{"think", node}, {"end", {{"end", "done"}}}}}};
    const Ran ran = cairn({"graph", "check", file_of(graph, "small_logic.json")});
    return std::to_string(ran.exit) + " " + ran.out;
  };
  const Json by_truth = {{"true", "end"}, {"false", "end"}};
  const Json on = {{"ok", "end"}};
  const std::string condition =
      checked({{"do", "data.test"}, {"with", {{"if", {{"gte", {"$points", 80}}}}}}, {"on", by_truth}});
  EXPECT_NE(condition.find("Expected a known condition, but found {\"gte\""), std::string::npos) << condition;
  const std::string operation =
      checked({{"do", "data.compute"}, {"with", {{"set", {{"total", {{"smu", "$points"}}}}}}}, {"on", on}});
  EXPECT_NE(operation.find("Expected a known operation, but found {\"smu\""), std::string::npos) << operation;
  const std::string pointer =
      checked({{"do", "data.map"}, {"with", {{"over", "$points"}, {"take", "answer/body"}}}, {"on", on}});
  EXPECT_NE(pointer.find("Expected a JSON Pointer like /name, but found \"answer/body\""), std::string::npos)
      << pointer;
}

TEST(GraphCheck, the_database_tells_which_graphs_there_are) {
  Json caller = with("/name", "caller");
  caller["nodes"]["make"] = {{"call", "coffee"}, {"on", {{"done", "none"}, {"failed", "none"}}}};
  caller["nodes"].erase("served");
  const std::string file = file_of(caller, "caller.json");
  cairn_ok({"graph", "add", file_of(with("/nodes/make/with/tool", "echo"))});
  EXPECT_NE(cairn_ok({"graph", "check", file}).out.find("but node \"make\" calls \"coffee\""), std::string::npos);
  const std::string deployed = cairn_ok({"graph", "check", file, "--deployed"}).out;
  EXPECT_NE(deployed.find("Warning: In the \"with\" of node \"make\", the input of graph coffee: "), std::string::npos)
      << deployed;
  EXPECT_NE(deployed.find("Missing required property 'name'"), std::string::npos) << deployed;
  EXPECT_EQ(deployed.find("calls"), std::string::npos) << "found, and without what it asks for: " << deployed;
}

// It reads the graphs every few seconds: until then a new name was said to be served by no worker.
TEST(GraphCheck, a_worker_of_all_queues_serves_one_that_no_graph_had_before) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  const Catalogue catalogue;
  Client client(*store, catalogue, "user:test");
  SessionRow worker{.id = 7, .host = "stone", .pid = 12, .queues = {"default"}};
  const auto warnings = [&] {
    store->sessions().open(worker);
    const Surroundings around = deployed_surroundings(catalogue, client, *store);
    Json graph = with("/nodes/make/queue", "ovens");
    std::string all;
    for (const std::string& one : review_graph(graph, around).warnings) all += one + "\n";
    return all;
  };
  EXPECT_NE(warnings().find("waits in \"ovens\""), std::string::npos);
  worker.id = 8;
  worker.allows = {{all_queues}};
  EXPECT_EQ(warnings().find("waits in"), std::string::npos);
}

TEST(GraphCheck, takes_a_tools_file_for_the_urls_that_a_worker_may_call) {
  const std::string file = file_of(Json::parse(R"({"name": "call", "start": "a", "limits": {"steps": 9}, "nodes": {
      "a": {"do": "http.call", "with": {"url": "https://example.org/"}, "on": {"ok": "z"}}, "z": {"end": "done"}}})"),
                                   "call.json");
  const std::string without = cairn_ok({"graph", "check", file}).out;
  EXPECT_NE(without.find("a worker has it whose tools file has \"urls\" in \"builtin\""), std::string::npos) << without;
  const std::string tools = write_file("urls.json", R"({"builtin": {"urls": ["https://example.org/"]}})").string();
  EXPECT_EQ(cairn_ok({"graph", "check", file, "--tools", tools, "--strict"}).out, "The graph may run.\n");
}

// --- inputs ----------------------------------------------------------------------------------------------------------

TEST(GraphInput, is_held_against_the_graphs_schema_by_start_and_batch) {
  cairn_ok({"graph", "add", file_of(with("/nodes/make/with/tool", "echo"))});
  expect_refused(cairn({"start", "coffee", "--input", R"({"nme": "Ann"})"}), 4, "In the input of graph coffee: ");
  cairn_ok({"start", "coffee", "--input", R"({"name": "Ann"})"});
  const std::string lines = write_file("inputs.jsonl", "{\"name\": \"Ann\"}\n\n{\"name\": 7}\n").string();
  const std::size_t before = cairn_ok({"runs", "--graph", "coffee", "--json"}).lines().size();
  expect_refused(cairn({"batch", "coffee", "--inputs", lines}), 4, "Line 3: In the input of graph coffee: ");
  EXPECT_EQ(cairn_ok({"runs", "--graph", "coffee", "--json"}).lines().size(), before) << "nothing was started";
}

TEST(GraphInput, a_key_that_was_used_finds_its_run_under_a_stricter_version_too) {
  Json loose = with("/name", "loose");
  loose.erase("input");
  loose["nodes"]["ask_size"]["ask"]["prompt"] = "Which?";
  cairn_ok({"graph", "add", file_of(loose)});
  const Json started = cairn_ok({"start", "loose", "--key", "k", "--json"}).json();
  cairn_ok({"graph", "add", file_of(with("/name", "loose"))});
  EXPECT_EQ(cairn_ok({"start", "loose", "--key", "k", "--json"}).json()["run"], started["run"]);
  expect_refused(cairn({"start", "loose", "--key", "other"}), 4, "In the input of graph loose: ");
}

TEST(GraphInput, is_checked_as_2020_12_means_it_and_the_fault_has_its_place) {
  Json modern = with("/name", "modern");
  modern["input"] = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                     {"$defs", {{"name", {{"type", "string"}}}}},
                     {"properties", {{"name", {{"$ref", "#/$defs/name"}, {"minLength", 2}}}}},
                     {"dependentRequired", {{"name", {"size"}}}}};
  cairn_ok({"graph", "add", file_of(modern)});
  expect_refused(cairn({"start", "modern", "--input", R"({"name": "A", "size": 1})"}), 4, "the value at /name");
  expect_refused(cairn({"start", "modern", "--input", R"({"name": "Ann"})"}), 4, "size");
  cairn_ok({"start", "modern", "--input", R"({"name": "Ann", "size": 1})"});
}

// --- test ------------------------------------------------------------------------------------------------------------

Json a_case(const std::string& name, const Json& more) {
  Json one = {{"name", name}, {"input", {{"name", "Ann"}}}};
  one.update(more);
  return one;
}

const Json cup = {{"machine", {{{"outputs", {{"ml", 200}}}}}}};

Ran tested(const Json& cases, const Arguments& more = {}) {
  file_of(Json::parse(coffee));
  Arguments arguments{"graph", "test", file_of({{"graph", "coffee.json"}, {"cases", cases}}, "coffee.test.json")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn(arguments);
}

TEST(GraphTest, an_output_that_its_graph_does_not_promise_is_a_finding) {
  Json promising = Json::parse(coffee);
  promising["output"] = {{"properties", {{"cup", {{"required", {"price"}}}}}}};
  file_of(promising, "promising.json");
  const Json cases = Json::array({a_case("small", {{"answers", {{"ask_size", {"small"}}}}, {"tools", cup}})});
  const Ran ran =
      cairn({"graph", "test", file_of({{"graph", "promising.json"}, {"cases", cases}}, "promising.test.json")});
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("In the output of graph coffee: Expected \"price\" in the value at /cup, but"),
            std::string::npos)
      << ran.out;
}

TEST(GraphTest, cases_tell_what_came_and_which_edges_none_of_them_took) {
  const Json cases = {a_case("small", {{"answers", {{"ask_size", {"small"}}}},
                                       {"tools", cup},
                                       {"expect",
                                        {{"status", "done"},
                                         {"output", {{"cup", {{"ml", 200}}}}},
                                         {"path", {"ask_size", "choose", "make", "served"}}}}}),
                      a_case("large", {{"answers", {{"ask_size", {"large"}}}},
                                       {"signals", {{"beans", {true}}}},
                                       {"tools", cup},
                                       {"expect", {{"status", "done"}}}})};
  const Ran ran = tested(cases);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out,
            "ok    small\nok    large\n"
            "2 cases, 0 failed. 5 of 8 edges taken; not ask_size by expired, make by error, wait by timeout.\n");
}

TEST(GraphTest, time_is_virtual_and_retries_and_timeouts_happen) {
  const Json failing = {{"machine", {{{"error", "down"}, {"message", "No water."}}}}};
  Json recovering = {{"machine", {{{"error", "down"}}, {{"outputs", {{"ml", 150}}}}}}};
  const Json cases = {
      a_case("nobody answers, and an hour passes",
             {{"tools", cup}, {"expect", {{"path", {"ask_size", "choose", "make", "served"}}}}}),
      a_case("no beans for a day", {{"answers", {{"ask_size", {"large"}}}},
                                    {"expect", {{"status", "failed"}, {"reason", "No coffee. It took too long."}}}}),
      a_case("beans come", {{"answers", {{"ask_size", {"large"}}}},
                            {"signals", {{"beans", {true}}}},
                            {"tools", cup},
                            {"expect", {{"status", "done"}}}}),
      a_case("three attempts fail", {{"answers", {{"ask_size", {"small"}}}},
                                     {"tools", failing},
                                     {"expect", {{"status", "failed"}, {"reason", "No coffee. No water."}}}}),
      a_case("the second attempt works", {{"answers", {{"ask_size", {"small"}}}},
                                          {"tools", recovering},
                                          {"expect", {{"status", "done"}, {"output", {{"cup", {{"ml", 150}}}}}}}})};
  const Ran ran = tested(cases);
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

TEST(GraphTest, a_case_that_fails_says_what_was_expected_and_what_came) {
  const Json cases = {
      a_case("wrong end", {{"answers", {{"ask_size", {"small"}}}}, {"tools", cup}, {"expect", {{"status", "failed"}}}}),
      a_case("says too little", {{"answers", {{"ask_size", {"small"}}}}, {"expect", {{"status", "failed"}}}}),
      a_case("good", {{"answers", {{"ask_size", {"small"}}}}, {"tools", cup}})};
  const Ran ran = tested(cases);
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.out.find("FAIL  wrong end\n      Expected the status \"failed\", but it is \"done\".\n"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("Expected the case to say what tool machine says, but it does not."), std::string::npos)
      << ran.out;
  const Json report = tested(cases, {"--json"}).json();
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["cases"][2]["ok"], true);
  EXPECT_EQ(report["cases"][2]["path"], Json({"ask_size", "choose", "make", "served"}));
  EXPECT_EQ(report["missed"].size(), report["edges"].get<std::size_t>() - report["taken"].get<std::size_t>());
}

TEST(GraphTest, a_run_may_be_left_waiting) {
  Json graph = with("/nodes/ask_size/ask", {{"prompt", "Which?"}});
  graph["nodes"]["ask_size"].erase("expires_ms");
  const Json cases = Json::array({a_case("nobody", {{"expect", {{"status", "waiting"}, {"path", Json::array()}}}})});
  const std::string file = file_of({{"graph", graph}, {"cases", cases}}, "inline.test.json");
  const Ran ran = cairn({"graph", "test", file});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

// The built-in planners, offline: the rule book answers where the case has no model's words.
TEST(GraphTest, planners_run_with_their_own_handlers) {
  const Json plan = {{"goal", "say"},
                     {"sub_goals",
                      {{{"id", "a"}, {"tool", "say"}, {"inputs", {{"x", 1}}}},
                       {{"id", "b"}, {"tool", "say"}, {"inputs", {{"y", {{"from_sub_goal", "a"}, {"slot", "x"}}}}}}}}};
  const Json talk = {{"name", "talk"},
                     {"start", "talk"},
                     {"limits", {{"steps", 9}}},
                     {"nodes",
                      {{"talk", {{"do", "model.chat"}, {"with", {{"prompt", "Hello"}}}, {"on", {{"ok", "end"}}}}},
                       {"end", {{"end", {{"status", "done"}, {"output", "$reply"}}}}}}}};
  const Json works = {{"name", "works"},
                      {"input", plan},
                      {"tools", {{"say", {{{"outputs", {{"x", 2}}}}}}}},
                      {"expect", {{"status", "done"}}}};
  const std::string runner = file_of({{"graph", "plan_runner"}, {"cases", {works}}}, "plan.test.json");
  const Ran ran = cairn({"graph", "test", runner});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  const Json hears = {
      {"name", "hears"}, {"models", {{"talk", {{{"value", "Good day."}}}}}}, {"expect", {{"output", "Good day."}}}};
  const Ran chat = cairn({"graph", "test", file_of({{"graph", talk}, {"cases", {hears}}}, "talk.test.json")});
  EXPECT_EQ(chat.exit, 0) << chat.out << chat.err;
}

TEST(GraphTest, what_a_graph_calls_is_a_file_in_its_folder) {
  file_of({{"name", "brewing"},
           {"start", "end"},
           {"limits", {{"steps", 2}}},
           {"nodes", {{"end", {{"end", {{"status", "done"}, {"output", {{"cup", "tea"}}}}}}}}}},
          "brewing.json");
  const Json calls = {{"name", "calls"},
                      {"start", "each"},
                      {"limits", {{"steps", 9}}},
                      {"nodes",
                       {{"each",
                         {{"map", {{"over", {1, 2}}, {"call", "brewing"}, {"into", "cups"}}},
                          {"on", {{"joined", "one"}, {"partial", "none"}}}}},
                        {"one", {{"call", "brewing"}, {"into", "cup"}, {"on", {{"done", "end"}, {"failed", "none"}}}}},
                        {"none", {{"end", "failed"}}},
                        {"end", {{"end", {{"status", "done"}, {"output", "$cup"}}}}}}}};
  const Json works = {{"name", "works"}, {"expect", {{"path", {"each", "one", "end"}}}}};
  const std::string file = file_of({{"graph", calls}, {"cases", {works}}}, "calls.test.json");
  const Ran ran = cairn({"graph", "test", file, "--dsn", "host=/nowhere"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

// The whole file was refused before, and what names nothing passed.
TEST(GraphTest, a_case_that_does_not_fit_its_graph_is_a_finding_and_the_others_run) {
  const Json sound = a_case("sound", {{"answers", {{"ask_size", {"small"}}}}, {"tools", cup}});
  struct Unfit {
    Json more;
    std::string says;
  };
  for (const Unfit& unfit :
       {Unfit{{{"input", Json::object()}}, "In the input of graph coffee: Expected \"name\" in the value"},
        Unfit{{{"answers", {{"ask", {1}}}}}, "Expected the answers to name a node with \"ask\", but found \"ask\"."},
        Unfit{{{"answers", {{"ask_size", {"medium"}}}}}, "Of the answers to \"ask_size\": "},
        Unfit{{{"input", Json::object()}}, "name"},
        Unfit{{{"expect", {{"path", {"ask_size", "mkae"}}}}},
              "Expected the path to name nodes, but found \"mkae\" (did you mean make?)."},
        Unfit{{{"models", {{"mkae", {{{"value", 1}}}}}}},
              "Expected the models to name nodes, but found \"mkae\" (did you mean make?)."},
        Unfit{{{"tools", {{"machines", Json::array({{{"outputs", Json::object()}}})}}}},
              "Expected the tools to name one that the graph calls, but found \"machines\"."}}) {
    const Ran ran = tested({a_case("unfit", unfit.more), sound}, {"--json"});
    EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
    const Json cases = ran.json()["cases"];
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_NE(cases[0]["finding"].get<std::string>().find(unfit.says), std::string::npos) << cases[0];
    EXPECT_EQ(cases[1]["finding"], Json()) << cases[1];
  }
}

TEST(GraphTest, a_file_that_is_no_test_is_refused_in_a_sentence) {
  const auto refused = [](const Json& document, int exit, const std::string& says) {
    expect_refused(cairn({"graph", "test", file_of(document, "bad.test.json")}), exit, says);
  };
  file_of(Json::parse(coffee));
  refused(Json::array(), 4, "Expected the cases as an object");
  refused({{"cases", Json::array()}}, 4, "Expected the \"graph\"");
  refused({{"graph", "coffee.json"}, {"cases", Json::array()}}, 4, "at least one case");
  refused({{"graph", "coffee.json"}, {"cases", {{{"nme", "x"}}}}}, 4, "each case to have a \"name\"");
  refused({{"graph", "coffee.json"}, {"cases", {a_case("x", {{"tool", 1}})}}}, 4, "it has \"tool\"");
  refused({{"graph", "coffee.json"}, {"cases", {a_case("x", {{"expect", {{"status", "ok"}}}})}}}, 4,
          "to be done, failed, aborted or waiting");
  refused({{"graph", "coffee.json"}, {"cases", {a_case("x", {{"expects", Json::object()}})}}}, 4,
          "it has \"expects\" (did you mean expect?).");
  refused({{"graph", "coffee.json"}, {"cases", {a_case("x", {{"models", {{"make", {{{"valu", 1}}}}}}})}}}, 4,
          "In the models of case \"x\", node \"make\": ");
  refused({{"graph", "none.json"}, {"cases", {a_case("x", Json::object())}}}, 3, "none.json");
  expect_refused(cairn({"graph", "test", "no_such.test.json"}), 2, "Expected the cases at no_such.test.json");
}

}  // namespace
}  // namespace cairn::program
