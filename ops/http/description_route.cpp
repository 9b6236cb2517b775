#include "ops/http/description_route.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

#include "engine/embedded.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/transport/entity_tag.hpp"
#include "storage/digest.hpp"

namespace cairn {
namespace {

constexpr std::string_view components = "#/components/";
constexpr auto keys_of_data = std::to_array<std::string_view>({"const", "default", "enum", "example", "examples"});
constexpr auto keys_of_schemas =
    std::to_array<std::string_view>({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"});

template <class Keys>
bool is_in(const Keys& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

Json ref_to(const std::string& schema) { return {{"$ref", std::string(components) + "schemas/" + schema}}; }

// The schema's own references lead into the document from here on. A part with an "$id" is a document of its own.
void point_into(Json& schema, const std::string& place) {
  if (schema.is_array())
    for (Json& one : schema) point_into(one, place);
  if (!schema.is_object() || schema.contains("$id")) return;
  for (auto& [key, member] : schema.items()) {
    if (is_in(keys_of_data, key)) continue;
    if (is_in(keys_of_schemas, key) && member.is_object()) {
      for (auto& [name, one] : member.items()) point_into(one, place);
      continue;
    }
    if (key != "$ref" || !member.is_string()) {
      point_into(member, place);
      continue;
    }
    const std::string ref = member;
    if (ref == "#" || ref.starts_with("#/")) member = place + ref.substr(1);
  }
}

void add_schema(Json& document, const std::string& name, Json schema) {
  if (schema.is_object()) {
    schema.erase("$id");
    schema.erase("$schema");
  }
  point_into(schema, std::string(components) + "schemas/" + name);
  document["components"]["schemas"][name] = std::move(schema);
}

void erase_examples(Json& operation) {
  for (Json* content : {&operation["requestBody"]["content"], &operation["responses"]["200"]["content"],
                        &operation["responses"]["201"]["content"]})
    for (auto& [type, of] : content->items()) {
      of.erase("example");
      of.erase("examples");
    }
}

Json& schema_of(Json& with_content) { return with_content["content"]["application/json"]["schema"]; }

void narrow_start(Json& document, const Graph& graph) {
  Json start = document["components"]["schemas"]["StartRequest"];
  start["properties"]["graph"] = {{"const", graph.name}};
  if (!graph.input.is_null()) {
    add_schema(document, "GraphInput", graph.input);
    start["properties"]["input"] = ref_to("GraphInput");
  }
  document["components"]["schemas"]["StartRequest"] = std::move(start);
  Json& operation = document["paths"]["/api/v1/runs"]["post"];
  operation["summary"] = "Start a run of " + graph.name + ".";
  erase_examples(operation);
  schema_of(operation["requestBody"]) = ref_to("StartRequest");
  for (const char* status : {"200", "201"}) schema_of(operation["responses"][status]) = ref_to("Started");
}

void narrow_run(Json& document, const Graph& graph) {
  Json& operation = document["paths"]["/api/v1/runs/{run}"]["get"];
  operation["responses"]["200"]["content"]["application/json"].erase("example");
  std::erase_if(operation["parameters"].get_ref<Json::array_t&>(),
                [](const Json& parameter) { return parameter.value("$ref", "").ends_with("/Channel"); });
  Json& schema = schema_of(operation["responses"]["200"]);
  schema = ref_to("Run");
  operation["responses"]["200"]["description"] = "The run; its output is there once it has ended as done.";
  if (graph.output.is_null()) return;
  add_schema(document, "GraphOutput", graph.output);
  schema = {{"allOf", {ref_to("Run"), {{"type", "object"}, {"properties", {{"output", ref_to("GraphOutput")}}}}}}};
}

void add_refs(const Json& node, std::deque<std::string>& refs) {
  if (node.is_object())
    if (const auto ref = node.find("$ref"); ref != node.end() && ref->is_string()) refs.push_back(*ref);
  if (node.is_structured())
    for (const Json& member : node) add_refs(member, refs);
}

// Without the components that nothing leads to.
void keep_used(Json& document) {
  std::deque<std::string> refs;
  add_refs(document["paths"], refs);
  Json kept = {{"securitySchemes", document["components"]["securitySchemes"]}};
  for (; !refs.empty(); refs.pop_front()) {
    if (!refs.front().starts_with(components)) continue;
    const std::string path = refs.front().substr(components.size());
    const std::size_t slash = path.find('/');
    const std::string kind = path.substr(0, slash), rest = path.substr(slash + 1);
    const std::string name = rest.substr(0, rest.find('/'));
    if (kept[kind].contains(name) || !document["components"][kind].contains(name)) continue;
    kept[kind][name] = document["components"][kind][name];
    add_refs(kept[kind][name], refs);
  }
  document["components"] = std::move(kept);
}

}  // namespace

std::string_view api_description() { return api_documents().front().text; }

RouteReply show_description(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  static const std::string tag = hex(sha256(api_description()));
  return tagged_response(call.request, tag, {200, std::string(api_description())});
}

Json graph_description(const Graph& graph) {
  Json document = parse_stored(std::string(api_description()));
  document["info"]["title"] = "Cairn: " + graph.name;
  document["info"]["version"] = graph.version;
  const Json all = std::exchange(document["paths"], Json::object());
  document["paths"]["/api/v1/runs"]["post"] = all["/api/v1/runs"]["post"];
  document["paths"]["/api/v1/runs/{run}"]["get"] = all["/api/v1/runs/{run}"]["get"];
  std::erase_if(document["tags"].get_ref<Json::array_t&>(),
                [](const Json& tag) { return tag.value("name", "") != "runs"; });
  narrow_start(document, graph);
  narrow_run(document, graph);
  keep_used(document);
  return document;
}

}  // namespace cairn
