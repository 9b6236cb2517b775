#include "tests/ops/mcp/mcp_client.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

#include "tests/paths.hpp"

namespace cairn::program {
namespace {

constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";
constexpr const char* capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* client_key = "io.modelcontextprotocol/clientInfo";

std::vector<Json> messages_of(const Reply& reply) {
  std::vector<Json> messages;
  if (reply.body.empty()) return messages;
  if (!reply.type.starts_with("text/event-stream")) return {reply.json()};
  std::istringstream text(reply.body);
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("data: ")) messages.push_back(Json::parse(line.substr(6)));
  return messages;
}

}  // namespace

Json echo_tool(const std::string& name, const std::string& tool) {
  Json expose = {{"description", "Repeats a text."}};
  if (!tool.empty()) expose["tool"] = tool;
  return {{"name", name},
          {"start", "echo"},
          {"expose", expose},
          {"input",
           {{"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}, {"required", Json::array({"text"})}}},
          {"output",
           {{"type", "object"}, {"properties", {{"said", {{"type", "string"}}}}}, {"required", Json::array({"said"})}}},
          {"limits", {{"steps", 10}}},
          {"nodes",
           {{"echo",
             {{"do", "tool.call"},
              {"with", {{"tool", "echo"}, {"inputs", {{"said", "$text"}}}, {"into", "echoed"}}},
              {"on", {{"ok", "end"}, {"error", "lost"}}}}},
            {"lost", {{"end", "failed"}}},
            {"end", {{"end", {{"status", "done"}, {"output", "$echoed"}}}}}}}};
}

Json asking_tool(const std::string& name, const Json& schema) {
  Json ask = {{"kind", "question"}, {"prompt", "Which one?"}};
  if (!schema.is_null()) ask["schema"] = schema;
  return {
      {"name", name},
      {"start", "ask"},
      {"expose", {{"description", "Asks for a value."}}},
      {"limits", {{"steps", 10}}},
      {"nodes",
       {{"ask", {{"ask", ask}, {"into", "value"}, {"on", {{"answered", "end"}, {"expired", "end"}}}}},
        {"end", {{"end", {{"status", "done"}, {"output", {{"value", {{"$", "value"}, {"default", nullptr}}}}}}}}}}}};
}

Json calling_tool(const std::string& name, const std::string& graph) {
  return {{"name", name},
          {"start", "call"},
          {"expose", {{"description", "Calls a graph that asks."}}},
          {"limits", {{"steps", 10}}},
          {"nodes",
           {{"call", {{"call", graph}, {"into", "came"}, {"on", {{"done", "end"}, {"failed", "end"}}}}},
            {"end", {{"end", {{"status", "done"}, {"output", {{"came", {{"$", "came"}, {"default", nullptr}}}}}}}}}}}};
}

void add_graph(const Server& server, const Json& graph) {
  const Reply added = server.post("/api/v1/graphs", graph);
  EXPECT_EQ(added.status, 201) << added.body;
}

Json rpc_request(const Json& id, const std::string& method, const Json& params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}};
}

Told send_mcp(std::uint16_t port, const std::string& body, const Headers& more) {
  Headers headers = {{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}};
  headers.insert(headers.end(), more.begin(), more.end());
  const Reply reply = ApiConnection(port).ask("POST", "/mcp", body, headers);
  return {reply.status, messages_of(reply), reply.headers};
}

McpStream::McpStream(std::uint16_t port, const Json& message, const Headers& headers) : ApiConnection(port) {
  const std::string body = message.dump();
  std::string head =
      "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) head += name + ": " + value + "\r\n";
  send(head + "\r\n" + body);
}

Json McpStream::next() {
  constexpr std::size_t piece_bytes = 65'536;
  for (;;) {
    const std::size_t begin = text_.find("data: ");
    const std::size_t end = begin == std::string::npos ? begin : text_.find('\n', begin);
    if (end != std::string::npos) {
      const std::string data = text_.substr(begin + 6, end - begin - 6);
      text_.erase(0, end);
      return Json::parse(data);
    }
    std::string piece(piece_bytes, '\0');
    boost::system::error_code fault;
    piece.resize(socket_.read_some(boost::asio::buffer(piece), fault));
    if (piece.empty()) return nullptr;
    text_ += piece;
  }
}

LegacyClient::LegacyClient(std::uint16_t port, const Json& capabilities, const Headers& more)
    : port_(port), headers_(more) {
  const Told told = ask("initialize", {{"protocolVersion", "2025-11-25"},
                                       {"capabilities", capabilities},
                                       {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  EXPECT_EQ(told.status, 200);
  initialized_ = told.result();
  headers_.emplace_back("MCP-Protocol-Version", "2025-11-25");
  for (const auto& [name, value] : told.headers)
    if (boost::beast::iequals(name, "Mcp-Session-Id")) headers_.emplace_back(name, value);
}

Told LegacyClient::send(const Json& message) const { return send_mcp(port_, message.dump(), headers_); }

Told LegacyClient::ask(const std::string& method, const Json& params) {
  return send(rpc_request(++last_id_, method, params));
}

Told LegacyClient::call(const std::string& tool, const Json& arguments) {
  return ask("tools/call", {{"name", tool}, {"arguments", arguments}});
}

Json modern_request(const Json& id, const std::string& method, Json params, const Json& capabilities) {
  params["_meta"][version_key] = "2026-07-28";
  params["_meta"][capabilities_key] = capabilities;
  params["_meta"][client_key] = {{"name", "test"}, {"version", "1"}};
  return rpc_request(id, method, params);
}

Headers modern_headers(const Json& message) {
  Headers headers = {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", message["method"]}};
  const Json& params = message["params"];
  for (const char* name : {"name", "uri", "taskId"})
    if (params.contains(name) && params[name].is_string()) headers.emplace_back("Mcp-Name", params[name]);
  return headers;
}

Told send_modern(std::uint16_t port, const Json& message, const Headers& more) {
  Headers headers = modern_headers(message);
  headers.insert(headers.end(), more.begin(), more.end());
  return send_mcp(port, message.dump(), headers);
}

std::vector<Json> speak_mcp(const std::vector<std::string>& lines, std::size_t answers, const Arguments& more) {
  std::string input;
  for (const std::string& line : lines) input += line + "\n";
  const std::string name = "speak" + std::to_string(std::rand());
  const auto in = write_file(name + ".in", input);
  const auto out = directory() / (name + ".out");
  std::string options;
  for (const std::string& option : more) options += " '" + option + "'";
  // The input ends when the answers have come.
  const std::string script = "{ cat " + in.string() + "; for i in $(seq 300); do [ $(wc -l < " + out.string() +
                             ") -ge " + std::to_string(answers) + " ] && break; sleep 0.1; done; } | " +
                             testing::cairn_program() + " mcp" + options + " > " + out.string();
  write_file(name + ".out", "");
  const Ran ran = run_program("/bin/bash", {"-c", script});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  std::vector<Json> said;
  std::istringstream text(read_file(out));
  for (std::string line; std::getline(text, line);) said.push_back(Json::parse(line));
  return said;
}

}  // namespace cairn::program
