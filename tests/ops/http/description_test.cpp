// The description of the API, ops/http/openapi.json: complete, true, in one form, and served. That it fits each answer
// is looked at where answers are received (api_client.hpp).
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "engine/blame.hpp"
#include "engine/event_types.hpp"
#include "engine/run_json.hpp"
#include "ops/answers/explain.hpp"
#include "ops/http/bodies/fact_fields.hpp"
#include "ops/http/description_route.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/http/openapi/schema_walk.hpp"
#include "tests/paths.hpp"
#include "workers/gateway/gateway.hpp"

namespace cairn::program {
namespace {

const std::string described = "/api/v1/openapi.json";

const Json& schema_named(const std::string& name) { return description()["components"]["schemas"].at(name); }

std::set<std::string> words_of(const Json& list) { return list.get<std::set<std::string>>(); }

// --- routes ----------------------------------------------------------------------------------------------------------

// "GET /api/v1/runs read" for each operation.
std::set<std::string> described_routes() {
  std::set<std::string> lines;
  for (const auto& [path, item] : description()["paths"].items())
    for (const auto& [method, operation] : item.items()) {
      std::string word = method;
      std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
      const Json& role = operation["x-cairn-role"];
      lines.insert(word + " " + path + " " + (role.is_null() ? "none" : role.get<std::string>()));
    }
  return lines;
}

TEST(Description, each_route_is_described_with_its_role_and_there_are_no_others) {
  const Server server;
  std::set<std::string> there;
  const Json index = server.get("/api/v1").json();
  for (const Json& route : index.at("routes")) {
    std::string path = route.at("path");
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const Json& role = route.at("role");
    there.insert(route.at("method").get<std::string>() + " " + path + " " +
                 (role.is_null() ? "none" : role.get<std::string>()));
  }
  EXPECT_EQ(described_routes(), there);
  EXPECT_GT(there.size(), 35U);
}

// POST /runs/RUN/cancel?now=true did not cancel at once, and said nothing.
TEST(Description, each_command_refuses_a_parameter_that_it_does_not_take) {
  const Server server;
  std::size_t count = 0;
  const Json index = server.get("/api/v1").json();
  for (const Json& route : index.at("routes")) {
    const std::string method = route.at("method");
    std::string path = route.at("path");
    if (method == "GET" || path == "/mcp" || path == "/api/v1/blobs/{hash}") continue;
    if (const std::size_t open = path.find('{'); open != std::string::npos)
      path.replace(open, path.find('}') + 1 - open, nobody);
    const Reply reply =
        ApiConnection(server.port()).ask(method, path + "?now=true", "{}", {{"Content-Type", "application/json"}});
    EXPECT_EQ(reply.status, 400) << method << " " << path << " " << reply.body;
    EXPECT_NE(reply.body.find("in the query, but found \\\"now\\\""), std::string::npos) << path << " " << reply.body;
    ++count;
  }
  EXPECT_GT(count, 30U);
}

TEST(Description, an_open_route_needs_no_token_and_each_other_one_says_that_it_may) {
  for (const auto& [path, item] : description()["paths"].items())
    for (const auto& [method, operation] : item.items()) {
      const bool is_open = operation["x-cairn-role"].is_null() && path != "/mcp";  // each message has a role of its own
      EXPECT_EQ(operation.contains("security"), is_open) << path;
      EXPECT_EQ(operation["responses"].contains("401"), !is_open) << path;
    }
}

TEST(Description, each_operation_has_the_refusals_that_no_request_is_safe_from) {
  for (const auto& [path, item] : description()["paths"].items())
    for (const auto& [method, operation] : item.items())
      for (const char* status : {"400", "403", "405", "408", "413", "415", "431", "500", "501", "503"})
        EXPECT_TRUE(operation["responses"].contains(status)) << method << " " << path << " " << status;
}

// A quota of bytes is asked of each request with a body.
TEST(Description, each_operation_with_a_body_may_be_too_much_for_a_quota) {
  std::size_t count = 0;
  for (const auto& [path, item] : description()["paths"].items())
    for (const auto& [method, operation] : item.items()) {
      if (!operation.contains("requestBody")) continue;
      EXPECT_TRUE(operation["responses"].contains("429")) << method << " " << path;
      ++count;
    }
  EXPECT_GT(count, 30U);
}

TEST(Description, each_operation_has_a_name_of_its_own) {
  std::set<std::string> names;
  std::size_t operations = 0;
  for (const auto& [path, item] : description()["paths"].items())
    for (const auto& [method, operation] : item.items()) {
      names.insert(operation.at("operationId").get<std::string>());
      ++operations;
    }
  EXPECT_EQ(names.size(), operations);
}

TEST(Description, it_is_served_with_a_tag_and_a_client_that_has_it_gets_no_second_copy) {
  const Server server;
  const Reply first = server.get(described);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.type, "application/json");
  EXPECT_EQ(first.body, std::string(api_description()));
  const std::string tag = first.header("ETag");
  ASSERT_FALSE(tag.empty());
  for (const std::string& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const Reply again = server.get(described, {{"If-None-Match", known}});
    EXPECT_EQ(again.status, 304) << known;
    EXPECT_EQ(again.body, "");
    EXPECT_EQ(again.header("ETag"), tag);
  }
  EXPECT_EQ(server.get(described, {{"If-None-Match", "\"other\""}}).status, 200);
  EXPECT_EQ(server.get(described + "?x=1").status, 400);
}

// --- the document of a graph
// ------------------------------------------------------------------------------------------

Json described_graph(const std::string& name) {
  Json graph = Json::parse(ask_graph(name));
  graph["input"] = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"type", "object"},
                    {"required", Json::array({"items"})},
                    {"properties", {{"items", {{"$ref", "#/$defs/count"}}}}},
                    {"$defs", {{"count", {{"type", "integer"}, {"minimum", 1}}}}}};
  graph["output"] = {{"type", "object"}, {"properties", {{"price", {{"type", "number"}}}}}};
  return graph;
}

TEST(Description, that_of_a_graph_has_its_input_and_its_output) {
  const Server server;
  ASSERT_EQ(server.post(graphs, described_graph("described")).status, 201);
  const std::string path = graphs + "/described?format=openapi";
  const Reply reply = server.get(path);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(server.get(path, {{"If-None-Match", reply.header("ETag")}}).status, 304);
  const Json document = reply.json();
  EXPECT_EQ(document["paths"].size(), 2u);
  const Json& start = document["paths"]["/api/v1/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"];
  const auto fault = [&](const Json& body) { return schema_fault(document, start, body); };
  EXPECT_EQ(fault({{"graph", "described"}, {"input", {{"items", 2}}}, {"key", "a"}}), "");
  EXPECT_NE(fault({{"graph", "another"}, {"input", {{"items", 2}}}}), "");
  const Json& schemas = document["components"]["schemas"];
  EXPECT_EQ(schemas["GraphInput"]["properties"]["items"]["$ref"], "#/components/schemas/GraphInput/$defs/count");
  EXPECT_FALSE(schemas["GraphInput"].contains("$schema"));
  EXPECT_EQ(schemas["GraphOutput"], described_graph("described")["output"]);
  EXPECT_FALSE(schemas.contains("Hook")) << "what nothing leads to is left out";
  EXPECT_EQ(server.get(graphs + "/described?format=yaml").status, 400);
}

TEST(GraphDescription, the_validators_of_openapi_find_nothing) {
  const Server server;
  ASSERT_EQ(server.post(graphs, described_graph("validated")).status, 201);
  const auto file = write_file("graph.openapi.json", server.get(graphs + "/validated?format=openapi").body);
  const Ran ran = run_program(testing::source_dir() + "/tests/ops/http/openapi/validators/run", {file});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

// --- the document by itself ------------------------------------------------------------------------------------------

using Ordered = nlohmann::ordered_json;

std::string on_one_line(const Ordered& value) {
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [name, member] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? Ordered(name).dump() + ": " : "") + on_one_line(member);
  if (value.is_array()) return "[" + text + "]";
  return text.empty() ? "{}" : "{ " + text + " }";
}

// A value on one line where it fits into 120 characters; otherwise each member on its own, two spaces deeper.
std::string in_form(const Ordered& value, std::size_t indent, std::size_t used) {
  constexpr std::size_t width = 120;
  const std::string line = on_one_line(value);
  const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
  const bool fits = indent + used + static_cast<std::size_t>(characters) <= width;
  if (!value.is_structured() || value.empty() || fits) return line;
  std::string text;
  for (const auto& [key, member] : value.items()) {
    const std::string name = value.is_object() ? Ordered(key).dump() + ": " : "";
    text += (text.empty() ? "" : ",\n") + std::string(indent + 2, ' ') + name +
            in_form(member, indent + 2, name.size() + 1);
  }
  const std::string inside = "\n" + text + "\n" + std::string(indent, ' ');
  return value.is_object() ? "{" + inside + "}" : "[" + inside + "]";
}

TEST(Description, the_document_is_written_in_one_form_which_CAIRN_UPDATE_GOLDEN_gives_it) {
  const std::filesystem::path path = std::filesystem::path(testing::source_dir()) / "ops/http/openapi.json";
  const std::string text = read_file(path);
  const std::string formed = in_form(Ordered::parse(text), 0, 0) + "\n";
  if (std::getenv("CAIRN_UPDATE_GOLDEN") != nullptr && formed != text) std::ofstream(path) << formed;
  EXPECT_TRUE(formed == text) << "Expected ops/http/openapi.json in the form that CAIRN_UPDATE_GOLDEN=1 gives it.";
  EXPECT_EQ(Json::parse(text), description()) << "the program has another one";
}

void each_example(const Json& node, const std::function<void(const Json& schema, const Json& example)>& use) {
  if (!node.is_structured()) return;
  if (node.is_object() && node.contains("schema")) {
    if (node.contains("example")) use(node["schema"], node["example"]);
    for (const Json& example : node.value("examples", Json::object())) use(node["schema"], example.at("value"));
  }
  for (const auto& [name, member] : node.items())
    if (name != "example" && name != "examples") each_example(member, use);
}

TEST(Description, each_example_fits_its_schema) {
  int examples = 0;
  each_example(description(), [&examples](const Json& schema, const Json& example) {
    ++examples;
    EXPECT_EQ(schema_fault(description(), schema, example), "");
  });
  EXPECT_GT(examples, 50);
}

// --- words and fields of the program ---------------------------------------------------------------------------------

template <class Body>
void expect_event(std::set<std::string>& types, Body body) {
  const Json line = event_json(parse_run_id(nobody).value(), {1, 1, 1, "", EventBody(std::move(body))});
  const std::string type = line.at("type");
  types.insert(type);
  const Json& mapping = schema_named("Event")["discriminator"]["mapping"];
  ASSERT_TRUE(mapping.contains(type)) << type;
  std::set<std::string> always;
  for (const Json& part : resolved(description(), {{"$ref", mapping[type]}})["allOf"])
    always.merge(words_of(resolved(description(), part)["required"]));
  std::set<std::string> there;
  for (const auto& [name, value] : line.items()) there.insert(name);
  EXPECT_EQ(always, there) << "the fields of " << type << " that are always there";
}

template <class... Bodies>
void expect_events(std::set<std::string>& types, const std::variant<Bodies...>*) {
  (expect_event(types, Bodies{}), ...);
}

TEST(Description, each_event_is_described_with_the_fields_that_it_always_has) {
  std::set<std::string> types;
  expect_events(types, static_cast<const EventBody*>(nullptr));
  for (int kind = 0; kind <= static_cast<int>(RecordKind::tool_called); ++kind)
    expect_event(types, Record{static_cast<RecordKind>(kind)});
  std::set<std::string> described_types;
  for (const auto& [type, schema] : schema_named("Event")["discriminator"]["mapping"].items())
    described_types.insert(type);
  EXPECT_EQ(described_types, types);
  EXPECT_EQ(words_of(schema_named("EventType")["enum"]), types);
  EXPECT_EQ(schema_named("Event")["oneOf"].size(), types.size());
}

// A value that fits no such schema; null: any value does.
Json misfit_of(const Json& schema) {
  if (schema.value("type", "") == "string") return 5;
  return schema.contains("type") ? Json("x") : Json();
}

TEST(Description, the_fields_of_a_record_that_is_reported_are_checked_as_they_are_described) {
  int checked = 0;
  for (const auto& [type, ref] : schema_named("Fact")["discriminator"]["mapping"].items()) {
    std::optional<RecordKind> kind;
    for (int at = 0; at <= static_cast<int>(RecordKind::tool_called); ++at)
      if (to_string(static_cast<RecordKind>(at)) == type) kind = static_cast<RecordKind>(at);
    if (!kind) continue;  // the codec checks those that the state is made of
    for (const auto& [name, schema] : resolved(description(), {{"$ref", ref}})["properties"].items()) {
      if (name == "type") continue;
      const Json wrong = misfit_of(schema);
      EXPECT_EQ(bool(check_record(*kind, {{name, wrong}})), wrong.is_null()) << type << " " << name;
      if (schema.contains("maximum")) {
        EXPECT_TRUE(check_record(*kind, {{name, schema["maximum"]}})) << type << " " << name;
        EXPECT_FALSE(check_record(*kind, {{name, schema["maximum"].get<std::int64_t>() + 1}})) << type << " " << name;
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 30);
}

template <class Word>
std::set<std::string> words_up_to(Word last) {
  std::set<std::string> words;
  for (int word = 0; word <= static_cast<int>(last); ++word)
    words.insert(std::string(to_string(static_cast<Word>(word))));
  return words;
}

TEST(Description, closed_lists_of_words_are_those_of_the_program) {
  std::set<std::string> codes = words_up_to(Code::corrupt);
  codes.insert({"unauthorized", "forbidden", "internal"});
  EXPECT_EQ(words_of(schema_named("ErrorCode")["enum"]), codes);
  std::set<std::string> statuses = words_up_to(RunStatus::aborted);
  statuses.insert("waiting");
  EXPECT_EQ(words_of(schema_named("RunStatus")["enum"]), statuses);
  EXPECT_EQ(words_of(schema_named("Reason")["properties"]["kind"]["enum"]), words_up_to(Reason::Kind::stopped));
  EXPECT_EQ(words_of(schema_named("ReportStatus")["enum"]), words_up_to(ReportStatus::invalid));
  EXPECT_EQ(words_of(schema_named("BlamedOutcome")["properties"]["kind"]["enum"]), words_up_to(BlameKind::end));
  EXPECT_EQ(words_of(schema_named("BlameLink")["properties"]["how"]["enum"]), words_up_to(BlameWay::waited));
}

// --- the graph -------------------------------------------------------------------------------------------------------

std::string graph_schema_name(const std::string& definition) {
  std::string name = "Graph";
  bool is_first = true;
  for (const char c : definition) {
    if (c != '_') name += is_first ? static_cast<char>(std::toupper(c)) : c;
    is_first = c == '_';
  }
  return name;
}

// Alternatives of which one says nothing of a value's own form relate its fields to one another.
bool only_relates(const Json& alternatives) {
  return std::any_of(alternatives.begin(), alternatives.end(), [](const Json& one) {
    return !one.contains("$ref") && !one.contains("type") && !one.contains("enum");
  });
}

// The guide's schema as the description has it: without what only relates fields to one another, which types of other
// languages cannot say.
Json as_described(const Json& schema) {
  if (schema.is_array()) {
    Json list = Json::array();
    for (const Json& one : schema) list.push_back(as_described(one));
    return list;
  }
  if (!schema.is_object()) return schema;
  Json shown = Json::object();
  for (const auto& [key, given] : schema.items()) {
    Json value = given;
    if (key == "dependencies" || key == "not") continue;
    if (key == "$ref") {
      shown[key] = "#/components/schemas/" + graph_schema_name(value.get<std::string>().substr(14));
      continue;
    }
    if (key == "anyOf" || key == "oneOf" || key == "allOf") {
      const Json rule = {{"$ref", "#/definitions/exhausted_needs_spends"}};
      value.erase(std::remove(value.begin(), value.end(), rule), value.end());
      if (value.empty() || only_relates(value)) continue;
      if (key == "allOf" && value.size() == 1) {
        shown.update(as_described(value[0]));
        continue;
      }
    }
    shown[key] = as_described(value);
  }
  return shown;
}

TEST(Description, a_graph_is_described_as_the_guide_has_it) {
  const Json guide =
      Json::parse(read_file(std::filesystem::path(testing::source_dir()) / "ops/guide/graph.schema.json"));
  for (const auto& [name, schema] : guide.at("definitions").items()) {
    if (name == "exhausted_needs_spends") continue;
    EXPECT_EQ(schema_named(graph_schema_name(name)), as_described(schema)) << name;
  }
  Json graph = guide;
  for (const char* of_the_guide : {"$schema", "title", "definitions"}) graph.erase(of_the_guide);
  Json shown = as_described(graph);
  EXPECT_EQ(schema_named("Graph"), shown);
}

// --- what does not fit -----------------------------------------------------------------------------------------------

Exchanged listed() {
  return {"GET",
          "/api/v1/queues?limit=2",
          "",
          200,
          "application/json",
          R"([{"queue": "q", "ready": 0, "later": 0, "held": 0, "concurrency": null, "rate": null, "budgets": [],
          "reserve": {}, "key": null, "key_concurrency": null, "key_rate": null, "key_budgets": [], "weights": {},
          "ageing_ms": null, "paused": false, "revision": 0, "oldest": null}])",
          {}};
}

void expect_misfit(const Exchanged& exchanged, const std::string& says) {
  const std::string sentence = misfit(exchanged);
  EXPECT_NE(sentence.find(says), std::string::npos) << says << "\n" << sentence;
}

TEST(Description, an_answer_that_does_not_fit_is_named_with_its_place) {
  EXPECT_EQ(misfit(listed()), "");
  Exchanged wrong = listed();
  wrong.answer = R"([{"queue": "q", "ready": "none"}])";
  expect_misfit(wrong, "At \"/0/ready\"");
  wrong.answer = "[{}]";
  expect_misfit(wrong, "required");
  wrong.answer = "[";
  expect_misfit(wrong, "Expected JSON");
  wrong = listed();
  wrong.type = "text/html";
  expect_misfit(wrong, "type of content");
  wrong = listed();
  wrong.status = 202;
  expect_misfit(wrong, "a described status");
  wrong = listed();
  wrong.headers = {{"Location", "/"}};
  expect_misfit(wrong, "found Location");
  wrong = listed();
  wrong.target = "/api/v1/nothing";
  expect_misfit(wrong, "a described path");
  wrong = {"DELETE", "/api/v1/queues", "", 405, "application/json", R"({"error": {"code": "invalid", "message": ""}})",
           {}};
  expect_misfit(wrong, "Expected Allow: GET, HEAD, OPTIONS");
  EXPECT_NE(misfit_of_frame("/api/v1/runs/x/events", {{"type", "run_lost"}}), "");
}

TEST(Description, a_request_that_was_accepted_and_does_not_fit_is_named) {
  Exchanged wrong = listed();
  wrong.target = "/api/v1/queues?limt=2";
  expect_misfit(wrong, "limt was accepted");
  wrong.target = "/api/v1/queues?limit=2000";
  expect_misfit(wrong, "query limit");
  wrong.body = "[]";
  wrong.target = "/api/v1/queues";
  expect_misfit(wrong, "Expected no body");
  const std::string run = "/api/v1/runs/" + nobody + "/answers";
  const std::string answered = R"({"run": ")" + nobody + R"(", "question": "q1"})";
  expect_misfit({"POST", run, "", 200, "application/json", answered, {}}, "a body that is required");
  expect_misfit({"POST", run, R"({"valeu": 1})", 200, "application/json", answered, {}}, "At \"body\"");
  EXPECT_EQ(misfit({"POST", run, R"({"value": 1})", 200, "application/json", answered, {}}), "");
}

}  // namespace
}  // namespace cairn::program
