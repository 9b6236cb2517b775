#include "workers/models/model_api.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"

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

// Endpoints that read the arguments of earlier calls refuse every later request over one that a model wrote wrong.
void make_arguments_sendable(Json& message) {
  if (!has_tool_calls(message)) return;
  for (Json& call : message["tool_calls"]) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
    Json& arguments = call["function"]["arguments"];
    if (arguments.is_object()) arguments = canonical(arguments);
    const Result<Json> read =
        parse_json(arguments.is_string() ? arguments.get_ref<const std::string&>() : std::string(), "the arguments");
    if (!read || !read->is_object()) arguments = "{}";
  }
}

// The messages, with the schema in words where the endpoint does not hold the reply against it. It joins the first
// system message, as some endpoints take no second one.
Json messages_to_send(const ModelRequest& request, ReplyFormat format) {
  Json messages = request.messages;
  if (messages.is_array())
    for (Json& message : messages) make_arguments_sendable(message);
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
  body["messages"] = messages_to_send(request, form.format);
  if (!request.tools.is_null()) body["tools"] = request.tools;
  if (form.streams) {
    body["stream"] = true;
    if (form.asks_use) body["stream_options"] = {{"include_usage", true}};
  }
  ask_for_format(body, request, form.format);
  return body;
}

Failure no_message_in(const std::string& what, const Json& answer) {
  return bad_reply("Expected " + what + ", but got " + excerpt(answer, answer_shown_bytes) + ".");
}

std::string error_text(const Json& error) {
  std::string says = text_at(error, "message");
  if (says.empty()) says = error.is_string() ? error.get<std::string>() : excerpt(error, answer_shown_bytes);
  return readable_line(says, answer_shown_bytes);
}

// The cause that broke a choice off; "" if there is none.
std::string cause_of_break(const Json& choice) {
  static constexpr std::string_view reasons[] = {"error", "network_error", "insufficient_system_resource"};
  if (const Json* error = member_at(choice, "error")) return error_text(*error);
  const std::string reason = text_at(choice, "finish_reason");
  return std::find(std::begin(reasons), std::end(reasons), reason) == std::end(reasons) ? "" : reason;
}

Result<Completion, Failure> read_chat(const Json& answer) {
  const Json* choices = member_at(answer, "choices");
  const Json* choice = choices != nullptr && choices->is_array() && !choices->empty() ? &choices->front() : nullptr;
  if (const Json* error = member_at(answer, "error"); error != nullptr && choice == nullptr) return broken_off(*error);
  Completion read;
  if (choice != nullptr) read.broken_by = cause_of_break(*choice);
  const Json* message = choice != nullptr ? member_at(*choice, "message") : nullptr;
  const bool is_message = message != nullptr && message->is_object();
  if (!is_message && read.broken_by.empty()) return no_message_in("a completion with choices[0].message", answer);
  read.message = is_message ? *message : Json{{"role", "assistant"}, {"content", nullptr}};
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

// A part of a message as the responses API has it. One that it has not stays as it is: the endpoint is to refuse what
// it cannot read.
Json input_part(const Json& part) {
  const std::string type = text_at(part, "type");
  if (type == "text") return {{"type", "input_text"}, {"text", text_at(part, "text")}};
  if (type == "image_url") {
    const Json image = part.value("image_url", Json());
    Json input = {{"type", "input_image"}, {"image_url", image.is_string() ? image : image.value("url", Json())}};
    if (const std::string detail = text_at(image, "detail"); !detail.empty()) input["detail"] = detail;
    return input;
  }
  const Json* file = type == "file" ? member_at(part, "file") : nullptr;
  if (file == nullptr || !file->is_object()) return part;
  Json input = *file;
  input["type"] = "input_file";
  return input;
}

// The text, or all parts where some are none.
Json input_content(const Json& message) {
  const auto is_text = [](const Json& part) { return text_at(part, "type") == "text"; };
  const Json* parts = member_at(message, "content");
  const bool has_others = parts != nullptr && parts->is_array() && !std::all_of(parts->begin(), parts->end(), is_text);
  if (!has_others || text_at(message, "role") == "assistant") return content_of(message);
  Json input = Json::array();
  for (const Json& part : *parts) input.push_back(input_part(part));
  return input;
}

// One message is one item, or several: the text, and each call of a tool.
void add_items(const Json& message, Json& input) {
  const std::string role = text_at(message, "role");
  if (role == "tool") {
    input.push_back({{"type", "function_call_output"},
                     {"call_id", text_at(message, "tool_call_id")},
                     {"output", input_content(message)}});
    return;
  }
  const Json content = input_content(message);
  if (content != "" || !has_tool_calls(message)) input.push_back({{"role", role}, {"content", content}});
  if (!has_tool_calls(message)) return;
  for (const Json& call : message["tool_calls"]) {
    const Json function = call.value("function", Json::object());
    input.push_back({{"type", "function_call"},
                     {"call_id", text_at(call, "id")},
                     {"name", text_at(function, "name")},
                     {"arguments", text_at(function, "arguments")}});
  }
}

// The API makes a schema strict by itself unless the request says otherwise, and then an optional parameter is none.
Json flat_tool(const Json& tool) {
  Json flat = tool.is_object() ? tool.value("function", Json::object()) : Json::object();
  flat["type"] = "function";
  const Json* parameters = member_at(flat, "parameters");
  const bool has_object = parameters != nullptr && text_at(*parameters, "type") == "object";
  if (!flat.contains("strict")) flat["strict"] = has_object && is_strict(*parameters);
  return flat;
}

Json responses_body(const ModelRequest& request, const std::string& model, AskedForm asked) {
  Json body = request.options.is_object() ? request.options : Json::object();
  body["model"] = model;
  body["store"] = false;  // the history is ours to keep
  body["input"] = Json::array();
  if (asked.streams) body["stream"] = true;
  for (const Json& message : messages_to_send(request, asked.format)) add_items(message, body["input"]);
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

// As chat completions call it. A response that is not completed may have output all the same.
void read_finish(const Json& answer, Completion& read) {
  const Json* details = member_at(answer, "incomplete_details");
  const std::string reason = details == nullptr ? "" : text_at(*details, "reason");
  const std::string status = text_at(answer, "status");
  const bool is_whole = status.empty() || status == "completed";
  read.finish_reason = !reason.empty()                ? (reason == "max_output_tokens" ? "length" : reason)
                       : !is_whole                    ? status
                       : has_tool_calls(read.message) ? "tool_calls"
                                                      : "stop";
  const Json* error = member_at(answer, "error");
  if (!is_whole) read.broken_by = error != nullptr ? error_text(*error) : read.finish_reason;
}

Result<Completion, Failure> read_response(const Json& answer) {
  const Json* output = member_at(answer, "output");
  if (const Json* error = member_at(answer, "error"); error != nullptr && output == nullptr) return broken_off(*error);
  Completion read;
  read.message = {{"role", "assistant"}, {"content", nullptr}};
  bool is_any = false;
  if (output != nullptr && output->is_array())
    for (const Json& item : *output) read_item(item, read.message, is_any);
  read_finish(answer, read);
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

bool is_failed_generation(const Json& error) {
  const std::string code = text_at(error, "code");
  return code == "json_validate_failed" || code == "tool_use_failed";
}

Failure failed_generation(const Json& error) {
  const Json* wrote = member_at(error, "failed_generation");
  std::string message = "Expected a reply in the form that was asked for, but the model endpoint says: " +
                        readable_line(text_at(error, "message"), answer_shown_bytes);
  if (wrote != nullptr)
    message += " The model wrote: " +
               readable_line(wrote->is_string() ? wrote->get<std::string>() : canonical(*wrote), answer_shown_bytes);
  return bad_reply(std::move(message));
}

Failure broken_off(const Json& error) {
  if (is_failed_generation(error)) return failed_generation(error);
  return failure("refused", "Expected a whole reply from the model endpoint, but it broke off: " + error_text(error),
                 true);
}

Result<Completion, Failure> read_completion(ModelApi api, const Json& answer) {
  Result<Completion, Failure> read = api == ModelApi::responses ? read_response(answer) : read_chat(answer);
  if (!read) return read;
  read->id = text_at(answer, "id");
  read->model = text_at(answer, "model");
  return read;
}

}  // namespace cairn
