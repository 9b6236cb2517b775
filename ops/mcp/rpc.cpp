#include "ops/mcp/rpc.hpp"

namespace cairn {
namespace {

constexpr std::size_t id_bytes_max = 1'000;

RpcRefusal invalid(const std::string& sentence, Json id = nullptr) {
  return {{rpc::invalid_request, sentence, http_status::bad_request}, std::move(id)};
}

bool is_id(const Json& id) {
  return id.is_number_integer() || (id.is_string() && id.get_ref<const std::string&>().size() <= id_bytes_max);
}

}  // namespace

RpcError bad_params(const std::string& sentence) { return {rpc::invalid_params, sentence}; }

RpcError bad_cursor() { return bad_params("Expected the cursor that a page before gave, but it is none."); }

const Json& RpcMessage::meta() const {
  static const Json none = Json::object();
  const auto found = params.find("_meta");
  return found == params.end() ? none : *found;
}

Result<RpcMessage, RpcRefusal> parse_message(std::string_view text) {
  Result<Json> parsed = parse_json(text, "the message");
  if (!parsed) return RpcRefusal{{rpc::parse_error, parsed.error().message, http_status::bad_request}};
  const Json& json = *parsed;
  if (json.is_array()) return invalid("Expected one JSON-RPC message, but found a batch.");
  if (!json.is_object()) return invalid("Expected a JSON-RPC message, but found " + excerpt(json, 60) + ".");
  RpcMessage message;
  const bool has_id = json.contains("id");
  if (has_id && !is_id(json["id"]))
    return invalid("Expected the id of a message to be a text or an integer, but it is " + excerpt(json["id"], 60) +
                   ".");
  if (has_id) message.id = json["id"];
  if (json.value("jsonrpc", Json()) != "2.0")
    return invalid("Expected \"jsonrpc\" to be \"2.0\" in a message, but it is not.", message.id);
  if (!json.contains("method")) {
    if (!has_id || json.contains("result") == json.contains("error"))
      return invalid("Expected a message with a method, or the response to one, but found neither.", message.id);
    message.kind = RpcMessage::Kind::response;
    if (json.contains("result")) message.result = json["result"];
    return message;
  }
  if (!json["method"].is_string())
    return invalid("Expected the method to be a text, but it is " + excerpt(json["method"], 60) + ".", message.id);
  message.kind = has_id ? RpcMessage::Kind::request : RpcMessage::Kind::notification;
  message.method = json["method"].get<std::string>();
  if (!json.contains("params")) return message;
  if (!json["params"].is_object())
    return invalid("Expected the params to be an object, but found " + excerpt(json["params"], 60) + ".", message.id);
  message.params = json["params"];
  if (message.params.contains("_meta") && !message.meta().is_object())
    return invalid("Expected _meta to be an object, but found " + excerpt(message.meta(), 60) + ".", message.id);
  return message;
}

Json result_message(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_message(const Json& id, const RpcError& error) {
  Json said = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) said["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(said)}};
}

Json request_message(const Json& id, const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

Json notification_message(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace cairn
