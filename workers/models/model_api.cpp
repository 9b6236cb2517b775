#include "workers/models/model_api.hpp"

#include <algorithm>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

constexpr std::size_t answer_shown_bytes = 300;  // in a sentence

// A strict endpoint takes only schemas whose objects, at any depth, have all of their properties and no others.
bool is_strict(const Json& schema) {
  if (const Json* type = member_at(schema, "type"); type != nullptr && *type == "object") {
    const Json* others = member_at(schema, "additionalProperties");
    if (others == nullptr || *others != false) return false;
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    for (const auto& [name, property] : properties.items())
      if (std::find(required.begin(), required.end(), name) == required.end()) return false;
  }
  return !schema.is_structured() || std::all_of(schema.begin(), schema.end(), is_strict);
}

// The messages, with the schema in words where the endpoint does not hold the reply against it. It joins the first
// system message, as some endpoints take no second one.
Json messages_with_schema(const ModelRequest& request, ReplyFormat format) {
  Json messages = request.messages;
  if (request.schema.is_null() || format == ReplyFormat::json_schema) return messages;
  const std::string says =
      "Reply with one JSON value that fits this JSON Schema, and with nothing else:\n" + canonical(request.schema);
  if (!messages.is_array()) messages = Json::array();
  if (!messages.empty() && text_at(messages.front(), "role") == "system")
    add_to_message(messages.front(), says);
  else
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", says}});
  return messages;
}

std::string schema_name_of(const ModelRequest& request) {
  return request.schema_name.empty() ? "reply" : request.schema_name;
}

// --- chat completions -----------------------------------------------------------------------------------------------

void ask_for_format(Json& body, const ModelRequest& request, ReplyFormat format) {
  if (request.schema.is_null() || format == ReplyFormat::text) return;
  if (format == ReplyFormat::json_object) {
    body["response_format"] = {{"type", "json_object"}};
    return;
  }
  body["response_format"] = {
      {"type", "json_schema"},
      {"json_schema",
       {{"name", schema_name_of(request)}, {"schema", request.schema}, {"strict", is_strict(request.schema)}}}};
}

Json chat_body(const ModelRequest& request, const std::string& model, AskedForm form) {
  Json body = request.options.is_object() ? request.options : Json::object();
  body["model"] = model;
  body["messages"] = messages_with_schema(request, form.format);
  if (!request.tools.is_null()) body["tools"] = request.tools;
  if (form.streams) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
  }
  ask_for_format(body, request, form.format);
  return body;
}

Failure no_message_in(const std::string& what, const Json& answer) {
  return bad_reply("Expected " + what + ", but got " + excerpt(answer, answer_shown_bytes) + ".");
}

Result<Completion, Failure> read_chat(const Json& answer) {
  const Json* choices = member_at(answer, "choices");
  const Json* choice = choices != nullptr && choices->is_array() && !choices->empty() ? &choices->front() : nullptr;
  const Json* message = choice != nullptr ? member_at(*choice, "message") : nullptr;
  if (message == nullptr || !message->is_object()) return no_message_in("a completion with choices[0].message", answer);
  Completion read;
  read.message = *message;
  read.finish_reason = text_at(*choice, "finish_reason");
  if (const Json* usage = member_at(answer, "usage")) {
    read.tokens_in = count_at(*usage, "prompt_tokens");
    read.tokens_out = count_at(*usage, "completion_tokens");
    if (const Json* of = member_at(*usage, "prompt_tokens_details"))
      read.tokens_cached = count_at(*of, "cached_tokens");
    if (const Json* of = member_at(*usage, "completion_tokens_details"))
      read.tokens_reasoning = count_at(*of, "reasoning_tokens");
  }
  return read;
}

// --- responses ------------------------------------------------------------------------------------------------------

// One message is one item, or several: the text, and each call of a tool.
void add_items(const Json& message, Json& input) {
  const std::string role = text_at(message, "role");
  if (role == "tool") {
    input.push_back({{"type", "function_call_output"},
                     {"call_id", text_at(message, "tool_call_id")},
                     {"output", content_of(message)}});
    return;
  }
  const std::string content = content_of(message);
  if (!content.empty() || !has_tool_calls(message)) input.push_back({{"role", role}, {"content", content}});
  if (!has_tool_calls(message)) return;
  for (const Json& call : message["tool_calls"]) {
    const Json function = call.value("function", Json::object());
    input.push_back({{"type", "function_call"},
                     {"call_id", text_at(call, "id")},
                     {"name", text_at(function, "name")},
                     {"arguments", text_at(function, "arguments")}});
  }
}

Json flat_tool(const Json& tool) {
  Json flat = tool.is_object() ? tool.value("function", Json::object()) : Json::object();
  flat["type"] = "function";
  return flat;
}

Json responses_body(const ModelRequest& request, const std::string& model, AskedForm asked) {
  Json body = request.options.is_object() ? request.options : Json::object();
  body["model"] = model;
  body["store"] = false;  // the history is ours to keep
  body["input"] = Json::array();
  if (asked.streams) body["stream"] = true;
  for (const Json& message : messages_with_schema(request, asked.format)) add_items(message, body["input"]);
  if (request.tools.is_array())
    for (const Json& tool : request.tools) body["tools"].push_back(flat_tool(tool));
  if (request.schema.is_null() || asked.format == ReplyFormat::text) return body;
  Json form = {{"type", "json_object"}};
  if (asked.format == ReplyFormat::json_schema)
    form = {{"type", "json_schema"},
            {"name", schema_name_of(request)},
            {"schema", request.schema},
            {"strict", is_strict(request.schema)}};
  body["text"]["format"] = std::move(form);
  return body;
}

void read_part(const Json& part, Json& message) {
  if (const std::string refusal = text_at(part, "refusal"); !refusal.empty()) message["refusal"] = refusal;
  message["content"] = text_at(message, "content") + text_at(part, "text");
}

void read_item(const Json& item, Json& message, bool& is_any) {
  const std::string type = text_at(item, "type");
  if (type == "function_call") {
    message["tool_calls"].push_back(
        {{"id", text_at(item, "call_id")},
         {"type", "function"},
         {"function", {{"name", text_at(item, "name")}, {"arguments", text_at(item, "arguments")}}}});
    is_any = true;
  }
  const Json* content = type == "message" ? member_at(item, "content") : nullptr;
  if (content == nullptr || !content->is_array()) return;
  is_any = true;
  for (const Json& part : *content) read_part(part, message);
}

// As chat completions call it.
std::string finish_of(const Json& answer, const Json& message) {
  const Json* details = member_at(answer, "incomplete_details");
  std::string reason = details == nullptr ? "" : text_at(*details, "reason");
  if (reason == "max_output_tokens") return "length";
  if (!reason.empty()) return reason;
  return has_tool_calls(message) ? "tool_calls" : "stop";
}

Result<Completion, Failure> read_response(const Json& answer) {
  const Json* output = member_at(answer, "output");
  Completion read;
  read.message = {{"role", "assistant"}, {"content", nullptr}};
  bool is_any = false;
  if (output != nullptr && output->is_array())
    for (const Json& item : *output) read_item(item, read.message, is_any);
  read.finish_reason = finish_of(answer, read.message);
  if (!is_any && read.finish_reason == "stop") return no_message_in("a response with an output message", answer);
  if (const Json* usage = member_at(answer, "usage")) {
    read.tokens_in = count_at(*usage, "input_tokens");
    read.tokens_out = count_at(*usage, "output_tokens");
    if (const Json* of = member_at(*usage, "input_tokens_details")) read.tokens_cached = count_at(*of, "cached_tokens");
    if (const Json* of = member_at(*usage, "output_tokens_details"))
      read.tokens_reasoning = count_at(*of, "reasoning_tokens");
  }
  return read;
}

}  // namespace

const char* path_of(ModelApi api) { return api == ModelApi::responses ? "responses" : "chat/completions"; }

Json request_body(ModelApi api, const ModelRequest& request, const std::string& model, AskedForm form) {
  return api == ModelApi::responses ? responses_body(request, model, form) : chat_body(request, model, form);
}

Result<Completion, Failure> read_completion(ModelApi api, const Json& answer) {
  Result<Completion, Failure> read = api == ModelApi::responses ? read_response(answer) : read_chat(answer);
  if (!read) return read;
  read->id = text_at(answer, "id");
  read->model = text_at(answer, "model");
  return read;
}

}  // namespace cairn
