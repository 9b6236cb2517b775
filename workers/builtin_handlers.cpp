#include "workers/builtin_handlers.hpp"

#include <optional>
#include <utility>

#include "workers/model_call.hpp"
#include "workers/schema_check.hpp"
#include "workers/tool_call.hpp"

namespace cairn {
namespace {

using boost::asio::awaitable;

// --- settings -------------------------------------------------------------------------------------------------------

Failure bad_setting(const StepInput& input, const std::string& wanted, const Json& found) {
  return {
      "invalid",
      "Expected " + wanted + " in the \"with\" of node \"" + input.node + "\", but got " + excerpt(found, 200) + ".",
      false,
      {}};
}

Json setting(const StepInput& input, const char* name) {
  return input.with.is_object() ? input.with.value(name, Json()) : Json();
}

// The text of an optional setting; a Failure if it is there and no text.
std::variant<std::string, Failure> text_setting(const StepInput& input, const char* name, const char* otherwise) {
  const Json value = setting(input, name);
  if (value.is_null()) return otherwise;
  if (!value.is_string()) return bad_setting(input, std::string("a text as \"") + name + "\"", value);
  return value.get<std::string>();
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : canonical(value); }

// --- model ----------------------------------------------------------------------------------------------------------

std::string prompt_text(const Json& prompt) {
  if (!prompt.is_array()) return text_of(prompt);
  std::string text;
  for (const Json& part : prompt) text += text_of(part);
  return text;
}

Json message_of(const char* role, std::string text) { return {{"role", role}, {"content", std::move(text)}}; }

std::variant<Json, Failure> messages_of(const StepInput& input) {
  const Json prompt = setting(input, "prompt");
  const Json given = setting(input, "messages");
  if (prompt.is_null() == given.is_null()) return bad_setting(input, "either \"prompt\" or \"messages\"", input.with);
  if (!given.is_null() && !given.is_array()) return bad_setting(input, "a list of messages as \"messages\"", given);
  Json messages = Json::array();
  if (const Json system = setting(input, "system"); !system.is_null()) {
    messages.push_back(message_of("system", prompt_text(system)));
  }
  for (const Json& message : given) messages.push_back(message);
  if (!prompt.is_null()) messages.push_back(message_of("user", prompt_text(prompt)));
  if (input.fault_error == "bad_reply") {
    messages.push_back(message_of("user", "Your last reply could not be used. " + input.fault + " Reply again."));
  }
  return messages;
}

std::variant<ModelRequest, Failure> request_of(const StepInput& input) {
  auto messages = messages_of(input);
  if (auto* failure = std::get_if<Failure>(&messages)) return std::move(*failure);
  auto model = text_setting(input, "model", "");
  if (auto* failure = std::get_if<Failure>(&model)) return std::move(*failure);
  ModelRequest request;
  request.model = std::get<std::string>(std::move(model));
  request.messages = std::get<Json>(std::move(messages));
  request.node = input.node;
  request.key = input.key;
  // The same key would bring the same bad reply from an endpoint that remembers keys.
  if (input.fault_error == "bad_reply") request.key += "/" + std::to_string(input.attempt);
  return request;
}

awaitable<StepResult> chat(StepInput input, Ports& ports) {
  auto into = text_setting(input, "into", "reply");
  if (auto* failure = std::get_if<Failure>(&into)) co_return std::move(*failure);
  auto request = request_of(input);
  if (auto* failure = std::get_if<Failure>(&request)) co_return std::move(*failure);
  const auto read = [&into](const ModelReply& reply) -> StepResult {
    return Outcome{"ok", {{std::get<std::string>(into), reply.value}}, {}};
  };
  co_return co_await ask_model(std::get<ModelRequest>(std::move(request)), ports, read);
}

std::variant<std::string, Failure> label_of(const Json& value, const std::string& field) {
  if (field.empty()) return "ok";
  const Json label = value.is_object() ? value.value(field, Json()) : Json();
  if (label.is_string()) return label.get<std::string>();
  return Failure{
      "bad_reply", "Expected a text at /" + field + " of the reply, but found " + excerpt(label, 100) + ".", true, {}};
}

awaitable<StepResult> decide_by_model(StepInput input, Ports& ports) {
  auto into = text_setting(input, "into", "decision");
  if (auto* failure = std::get_if<Failure>(&into)) co_return std::move(*failure);
  auto field = text_setting(input, "label_field", "");
  if (auto* failure = std::get_if<Failure>(&field)) co_return std::move(*failure);
  const Json schema = setting(input, "schema");
  const auto broken = schema_is_broken(schema);
  if (schema.is_null() || broken) co_return bad_setting(input, "a JSON Schema as \"schema\"", schema);
  auto request = request_of(input);
  if (auto* failure = std::get_if<Failure>(&request)) co_return std::move(*failure);
  std::get<ModelRequest>(request).schema = schema;
  std::get<ModelRequest>(request).schema_name = "decision";

  const auto read = [&into, &field](const ModelReply& reply) -> StepResult {
    auto label = label_of(reply.value, std::get<std::string>(field));
    if (auto* failure = std::get_if<Failure>(&label)) return std::move(*failure);
    return Outcome{std::get<std::string>(std::move(label)), {{std::get<std::string>(into), reply.value}}, {}};
  };
  co_return co_await ask_model(std::get<ModelRequest>(std::move(request)), ports, read);
}

// --- tools ----------------------------------------------------------------------------------------------------------

std::variant<ToolCall, Failure> call_of(const StepInput& input) {
  const Json tool = setting(input, "tool");
  if (!tool.is_string()) return bad_setting(input, "a tool's name as \"tool\"", tool);
  Json inputs = setting(input, "inputs");
  if (inputs.is_null()) inputs = Json::object();
  if (!inputs.is_object()) return bad_setting(input, "an object as \"inputs\"", inputs);
  ToolCall call;
  call.tool = tool.get<std::string>();
  call.inputs = std::move(inputs);
  return call;
}

awaitable<StepResult> call_named_tool(StepInput input, Ports& ports) {
  auto into = text_setting(input, "into", "result");
  if (auto* failure = std::get_if<Failure>(&into)) co_return std::move(*failure);
  auto call = call_of(input);
  if (auto* failure = std::get_if<Failure>(&call)) co_return std::move(*failure);
  const ReadOutputs read = [into = std::get<std::string>(into)](Json outputs) {
    Outcome outcome{"ok", Json::object(), {}};
    outcome.patch[into] = std::move(outputs);
    return outcome;
  };
  co_return co_await call_tool(std::move(input), ports, std::get<ToolCall>(std::move(call)), read);
}

// --- data -----------------------------------------------------------------------------------------------------------

StepResult set_data(const StepInput& input) {
  Json patch = setting(input, "set");
  if (!patch.is_object()) return bad_setting(input, "an object of channels as \"set\"", patch);
  return Outcome{"ok", std::move(patch), {}};
}

StepResult pick(const StepInput& input) {
  const Json value = setting(input, "value");
  const Json labels = setting(input, "labels");
  const Json otherwise = setting(input, "default");
  if (!labels.is_null() && !labels.is_object()) return bad_setting(input, "an object as \"labels\"", labels);
  Json label = labels.is_object() ? labels.value(text_of(value), Json()) : (value.is_string() ? value : Json());
  if (label.is_null()) label = otherwise;
  if (label.is_string()) return Outcome{label.get<std::string>(), Json::object(), {}};
  return bad_setting(input, "a label for every \"value\" or a \"default\"", value);
}

Handler handler(std::string name, std::variant<PureHandler, EffectHandler> run, bool labels_from_node) {
  Handler handler;
  handler.name = std::move(name);
  if (!labels_from_node) handler.labels = {"ok"};
  handler.labels_from_node = labels_from_node;
  handler.run = std::move(run);
  return handler;
}

}  // namespace

void add_builtin_handlers(HandlerTable& table) {
  table.add(handler("model.chat", EffectHandler(chat), false));
  table.add(handler("model.decide", EffectHandler(decide_by_model), true));
  table.add(handler("tool.call", EffectHandler(call_named_tool), false));
  table.add(handler("data.set", PureHandler(set_data), false));
  table.add(handler("data.pick", PureHandler(pick), true));
}

}  // namespace cairn
