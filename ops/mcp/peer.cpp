#include "ops/mcp/peer.hpp"

#include <algorithm>
#include <array>

#include "storage/ground/base64.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 2> handshaken = {"2025-11-25", "2025-06-18"};
constexpr std::string_view before_the_header = "2025-03-26";  // what a client speaks that names no revision
constexpr std::size_t session_bytes_max = 100;
constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";
constexpr const char* capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* tasks_extension = "io.modelcontextprotocol/tasks";

bool is_handshaken(std::string_view version) {
  return version == before_the_header || std::find(handshaken.begin(), handshaken.end(), version) != handshaken.end();
}

RpcError mismatch(const std::string& sentence) { return {rpc::header_mismatch, sentence, http_status::bad_request}; }

RpcError lacks(const std::string& sentence) { return {rpc::invalid_params, sentence, http_status::bad_request}; }

RpcError unknown_version(const std::string& asked) {
  return {rpc::unsupported_version,
          "Expected one of the revisions that data.supported names, but found " + excerpt(Json(asked), 60) + ".",
          http_status::bad_request,
          {{"supported", mcp_revisions()}, {"requested", asked}}};
}

// {"elicitation": {}} means forms, as {"elicitation": {"form": {}}} does.
bool shows_forms(const Json& capabilities) {
  if (!capabilities.is_object() || !capabilities.contains("elicitation")) return false;
  const Json& modes = capabilities["elicitation"];
  return modes.is_object() && (modes.empty() || modes.contains("form"));
}

bool opens_pages(const Json& capabilities) {
  const Json modes = capabilities.value("elicitation", Json());
  return modes.is_object() && modes.contains("url");
}

bool knows_tasks(const Json& capabilities) {
  if (!capabilities.contains("extensions")) return false;
  const Json& extensions = capabilities["extensions"];
  return extensions.is_object() && extensions.contains(tasks_extension);
}

// The value of Mcp-Name: as it stands, or =?base64?...?=. Nothing: it is not well-formed.
std::optional<std::string> decoded_name(const std::string& value) {
  constexpr std::string_view before = "=?base64?", after = "?=";
  const bool is_encoded =
      value.size() >= before.size() + after.size() && value.starts_with(before) && value.ends_with(after);
  if (!is_encoded) return value;
  return parse_base64(std::string_view(value).substr(before.size(), value.size() - before.size() - after.size()));
}

// The parameter that Mcp-Name repeats; null: none.
const char* named_parameter(const std::string& method) {
  if (method == "tools/call") return "name";
  if (method == "resources/read") return "uri";
  return method.starts_with("tasks/") ? "taskId" : nullptr;
}

Status check_name(const RpcMessage& message, const McpHeader& header) {
  const char* parameter = named_parameter(message.method);
  if (parameter == nullptr) return Done{};
  const std::string said = header("mcp-name");
  const std::optional<std::string> name = decoded_name(said);
  const Json meant = message.params.value(parameter, Json());
  if (name && !said.empty() && meant == *name) return Done{};
  return Error{Code::invalid, "Expected the header Mcp-Name to be the message's " + std::string(parameter) + " " +
                                  excerpt(meant, 60) + ", but found " + excerpt(Json(said), 60) + "."};
}

std::optional<RpcError> header_fault(const RpcMessage& message, const McpHeader& header, const std::string& version) {
  if (const std::string said = header("mcp-protocol-version"); said != version)
    return mismatch("Expected the header MCP-Protocol-Version to be the message's " + excerpt(Json(version), 60) +
                    ", but found " + excerpt(Json(said), 60) + ".");
  if (version != mcp_modern) return std::nullopt;  // refused as a whole
  if (const std::string method = header("mcp-method"); method != message.method)
    return mismatch("Expected the header Mcp-Method to be the message's method " + excerpt(Json(message.method), 60) +
                    ", but found " + excerpt(Json(method), 60) + ".");
  if (const Status fits = check_name(message, header); !fits) return mismatch(fits.error().message);
  return std::nullopt;
}

Result<McpPeer, RpcError> modern_peer(const RpcMessage& message, const McpHeader& header) {
  const Json& meta = message.meta();
  const Json version = meta.value(version_key, Json());
  if (!version.is_string())
    return lacks("Expected " + std::string(version_key) + " in the message's _meta, but it is not there.");
  const auto& text = version.get_ref<const std::string&>();
  if (header)
    if (std::optional<RpcError> fault = header_fault(message, header, text)) return *std::move(fault);
  if (text != mcp_modern) return unknown_version(text);
  const Json capabilities = meta.value(capabilities_key, Json());
  if (!capabilities.is_object())
    return lacks("Expected " + std::string(capabilities_key) + " in the message's _meta, but it is not there.");
  return McpPeer{true, shows_forms(capabilities), knows_tasks(capabilities), "", opens_pages(capabilities)};
}

Result<McpPeer, RpcError> described_peer(const RpcMessage& message, const McpHeader& header,
                                         const std::string& session) {
  if (message.meta().contains(version_key) || message.method == "server/discover") return modern_peer(message, header);
  const std::string version = header ? header("mcp-protocol-version") : "";
  if (version == mcp_modern) return modern_peer(message, header);
  if (!version.empty() && !is_handshaken(version)) return unknown_version(version);
  const std::string own = header ? header("mcp-session-id") : session;
  if (own.size() > session_bytes_max)
    return RpcError{rpc::invalid_request,
                    "Expected the session that initialize gave, but found " + std::to_string(own.size()) + " bytes.",
                    http_status::bad_request};
  return McpPeer{false, session_elicits(own), false, own};
}

std::string traceparent_of(const RpcMessage& message, const McpHeader& header) {
  if (std::string said = header ? header("traceparent") : ""; !said.empty()) return said;
  const Json said = message.meta().value("traceparent", Json());
  return said.is_string() ? said.get<std::string>() : "";
}

}  // namespace

std::vector<std::string> mcp_revisions() {
  std::vector<std::string> all = {std::string(mcp_modern)};
  all.insert(all.end(), handshaken.begin(), handshaken.end());
  return all;
}

std::string new_session(const Json& capabilities) {
  return to_string(new_run_id()) + (shows_forms(capabilities) ? ".form" : "");
}

bool session_elicits(std::string_view session) { return session.ends_with(".form"); }

Result<McpPeer, RpcError> peer_of(const RpcMessage& message, const McpHeader& header, const std::string& session) {
  Result<McpPeer, RpcError> peer = described_peer(message, header, session);
  if (peer) peer->traceparent = traceparent_of(message, header);
  return peer;
}

std::string negotiated(const Json& asked) {
  for (const std::string_view version : handshaken)
    if (asked == version) return std::string(version);
  return std::string(handshaken.front());
}

}  // namespace cairn
