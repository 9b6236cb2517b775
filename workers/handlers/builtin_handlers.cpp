#include "workers/handlers/builtin_handlers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "workers/handlers/chat_calls.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/handlers/tool_call.hpp"
#include "workers/ports/schema_check.hpp"

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

void tell_what_was_wrong(ModelRequest& request, const StepInput& input) {
  if (input.fault_error != "bad_reply") return;
  request.messages.push_back(message_of("user", "Your last reply could not be used. " + input.fault + " Reply again."));
}

bool is_message(const Json& message) { return message.is_object() && message.contains("role"); }

bool is_conversation(const Json& messages) {
  return messages.is_array() && !messages.empty() && std::all_of(messages.begin(), messages.end(), is_message);
}

// What is kept for the next turn must be fit to be sent in it.
Failure no_message(const Json& reply) {
  return {"bad_reply", "Expected a message with a role, but the reply is " + excerpt(reply, 200) + ".", true, {}};
}

// Takes the functions that the model may call; a Failure if they or the messages are none.
std::optional<Failure> offer_tools(ModelRequest& request, const StepInput& input) {
  const Json messages = setting(input, "messages");
  if (!is_conversation(messages)) return bad_setting(input, "a list of chat messages as \"messages\"", messages);
  request.tools = setting(input, "tools");
  if (request.tools.is_null() || request.tools.is_array()) return std::nullopt;
  return bad_setting(input, "a list of function schemas, or null, as \"tools\"", request.tools);
}

// What the reply comes to where it may call tools.
StepResult called(const ModelReply& reply, const StepInput& input, const std::string& into) {
  auto calls = opened_calls(reply.message, setting(input, "messages").size());
  if (auto* failure = std::get_if<Failure>(&calls)) return std::move(*failure);
  Outcome outcome{calls_of(reply.message).empty() ? "message" : "tools", Json::object(), {}};
  const Json content = reply.message.value("content", Json());
  outcome.patch[into] = content.is_null() ? Json("") : content;
  outcome.facts = std::get<std::vector<Fact>>(std::move(calls));
  return outcome;
}

awaitable<StepResult> chat(StepInput input, Ports& ports) {
  auto into = text_setting(input, "into", "reply");
  if (auto* failure = std::get_if<Failure>(&into)) co_return std::move(*failure);
  auto append_to = text_setting(input, "append_to", "");
  if (auto* failure = std::get_if<Failure>(&append_to)) co_return std::move(*failure);
  auto asked = request_of(input);
  if (auto* failure = std::get_if<Failure>(&asked)) co_return std::move(*failure);
  ModelRequest& request = std::get<ModelRequest>(asked);
  const bool may_call = input.with.contains("tools");
  if (!may_call) tell_what_was_wrong(request, input);
  if (auto failure = may_call ? offer_tools(request, input) : std::nullopt) co_return *std::move(failure);
  const auto read = [&](const ModelReply& reply) -> StepResult {
    const std::string& channel = std::get<std::string>(into);
    const std::string& conversation = std::get<std::string>(append_to);
    if (!conversation.empty() && !is_message(reply.message)) return no_message(reply.message);
    StepResult result = may_call ? called(reply, input, channel) : Outcome{"ok", {{channel, reply.value}}, {}};
    if (auto* outcome = std::get_if<Outcome>(&result); outcome != nullptr && !conversation.empty())
      outcome->patch[conversation] = Json::array({reply.message});
    return result;
  };
  co_return co_await ask_model(std::move(request), ports, read);
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
  tell_what_was_wrong(std::get<ModelRequest>(request), input);
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

StepResult tell_results(const StepInput& input) {
  auto into = text_setting(input, "into", "messages");
  if (auto* failure = std::get_if<Failure>(&into)) return std::move(*failure);
  const Json messages = setting(input, "messages");
  const bool is_known = is_conversation(messages) && opened_calls(messages.back(), 0).index() == 0;
  if (!is_known) return bad_setting(input, "a list of chat messages as \"messages\"", messages);
  return Outcome{"ok", {{std::get<std::string>(std::move(into)), results_of_calls(messages, input)}}, {}};
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

enum class Leaves { by_ok, by_its_nodes_labels, by_ok_or_its_nodes_labels };

Handler handler(std::string name, std::variant<PureHandler, EffectHandler> run, Leaves leaves) {
  Handler handler;
  handler.name = std::move(name);
  if (leaves != Leaves::by_its_nodes_labels) handler.labels = {"ok"};
  handler.labels_from_node = leaves != Leaves::by_ok;
  handler.run = std::move(run);
  return handler;
}

}  // namespace

void add_builtin_handlers(HandlerTable& table) {
  table.add(handler("model.chat", EffectHandler(chat), Leaves::by_ok_or_its_nodes_labels));
  table.add(handler("model.decide", EffectHandler(decide_by_model), Leaves::by_its_nodes_labels));
  table.add(handler("tool.call", EffectHandler(call_named_tool), Leaves::by_ok));
  Handler results = handler("tool.results", PureHandler(tell_results), Leaves::by_ok);
  results.reads_plan = true;
  table.add(std::move(results));
  table.add(handler("data.set", PureHandler(set_data), Leaves::by_ok));
  table.add(handler("data.pick", PureHandler(pick), Leaves::by_its_nodes_labels));
}

}  // namespace cairn
