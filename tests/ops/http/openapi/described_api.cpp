#include "tests/ops/http/openapi/described_api.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "ops/http/description_route.hpp"
#include "ops/http/transport/message.hpp"
#include "tests/ops/http/openapi/schema_walk.hpp"

namespace cairn::program {
namespace {

constexpr const char* headers_of_answers[] = {
    "Location", "Link", "Retry-After", "Allow", "ETag", "WWW-Authenticate", "Content-Disposition"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// --- operations ------------------------------------------------------------------------------------------------------

// A path item of the document, with the parts of the path that stand for its parameters.
struct PathFound {
  const Json* item = nullptr;
  std::vector<std::pair<std::string, std::string>> parameters;
};

std::vector<std::string> segments_of(std::string path) {
  std::vector<std::string> segments;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');) segments.push_back(part);
  while (segments.size() > 1 && segments.back().empty()) segments.pop_back();
  return segments;
}

std::optional<PathFound> path_at(const std::string& path, const std::vector<std::string>& asked) {
  PathFound found{&description()["paths"][path], {}};
  const std::vector<std::string> parts = segments_of(path);
  if (parts.size() != asked.size() + 1) return {};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool is_parameter = parts[i].starts_with('{');
    if (!is_parameter && parts[i] != asked[i - 1]) return {};
    if (is_parameter) found.parameters.emplace_back(parts[i].substr(1, parts[i].size() - 2), asked[i - 1]);
  }
  return found;
}

std::string method_word(const std::string& method) { return lower(method == "HEAD" ? "GET" : method); }

// All paths that fit, those with the fewest parameters first: graphs/check may also be a graph that is named check.
std::vector<PathFound> paths_of(const ApiRequest& request) {
  std::vector<std::string> asked = request.segments;
  if (asked == std::vector<std::string>{"api", "v1", ""}) asked.pop_back();
  std::vector<PathFound> found;
  for (const auto& [path, item] : description()["paths"].items())
    if (const auto one = path_at(path, asked)) found.push_back(*one);
  std::sort(found.begin(), found.end(), [](const PathFound& one, const PathFound& other) {
    return one.parameters.size() < other.parameters.size();
  });
  return found;
}

// The path that has the method, or the first one.
PathFound path_for(const std::vector<PathFound>& paths, const std::string& method) {
  if (paths.empty()) return {};
  const auto has_method = [&method](const PathFound& path) { return path.item->contains(method_word(method)); };
  const auto found = std::find_if(paths.begin(), paths.end(), has_method);
  return found == paths.end() ? paths.front() : *found;
}

const Json& resolved_here(const Json& node) { return resolved(description(), node); }

// --- requests --------------------------------------------------------------------------------------------------------

// A parameter's text as the value that its schema describes.
Json read_parameter(const Json& schema, const std::string& text) {
  if (resolved_here(schema).value("type", Json()) == "string") return text;
  return Json::accept(text) ? Json::parse(text) : Json(text);
}

const Json* parameter_named(const Json& operation, const std::string& place, const std::string& name) {
  const auto parameters = operation.find("parameters");
  if (parameters == operation.end()) return nullptr;
  for (const Json& given : *parameters) {
    const Json& parameter = resolved_here(given);
    if (parameter["in"] == place && parameter["name"] == name) return &parameter;
  }
  return nullptr;
}

std::string fault_of_parameter(const Json& operation, const std::string& place, const std::string& name,
                               const std::string& text) {
  const Json* parameter = parameter_named(operation, place, name);
  if (parameter == nullptr) return "Expected only described parameters, but " + name + " was accepted in the " + place;
  const Json& schema = resolved_here((*parameter)["schema"]);
  const bool is_list = schema.value("type", Json()) == "array";
  const Json& of = is_list ? schema["items"] : schema;
  return schema_fault(description(), of, read_parameter(of, text), place + " " + name);
}

std::string fault_of_body(const Json& operation, const std::string& body) {
  if (body.empty()) {
    const bool is_needed = operation.contains("requestBody") && operation["requestBody"].value("required", false);
    return is_needed ? "Expected a body that is required, but a request without one was accepted" : "";
  }
  const Json value = Json::parse(body);
  if (!operation.contains("requestBody"))
    return value == Json::object() ? "" : "Expected no body, but a request with one was accepted";
  return schema_fault(description(), operation["requestBody"]["content"]["application/json"]["schema"], value, "body");
}

std::string fault_of_request(const Json& operation, const PathFound& path, const ApiRequest& request,
                             const std::string& body) {
  for (const auto& [name, text] : path.parameters)
    if (std::string fault = fault_of_parameter(operation, "path", name, text); !fault.empty()) return fault;
  for (const auto& [name, text] : request.query)
    if (std::string fault = fault_of_parameter(operation, "query", name, text); !fault.empty() && !text.empty())
      return fault;
  return fault_of_body(operation, body);
}

// --- answers ---------------------------------------------------------------------------------------------------------

std::string header_of(const Exchanged& exchanged, const std::string& name) {
  for (const auto& [given, value] : exchanged.headers)
    if (lower(given) == lower(name)) return value;
  return "";
}

std::string fault_of_headers(const Json& response, const Exchanged& exchanged) {
  const Json described = response.value("headers", Json::object());
  for (const auto& [name, header] : described.items()) {
    const std::string value = header_of(exchanged, name);
    const Json& of = resolved_here(header);
    if (value.empty() && of.value("required", false)) return "Expected the header " + name + ", but it is missing";
    if (value.empty()) continue;
    const std::string fault =
        schema_fault(description(), of["schema"], read_parameter(of["schema"], value), "header " + name);
    if (!fault.empty()) return fault;
  }
  for (const char* name : headers_of_answers)
    if (!header_of(exchanged, name).empty() && !described.contains(name))
      return "Expected only described headers, but found " + std::string(name);
  return "";
}

std::string fault_of_lines(const Json& schema, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (std::string fault = schema_fault(description(), schema, Json::parse(line), "line"); !fault.empty())
      return fault;
  return "";
}

std::string fault_of_content(const Json& response, const Exchanged& exchanged) {
  const std::string type = exchanged.type.substr(0, exchanged.type.find(';'));
  const Json content = response.value("content", Json::object());
  if (content.empty())
    return exchanged.answer.empty() ? "" : "Expected no body, but found " + excerpt(Json(exchanged.answer), 60);
  if (!content.contains(type)) return "Expected a described type of content, but found " + type;
  if (exchanged.method == "HEAD") return "";
  const Json& schema = content[type]["schema"];
  if (type == "application/x-ndjson") return fault_of_lines(schema, exchanged.answer);
  const bool is_json = type.ends_with("json");
  if (is_json && !Json::accept(exchanged.answer)) return "Expected JSON, but found " + excerpt(exchanged.answer, 60);
  return schema_fault(description(), schema, is_json ? Json::parse(exchanged.answer) : Json(exchanged.answer));
}

std::string sentence(const Exchanged& exchanged, const std::string& fault) {
  if (fault.empty()) return "";
  return "Expected " + exchanged.method + " " + exchanged.target.substr(0, 200) + " and its answer " +
         std::to_string(exchanged.status) + " to fit ops/http/openapi.json, but: " + fault;
}

const Json& response_named(const char* name) { return description()["components"]["responses"][name]; }

// The response of the description; null: it has none for this status.
const Json* response_of(const PathFound& path, const Exchanged& exchanged) {
  const std::string method = method_word(exchanged.method);
  const Json& of = path.item->contains(method) ? (*path.item)[method] : path.item->front();
  const std::string status = std::to_string(exchanged.status);
  const bool is_other = !path.item->contains(method) && exchanged.status < 400;
  if (is_other || !of["responses"].contains(status)) return nullptr;
  return &resolved_here(of["responses"][status]);
}

// "GET, HEAD, OPTIONS" in the order of letters.
std::string in_order(const std::set<std::string>& methods) {
  std::string text;
  for (const std::string& method : methods) text += (text.empty() ? "" : ", ") + method;
  return text;
}

std::string methods_of(const std::vector<PathFound>& paths) {
  std::set<std::string> methods = {"OPTIONS"};
  for (const PathFound& path : paths)
    for (const auto& [word, operation] : path.item->items()) {
      std::string method = word;
      std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::toupper(c); });
      methods.insert(method);
      if (method == "GET") methods.insert("HEAD");
    }
  return in_order(methods);
}

std::string fault_of_allow(const std::vector<PathFound>& paths, const Exchanged& exchanged) {
  std::istringstream given(header_of(exchanged, "Allow"));
  std::set<std::string> methods;
  for (std::string method; given >> method;) methods.insert(method.substr(0, method.find(',')));
  const std::string there = in_order(methods);
  return there == methods_of(paths) ? "" : "Expected Allow: " + methods_of(paths) + ", but found " + there;
}

std::string fault_of_exchange(const Exchanged& exchanged, bool with_content) {
  const Result<ApiRequest> request = request_of(exchanged.method, exchanged.target);
  if (!request) return fault_of_content(response_named("Invalid"), exchanged);
  const std::vector<PathFound> paths = paths_of(*request);
  const PathFound path = path_for(paths, exchanged.method);
  if (path.item == nullptr)
    return exchanged.status < 400 ? "Expected a described path"
                                  : fault_of_content(response_named("Invalid"), exchanged);
  const bool names_methods = exchanged.method == "OPTIONS" && exchanged.status == 204;
  if (names_methods || exchanged.status == 405) return fault_of_allow(paths, exchanged);
  const Json* response = response_of(path, exchanged);
  if (response == nullptr) return "Expected a described status";
  if (std::string fault = fault_of_headers(*response, exchanged); !fault.empty()) return fault;
  if (exchanged.status < 300) {
    const Json& operation = (*path.item)[method_word(exchanged.method)];
    if (std::string fault = fault_of_request(operation, path, *request, exchanged.body); !fault.empty()) return fault;
  }
  if (with_content) return fault_of_content(*response, exchanged);
  const bool is_described = response->value("content", Json::object()).contains(exchanged.type);
  return is_described ? "" : "Expected a described type of content, but found " + exchanged.type;
}

}  // namespace

const Json& description() {
  static const Json document = Json::parse(api_description());
  return document;
}

std::string misfit(const Exchanged& exchanged) {
  const bool is_of_tests = exchanged.target.starts_with("/api/v1/test/");  // of `cairn test-server` alone
  return is_of_tests ? "" : sentence(exchanged, fault_of_exchange(exchanged, true));
}

std::string misfit_of_stream(const Exchanged& exchanged) {
  return sentence(exchanged, fault_of_exchange(exchanged, false));
}

std::string misfit_of_frame(const std::string& target, const Json& data) {
  const Result<ApiRequest> request = request_of("GET", target);
  const PathFound path = path_for(paths_of(*request), "GET");
  const Json& content = (*path.item)["get"]["responses"]["200"]["content"]["text/event-stream"];
  return sentence({"GET", target, "", 200, "text/event-stream", "", {}},
                  schema_fault(description(), content["schema"], data, "frame"));
}

std::string misfit_of_refusal(const Exchanged& exchanged) {
  return sentence(exchanged, fault_of_content(response_named("Invalid"), exchanged));
}

}  // namespace cairn::program
