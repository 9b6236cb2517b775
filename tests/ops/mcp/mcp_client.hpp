// A client of POST /mcp and of `cairn mcp`, which sends what a test says and reads what comes back; and graphs that are
// tools. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "tests/ops/api_client.hpp"

namespace cairn::program {

// A graph that needs a worker: its output repeats its input's text.
Json echo_tool(const std::string& name, const std::string& tool = "");
// One that asks for a value of this schema, and gives it.
Json asking_tool(const std::string& name, const Json& schema);
// One that calls `graph`, and gives what came of it as the value.
Json calling_tool(const std::string& name, const std::string& graph);

void add_graph(const Server& server, const Json& graph);

inline const Json shows_forms = {{"elicitation", Json::object()}};  // capabilities

Json rpc_request(const Json& id, const std::string& method, const Json& params = Json::object());

// The answer to a message: one of JSON, or the messages of its stream.
struct Told {
  int status = 0;
  std::vector<Json> messages;
  Headers headers = {};
  const Json& last() const { return messages.back(); }
  Json result() const { return messages.empty() ? Json() : messages.back().value("result", Json()); }
  Json error() const { return messages.empty() ? Json() : messages.back().value("error", Json()); }
};

Told send_mcp(std::uint16_t port, const std::string& body, const Headers& more = {});

// The stream of a call, read message by message; its end closes the connection.
class McpStream : ApiConnection {
 public:
  McpStream(std::uint16_t port, const Json& message, const Headers& headers);
  Json next();  // null: it has ended

 private:
  std::string text_;
};

// A client of before 2026-07-28, with the session that initialize gave.
class LegacyClient {
 public:
  explicit LegacyClient(std::uint16_t port, const Json& capabilities = Json::object(), const Headers& more = {});
  Told send(const Json& message) const;
  Told ask(const std::string& method, const Json& params = Json::object());
  Told call(const std::string& tool, const Json& arguments = Json::object());
  const Json& initialized() const { return initialized_; }
  const Headers& headers() const { return headers_; }

 private:
  std::uint16_t port_;
  Headers headers_;
  Json initialized_;
  int last_id_ = 0;
};

// A message of 2026-07-28 and the headers that go with it.
Json modern_request(const Json& id, const std::string& method, Json params = Json::object(),
                    const Json& capabilities = Json::object());
Headers modern_headers(const Json& message);
Told send_modern(std::uint16_t port, const Json& message, const Headers& more = {});

// The lines that `cairn mcp` writes when it has read these and its input stays open until as many answers have come.
std::vector<Json> speak_mcp(const std::vector<std::string>& lines, std::size_t answers, const Arguments& more = {});

}  // namespace cairn::program
