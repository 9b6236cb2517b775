#include "ops/mcp/resources.hpp"

#include <algorithm>

#include "ops/mcp/graph_resources.hpp"
#include "ops/mcp/operator_tools.hpp"

namespace cairn {
namespace {

constexpr const char* json_type = "application/json";
constexpr std::string_view scheme = "cairn://";
constexpr int runs_of_a_page = 50;
constexpr std::size_t templates_of_a_page = 200;
constexpr std::size_t uri_bytes_max = 2'000;

Json resource(const std::string& uri, const std::string& name, const std::string& says) {
  return {{"uri", uri}, {"name", name}, {"description", says}, {"mimeType", json_type}};
}

Json resource_template(const std::string& uri, const std::string& name, const std::string& says) {
  return {{"uriTemplate", uri}, {"name", name}, {"description", says}, {"mimeType", json_type}};
}

RpcError failed(const ApiResponse& response, int code) {
  if (response.status >= http_status::failures_begin)
    return {rpc::internal_error, refusal_of(response), response.status};
  return {code, refusal_of(response)};
}

// The request whose answer the resource is; nothing: there is no such kind.
std::optional<ApiRequest> request_for(const std::string& uri) {
  if (!uri.starts_with(scheme)) return std::nullopt;
  const Result<ApiRequest> path = request_of("GET", "/" + uri.substr(scheme.size()));
  if (!path) return std::nullopt;
  const std::vector<std::string>& parts = path->segments;
  if (parts.size() == 2 && parts[0] == "graph") return api_get({"graphs", parts[1]});
  if (parts.size() < 2 || parts[0] != "run") return std::nullopt;
  if (parts.size() == 2) return api_get({"runs", parts[1]}, path->query);
  const bool is_part = parts.size() == 3 && (parts[2] == "events" || parts[2] == "plan");
  return is_part ? std::optional(api_get({"runs", parts[1], parts[2]}, path->query)) : std::nullopt;
}

void add_graphs(const McpHost& host, Json& resources) {
  for (const GraphRef& graph : host.graphs())
    resources.push_back(
        resource("cairn://graph/" + graph->name, "graph " + graph->name,
                 "The graph " + graph->name + " as JSON, version " + graph->version.substr(0, 12) + "."));
  for (const ExposedGraph& one : graph_resources(host))
    if (!is_template(one)) resources.push_back(resource_json(one));
}

Json own_templates() {
  return {resource_template("cairn://run/{run}{?at}", "run", "A run as it is, or as it was after event or time `at`."),
          resource_template("cairn://run/{run}/events{?from,limit}", "events of a run",
                            "What happened in a run, a thousand events at once."),
          resource_template("cairn://run/{run}/plan", "plan of a run", "The sub-goals of a run's plan."),
          resource_template("cairn://graph/{name}", "graph", "The current version of a graph.")};
}

// Runs and graphs as the API shows them.
Result<Json, RpcError> read_own(const McpHost& host, const std::string& uri, bool is_modern) {
  const int not_found = is_modern ? rpc::invalid_params : rpc::resource_not_found;
  const std::optional<ApiRequest> request = request_for(uri);
  if (!request)
    return RpcError{not_found,
                    "Expected a resource cairn://run/RUN, cairn://run/RUN/events, cairn://run/RUN/plan or "
                    "cairn://graph/NAME, or one that a graph is, but found " +
                        excerpt(Json(uri), 100) + "."};
  const ApiResponse answer = host.ask(*request);
  if (answer.status == http_status::not_found) return failed(answer, not_found);
  if (!refusal_of(answer).empty()) return failed(answer, rpc::invalid_params);
  std::string text = answer.body;
  if (text.ends_with('\n')) text.pop_back();
  return read_result({{"uri", uri}, {"mimeType", json_type}, {"text", std::move(text)}}, is_modern);
}

}  // namespace

Result<Json, RpcError> list_resources(const McpHost& host, const std::string& cursor) {
  Json resources = Json::array();
  if (!host.may(ApiRole::read)) return Json{{"resources", resources}};
  std::vector<std::pair<std::string, std::string>> query = {{"limit", std::to_string(runs_of_a_page)}};
  if (!cursor.empty()) query.emplace_back("after", cursor);
  const ApiResponse page = host.ask(api_get({"runs"}, std::move(query)));
  if (!refusal_of(page).empty()) return failed(page, rpc::invalid_params);
  if (cursor.empty()) add_graphs(host, resources);
  for (const Json& run : parse_stored(page.body)) {
    const std::string id = run.value("run", ""), graph = run.value("graph", "");
    resources.push_back(resource(
        "cairn://run/" + id, "run " + id,
        "A run of " + graph + ", " + run.value("status", "") + ", started at " + run.value("started_at", "") + "."));
  }
  Json result = {{"resources", std::move(resources)}};
  if (const std::string next = next_cursor(page); !next.empty()) result["nextCursor"] = next;
  return result;
}

Result<Json, RpcError> list_templates(const McpHost& host, const std::string& cursor) {
  const std::vector<ExposedGraph> all = graph_resources(host);
  const auto is_last = [&cursor](const ExposedGraph& one) { return is_template(one) && one.graph->name == cursor; };
  if (!cursor.empty() && std::none_of(all.begin(), all.end(), is_last)) return bad_cursor();
  Json result = {{"resourceTemplates", cursor.empty() ? own_templates() : Json::array()}};
  std::size_t shown = 0;
  std::string last;
  for (const ExposedGraph& one : all) {
    if (!is_template(one) || one.graph->name <= cursor) continue;
    if (shown++ == templates_of_a_page) {
      result["nextCursor"] = last;
      break;
    }
    result["resourceTemplates"].push_back(resource_json(one));
    last = one.graph->name;
  }
  return result;
}

CallReply read_resource(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message) {
  const Json given = message.params.value("uri", Json());
  if (!given.is_string()) return bad_params("Expected the uri of a resource, but found " + excerpt(given, 60) + ".");
  const auto& uri = given.get_ref<const std::string&>();
  if (uri.size() > uri_bytes_max)
    return bad_params("Expected a uri of at most " + std::to_string(uri_bytes_max) + " bytes, but found " +
                      std::to_string(uri.size()) + ".");
  if (!uri.starts_with(scheme))
    if (const std::optional<GraphCall> read = graph_read(*host, uri)) return call_graph(host, peer, message, *read);
  Result<Json, RpcError> contents = read_own(*host, uri, peer.is_modern);
  if (!contents) return contents.error();
  return CallAnswer(*std::move(contents));
}

}  // namespace cairn
