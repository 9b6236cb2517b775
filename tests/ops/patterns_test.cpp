// The patterns and examples of the guide: each graph passes the check, each case passes, and together they take every
// edge but those that only a cancelled call takes. The schemas that editors use accept them, and agree with what reads
// the files. Every setting of a graph is shown by one that a test runs.
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/ports/tools_file.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

const fs::path guide = fs::path(testing::source_dir()) / "ops/guide";

Json schema_of(const std::string& kind) { return Json::parse(cairn_ok({"graph", "schema", kind}).out); }

std::vector<fs::path> graphs_in(const std::string& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(guide / folder))
    if (entry.path().filename().string().find(".test.") == std::string::npos) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> patterns() { return graphs_in("patterns"); }

std::vector<fs::path> patterns_and_examples() {
  std::vector<fs::path> all = patterns();
  for (fs::path& example : graphs_in("examples")) all.push_back(std::move(example));
  return all;
}

fs::path cases_of(const fs::path& graph) { return graph.parent_path() / (graph.stem().string() + ".test.json"); }

TEST(Patterns, there_are_fifteen_and_the_guide_names_each) {
  EXPECT_EQ(patterns().size(), 15u);
  const std::string page = read_file(fs::path(testing::source_dir()) / "ops/guide/patterns.md");
  for (const fs::path& graph : patterns()) {
    EXPECT_NE(page.find("patterns/" + graph.filename().string()), std::string::npos) << graph;
    EXPECT_TRUE(fs::exists(cases_of(graph))) << graph;
  }
}

TEST(Patterns, each_passes_its_cases_and_they_take_every_edge) {
  for (const fs::path& graph : patterns_and_examples()) {
    const Json review = cairn_ok({"graph", "check", graph.string(), "--json"}).json();
    for (const Json& warning : review["warnings"])  // a pattern may name a tool that is to be brought
      EXPECT_EQ(warning.get<std::string>().find("Expected a tool that this program has"), 0u) << graph << warning;
    const Ran ran = cairn({"graph", "test", cases_of(graph).string(), "--json"});
    EXPECT_EQ(ran.exit, 0) << graph << " " << cairn({"graph", "test", cases_of(graph).string()}).out << ran.err;
    const Json report = ran.json();
    for (const Json& missed : report["missed"])  // an operator's cancel of a child; a question without a limit
      EXPECT_TRUE(missed["label"] == "aborted" || missed["label"] == "expired") << graph << missed;
  }
}

TEST(Patterns, fit_the_schemas_that_editors_use) {
  const Json of_graphs = schema_of("graph");
  const Json of_cases = schema_of("cases");
  for (const fs::path& graph : patterns_and_examples()) {
    Status fits = check_value(of_graphs, Json::parse(read_file(graph)));
    EXPECT_TRUE(fits) << graph << (fits ? "" : fits.error().message);
    fits = check_value(of_cases, Json::parse(read_file(cases_of(graph))));
    EXPECT_TRUE(fits) << graph << (fits ? "" : fits.error().message);
  }
}

// --- examples of everything ------------------------------------------------------------------------------------------

// Graphs that a test runs: the patterns, the examples, and those that a page of the guide writes into a file.
std::vector<Json> graphs_of_the_guide() {
  std::vector<Json> all;
  for (const fs::path& graph : patterns_and_examples()) all.push_back(Json::parse(read_file(graph)));
  for (const auto& entry : fs::directory_iterator(guide)) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = read_file(entry.path());
    for (std::size_t at = page.find("<<'EOF'\n"); at != std::string::npos; at = page.find("<<'EOF'\n", at + 1)) {
      const std::size_t begin = at + 8;
      const Json graph = Json::parse(page.substr(begin, page.find("\nEOF\n", begin) - begin), nullptr, false);
      if (graph.is_object() && graph.contains("nodes")) all.push_back(graph);
    }
  }
  return all;
}

using Names = std::set<std::string>;

// Each key and each text of a value.
void add_words(const Json& value, Names& words) {
  if (value.is_string()) words.insert(value.get<std::string>());
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) words.insert(key);
  if (value.is_structured())
    for (const Json& inner : value) add_words(inner, words);
}

// The properties that a schema of the guide describes.
void add_properties(const Json& schema, Names& names) {
  if (schema.is_object() && schema.contains("properties"))
    for (const auto& [name, inner] : schema["properties"].items()) names.insert(name);
  if (schema.is_structured())
    for (const Json& inner : schema) add_properties(inner, names);
}

struct Use {
  Names settings;
  Names labels;
};

// The settings that the graphs give each handler in `with`, and the labels of its nodes' edges.
std::map<std::string, Use> handlers_used(const std::vector<Json>& graphs) {
  std::map<std::string, Use> all;
  for (const Json& graph : graphs)
    for (const Json& node : graph["nodes"]) {
      const Json& verb = node.contains("map") && node["map"].is_object() ? node["map"] : node;
      if (!verb.contains("do")) continue;
      Use& use = all[verb["do"].get<std::string>()];
      const Json with = verb.value("with", Json::object());
      for (const auto& [name, value] : with.items()) use.settings.insert(name);
      for (const auto& [label, next] : node["on"].items()) use.labels.insert(label);
    }
  return all;
}

TEST(Examples, F4_there_is_one_of_every_verb_setting_label_and_reducer) {
  Names used;
  for (const Json& graph : graphs_of_the_guide()) add_words(graph, used);
  Names wanted = {"last",     "append",  "merge",  "sum",     "max",   "ok",      "error", "exhausted",
                  "answered", "expired", "joined", "partial", "fired", "timeout", "done",  "failed",
                  "aborted",  "do",      "ask",    "map",     "wait",  "call",    "end"};
  add_properties(schema_of("graph"), wanted);
  for (const std::string& word : wanted) EXPECT_TRUE(used.contains(word)) << word;
}

// --- each word in its place ------------------------------------------------------------------------------------------

// Those of an object: "retry lost" of {"retry": {"lost": 1}}.
void add_places(const std::string& where, const Json& object, Names& places) {
  if (object.is_object())
    for (const auto& [key, value] : object.items()) places.insert(where + " " + key);
}

constexpr const char* parts_of_a_graph[] = {"limits", "context", "singleton", "debounce", "batch", "expose"};
constexpr const char* verbs_of_nodes[] = {"do", "ask", "map", "wait", "call", "end"};

void add_places_of_node(const Json& node, Names& places) {
  for (const std::string verb : verbs_of_nodes) {
    if (!node.contains(verb)) continue;
    add_places(verb, node, places);
    add_places(verb == "map" ? "map_items" : verb + " " + verb, node[verb], places);
    add_places("retry", node.value("retry", Json()), places);
    add_places(verb + " on", node.value("on", Json()), places);
  }
}

void add_places_of_graph(const Json& graph, Names& places) {
  add_places("graph", graph, places);
  for (const char* part : parts_of_a_graph) add_places(part, graph.value(part, Json()), places);
  for (const Json& channel : graph.value("channels", Json::object())) add_places("channel", channel, places);
  for (const Json& budget : graph.value("budgets", Json::object())) add_places("budget", budget, places);
  for (const Json& node : graph["nodes"]) add_places_of_node(node, places);
}

Names places_of_the_schema() {
  const Json schema = schema_of("graph");
  const Json& definitions = schema["definitions"];
  Names places;
  add_places("graph", schema["properties"], places);
  for (const char* part : parts_of_a_graph) add_places(part, schema["properties"][part]["properties"], places);
  for (const char* part : {"channel", "budget", "retry", "map_items"})
    add_places(part, definitions[part]["properties"], places);
  for (const std::string verb : verbs_of_nodes) {
    const Json& properties = definitions[verb]["properties"];
    add_places(verb, properties, places);
    if (properties.contains("on")) add_places(verb + " on", properties["on"].value("properties", Json()), places);
    add_places(verb + " " + verb, properties[verb].value("properties", Json()), places);
  }
  add_places("end end", definitions["end"]["properties"]["end"]["anyOf"][1]["properties"], places);
  return places;
}

TEST(Examples, F4_each_setting_stands_where_it_belongs) {
  Names used;
  for (const Json& graph : graphs_of_the_guide()) add_places_of_graph(graph, used);
  for (const fs::path& graph : fs::directory_iterator(fs::path(testing::source_dir()) / "engine/graphs"))
    add_places_of_graph(Json::parse(read_file(graph)), used);  // the planners, which tests run
  const Names of_any_verb = {"join", "spends", "retry", "timeout_ms", "on error", "on exhausted"};
  for (const Names all = used; const std::string& place : all)
    for (const std::string verb : verbs_of_nodes)
      if (place.starts_with(verb + " ")) used.insert("any " + place.substr(verb.size() + 1));
  const Names wanted = places_of_the_schema();
  EXPECT_GT(wanted.size(), 80u) << "the schema has another form";
  for (const std::string& place : wanted) {
    const std::string setting = place.substr(place.find(' ') + 1);
    EXPECT_TRUE(used.contains(of_any_verb.contains(setting) ? "any " + setting : place)) << place;
  }
}

TEST(Examples, F4_there_is_one_of_every_setting_and_label_of_the_built_in_handlers) {
  HandlerTable table;
  add_builtin_handlers(table);
  const std::map<std::string, Use> used = handlers_used(graphs_of_the_guide());
  for (const auto& [name, known] : table.labels()) {
    ASSERT_TRUE(used.contains(name)) << name;
    for (const std::string& label : known.labels)
      EXPECT_TRUE(used.at(name).labels.contains(label)) << name << " " << label;
    ASSERT_TRUE(known.settings) << name;
    for (const HandlerSetting& setting : *known.settings)
      EXPECT_TRUE(used.at(name).settings.contains(setting.name)) << name << " " << setting.name;
  }
}

TEST(Examples, F4_there_is_one_of_every_condition_and_operation_of_the_page) {
  Names used;
  for (const fs::path& graph : graphs_in("examples")) add_words(Json::parse(read_file(graph)), used);
  const std::string page = read_file(guide / "graphs.md");
  static const std::regex row("\n(\\| `\\{\"[^|]*) \\|"), word("\\{\"([a-z]+)\":|`([a-z]+)`");
  std::size_t found = 0;
  for (std::sregex_iterator cell(page.begin(), page.end(), row), end; cell != end; ++cell) {
    const std::string text = (*cell)[1];
    for (std::sregex_iterator name(text.begin(), text.end(), word); name != end; ++name, ++found)
      EXPECT_TRUE(used.contains((*name)[1].str() + (*name)[2].str())) << text;
  }
  EXPECT_GE(found, 20u) << "the tables of the page are not read";
}

// --- of a tools file ---

// The texts that executed blocks of the guide write into files, by `<<EOF` or by `echo`.
std::vector<std::string> texts_of_the_guide() {
  std::vector<std::string> texts;
  for (const auto& entry : fs::directory_iterator(guide)) {
    if (entry.path().extension() != ".md") continue;
    std::istringstream page(read_file(entry.path()));
    bool is_block = false, is_text = false;
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with("```")) is_block = line == "```sh";
      if (!is_block || (is_text && line == "EOF")) {
        is_text = false;
      } else if (is_text) {
        texts.back() += line + "\n";
      } else if (line.ends_with("<<EOF") || line.ends_with("<<'EOF'")) {
        is_text = true;
        texts.emplace_back();
      } else if (line.starts_with("echo '{")) {
        texts.push_back(line.substr(6, line.rfind("}'") - 5));
      }
    }
  }
  return texts;
}

TEST(Examples, F4_there_is_one_of_every_setting_of_a_tools_file) {
  Names used = {"tool user"};  // for which the worker must be root
  for (const std::string& text : texts_of_the_guide()) {
    const Json file = Json::parse(text, nullptr, false);
    if (!file.is_object() || file.contains("nodes") || !(file.contains("tools") || file.contains("builtin"))) continue;
    if (!file.value("tools", Json::object()).is_object()) continue;  // what a worker declares, over HTTP
    add_places("file", file, used);
    add_places("builtin", file.value("builtin", Json()), used);
    for (const Json& secret : file.value("secrets", Json::object())) add_places("secret", secret, used);
    for (const Json& tool : file.value("tools", Json::object())) {
      ASSERT_TRUE(tool.is_object()) << text;
      add_places("tool", tool, used);
      add_places("limits", tool.value("limits", Json()), used);
    }
  }
  for (const Json& graph : graphs_of_the_guide())
    for (const Json& node : graph["nodes"])
      if (node.contains("with") && node["with"].is_object())
        add_places("auth", node["with"].value("auth", Json()), used);
  const Json schema = schema_of("tools");
  const Json& tool = schema["definitions"]["tool"]["properties"];
  Names wanted;
  add_places("file", schema["properties"], wanted);
  add_places("builtin", schema["properties"]["builtin"]["properties"], wanted);
  add_places("secret", schema["properties"]["secrets"]["additionalProperties"]["properties"], wanted);
  add_places("tool", tool, wanted);
  add_places("limits", tool["limits"]["properties"], wanted);
  add_places("auth", schema["definitions"]["auth"]["properties"], wanted);
  EXPECT_GT(wanted.size(), 35u) << "the schema has another form";
  for (const std::string& place : wanted) EXPECT_TRUE(used.contains(place)) << place;
}

// A tools file with every setting.
const Json good_tools_file = Json::parse(R"({"$schema": "tools.schema.json", "tools": {
    "count": {"exec": ["wc", "-w"], "timeout_ms": 5000, "queue": "slow", "needs": ["$text", "name", "*.slot"],
              "env": ["LANG"], "limits": {"cpu_seconds": 10, "memory_bytes": 1000000, "file_bytes": 1, "open_files": 100,
              "processes": 5, "output_bytes": 1000}},
    "sky": {"http": "https://sky.example/x", "gives": ["sky"], "about": "Tells the sky.", "attempts": 2,
            "fallback": "count"},
    "near": {"mcp": ["server", "--stdio"], "env": ["LANG"], "limits": {"open_files": 100}, "timeout_ms": 60000,
             "queue": "slow", "attempts": 2, "elicitation": "defaults"},
    "far": {"mcp": "https://far.example/mcp", "auth": {"bearer": "TOKEN"}, "elicitation": "decline"}},
    "secrets": {"TOKEN": {"env": "TOKEN", "urls": ["https://sky.example"]}, "my.key-2": {"file": "/run/key"}},
    "builtin": {"allow": ["echo"], "repositories": ["/srv"], "corpora": ["handbook"], "urls": ["https://h/v1"]}})");
// Values that spoil it, by their places.
const std::pair<const char*, Json> spoils_of_tools_file[] = {{"/tools/count/exec", Json::array()},
                                                             {"/tools/count/exec", "wc"},
                                                             {"/tools/count/http", "http://x/"},
                                                             {"/tools/count/timeout_ms", 0},
                                                             {"/tools/count/timeout_ms", 86'400'001},
                                                             {"/tools/count/queue", ""},
                                                             {"/tools/count/needs", {1}},
                                                             {"/tools/count/needs", {""}},
                                                             {"/tools/count/needs", {"$"}},
                                                             {"/tools/count/env", {"A=1"}},
                                                             {"/tools/count/limits/cpu_seconds", 0},
                                                             {"/tools/count/limits/speed", 1},
                                                             {"/tools/count/colour", "red"},
                                                             {"/tools/sky/http", "ftp://x"},
                                                             {"/tools/sky/env", {"LANG"}},
                                                             {"/tools/sky/attempts", 0},
                                                             {"/tools/sky/attempts", 1001},
                                                             {"/tools/sky/about", 3},
                                                             {"/tools/near/mcp", Json::array()},
                                                             {"/tools/near/mcp", "server"},
                                                             {"/tools/near/mcp", 1},
                                                             {"/tools/near/exec", {"a"}},
                                                             {"/tools/near/auth", {{"bearer", "TOKEN"}}},
                                                             {"/tools/near/about", "x"},
                                                             {"/tools/near/elicitation", "maybe"},
                                                             {"/tools/far/env", {"LANG"}},
                                                             {"/tools/sky/elicitation", "ask"},
                                                             {"/builtin/allow", "echo"},
                                                             {"/builtin/colour", 1},
                                                             {"/builtin/urls", "https://h"},
                                                             {"/builtin/urls", {"h"}},
                                                             {"/builtin/urls", {"https://h/?q"}},
                                                             {"/secrets", 1},
                                                             {"/secrets/TOKEN", "value"},
                                                             {"/secrets/TOKEN/file", "both"},
                                                             {"/secrets/TOKEN/env", ""},
                                                             {"/secrets/TOKEN/colour", 1},
                                                             {"/secrets/TOKEN/urls", {"ftp://h"}},
                                                             {"/secrets/A B", {{"env", "X"}}},
                                                             {"/tools/sky/auth", "TOKEN"},
                                                             {"/tools/sky/auth", Json::object()},
                                                             {"/tools/sky/auth", {{"bearer", "A B"}}},
                                                             {"/tools/sky/auth", {{"basic", {{"user", "a:b"}}}}},
                                                             {"/tools/sky/auth", {{"header", {{"a b", "TOKEN"}}}}},
                                                             {"/tools/count/auth", {{"bearer", "TOKEN"}}},
                                                             {"/tools/sky/secrets", {{"KEY", "TOKEN"}}},
                                                             {"/tools/count/secrets", {{"A=1", "TOKEN"}}},
                                                             {"/tools/count/secrets", {{"KEY", 5}}},
                                                             {"/more", 1},
                                                             {"/tools", 3}};

TEST(Schemas, the_one_of_tools_files_agrees_with_their_parser) {
  const Json schema = schema_of("tools");
  const auto expect = [&](const Json& document, bool is_good) {
    const Status fits = check_value(schema, document);
    EXPECT_EQ(fits.ok(), is_good) << document << (fits ? "" : fits.error().message);
    const Result<ToolsFile> parsed = parse_tools(document);
    EXPECT_EQ(parsed.ok(), is_good) << document << (parsed ? "" : parsed.error().message);
  };
  expect(good_tools_file, true);
  for (const char* auth : {R"({"bearer": "TOKEN"})", R"({"basic": {"user": "ann", "password": "TOKEN"}})",
                           R"({"header": {"X-Key": "TOKEN"}})", R"({"query": {"key": "my.key-2"}})"}) {
    Json authorized = good_tools_file;
    authorized["tools"]["sky"]["auth"] = Json::parse(auth);
    authorized["tools"]["count"]["secrets"] = {{"KEY", "TOKEN"}};
    expect(authorized, true);
  }
  expect({{"tools", Json::object()}}, true);
  expect({{"builtin", {{"allow", {"echo"}}}}}, true);
  expect({{"biultin", Json::object()}}, false);
  for (const auto& [place, value] : spoils_of_tools_file) {
    Json bad = good_tools_file;
    bad[Json::json_pointer(place)] = value;
    expect(bad, false);
  }
  expect(Json::array(), false);
  expect(Json::object(), false);
}

TEST(Schemas, an_editor_finds_them_by_a_key_that_the_engine_does_not_use) {
  Json graph = Json::parse(read_file(guide / "patterns/race.json"));
  graph["$schema"] = "graph.schema.json";
  EXPECT_EQ(cairn_ok({"graph", "check", write_file("with_schema.json", graph.dump())}).out, "The graph may run.\n");
  expect_refused(cairn({"graph", "schema", "planet"}), 2, "planet");
}

}  // namespace
}  // namespace cairn::program
