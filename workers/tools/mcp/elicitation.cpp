#include "workers/tools/mcp/elicitation.hpp"

#include <utility>

#include "workers/ports/untrusted_text.hpp"

namespace cairn::mcp {
namespace {

constexpr std::size_t questions_max = 20;
constexpr std::size_t prompt_bytes_max = 4'000;

const Json declined = {{"action", "decline"}};

bool is_form(const Json& params) {
  return params.is_object() && params.value("mode", Json("form")) == "form" &&
         params.value("requestedSchema", Json()).is_object();
}

Json params_of(const Json& request) {
  const bool is_question = request.is_object() && request.value("method", Json()) == "elicitation/create";
  return is_question ? request.value("params", Json()) : Json();
}

std::string prompt_of(const Json& params) {
  const Json message = params.value("message", Json());
  return message.is_string() ? readable_line(message.get<std::string>(), prompt_bytes_max) : "A server asks.";
}

}  // namespace

Json answer_by_policy(Elicitation policy, const Json& params) {
  if (policy != Elicitation::defaults || !is_form(params)) return declined;
  const Json& schema = params["requestedSchema"];
  const Json properties = schema.value("properties", Json::object());
  if (!properties.is_object()) return declined;
  Json content = Json::object();
  for (const auto& [name, property] : properties.items())
    if (property.is_object() && property.contains("default")) content[name] = property["default"];
  const Json required = schema.value("required", Json::array());
  if (required.is_array())
    for (const Json& name : required)
      if (!name.is_string() || !content.contains(name.get_ref<const std::string&>())) return declined;
  return {{"action", "accept"}, {"content", std::move(content)}};
}

Result<Json> question_of(const Json& requests) {
  if (!requests.is_object() || requests.empty() || requests.size() > questions_max)
    return Error{Code::invalid, "Expected 1 to 20 questions, but found " + excerpt(requests, 100) + "."};
  std::string prompt;
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& [name, request] : requests.items()) {
    const Json params = params_of(request);
    if (!is_form(params))
      return Error{Code::invalid,
                   "Expected a question in the form of a form, but found " + excerpt(request, 200) + "."};
    if (requests.size() == 1) return Json{{"prompt", prompt_of(params)}, {"schema", params["requestedSchema"]}};
    prompt += (prompt.empty() ? "" : " ") + prompt_of(params);
    properties[name] = params["requestedSchema"];
    required.push_back(name);
  }
  const Json schema = {{"type", "object"},
                       {"properties", std::move(properties)},
                       {"required", std::move(required)},
                       {"additionalProperties", false}};
  return Json{{"prompt", prompt}, {"schema", schema}};
}

Json responses_of(const Json& requests, const Json& entered) {
  Json responses = Json::object();
  for (const auto& [name, request] : requests.items()) {
    const Json content = requests.size() == 1 ? entered : entered.is_object() ? entered.value(name, Json()) : Json();
    responses[name] = content.is_object() ? Json{{"action", "accept"}, {"content", content}} : declined;
  }
  return responses;
}

Json responses_by_policy(Elicitation policy, const Json& requests) {
  Json responses = Json::object();
  for (const auto& [name, request] : requests.items()) responses[name] = answer_by_policy(policy, params_of(request));
  return responses;
}

}  // namespace cairn::mcp
