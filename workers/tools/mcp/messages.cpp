#include "workers/tools/mcp/messages.hpp"

#include "workers/ports/untrusted_text.hpp"

namespace cairn::mcp {
namespace {

constexpr std::size_t said_bytes_max = 1000;

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

Error no_message(std::string_view text) {
  return {Code::invalid, "Expected a message of JSON-RPC 2.0, but found: " + readable_line(text, 200)};
}

}  // namespace

Result<Message> parse_message(std::string_view text) {
  Result<Json> json = parse_json(text, "a message");
  if (!json || !json->is_object()) return no_message(text);
  Message message;
  message.id = json->value("id", Json());
  const Json method = json->value("method", Json());
  if (method.is_string()) {
    message.kind = is_id(message.id) ? Message::Kind::request : Message::Kind::notification;
    message.method = method.get<std::string>();
    message.params = json->value("params", Json::object());
    if (!message.params.is_object()) return no_message(text);
    return message;
  }
  message.kind = Message::Kind::response;
  message.result = json->value("result", Json());
  message.error = json->value("error", Json());
  const bool is_result = message.result.is_object() && is_id(message.id);
  if (!is_result && !message.error.is_object()) return no_message(text);
  return message;
}

int Reply::code() const {
  const Json code = error.is_object() ? error.value("code", Json()) : Json();
  const bool fits = code.is_number_integer() && code > -1'000'000'000 && code < 1'000'000'000;
  return fits ? code.get<int>() : 0;
}

std::string Reply::message() const {
  const Json message = error.is_object() ? error.value("message", Json()) : Json();
  if (!message.is_string()) return "error " + std::to_string(code());
  return readable_line(message.get<std::string>(), said_bytes_max);
}

Json request_json(const Request& request) {
  return {{"jsonrpc", "2.0"}, {"id", request.id}, {"method", request.method}, {"params", request.params}};
}

Json notification_json(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

Json response_json(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json refusal_json(const Json& id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

std::string server_named(const std::string& name) { return "MCP server \"" + name + "\""; }

}  // namespace cairn::mcp
