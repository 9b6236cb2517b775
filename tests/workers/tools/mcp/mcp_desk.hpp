// The tools of one MCP server, as a worker has them, and calls of them. Header for the tests of this folder. Not
// thread-safe.
#pragma once

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/paths.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/ports/tool_process.hpp"
#include "workers/tools/mcp/servers.hpp"

namespace cairn::testing {

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// small_server.py with these arguments; the files that it writes begin with `calls`.
class SmallServer {
 public:
  explicit SmallServer(std::vector<std::string> more = {}) {
    argv_ = {"python3", source_dir() + "/tests/workers/tools/mcp/small_server.py", "--calls", calls()};
    argv_.insert(argv_.end(), more.begin(), more.end());
  }
  std::string calls() const { return (folder_->path() / "calls").string(); }
  const std::vector<std::string>& argv() const { return argv_; }
  void touch(const std::string& suffix) const { std::ofstream(calls() + suffix) << "x"; }
  bool wrote(const std::string& suffix) const {
    return test::wait_until([&] { return std::filesystem::exists(calls() + suffix); });
  }
  std::vector<Json> called() const {
    std::vector<Json> lines;
    std::istringstream text(text_of_file(calls()));
    for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
    return lines;
  }

 private:
  std::shared_ptr<TemporaryFolder> folder_ = std::make_shared<TemporaryFolder>();
  std::vector<std::string> argv_;
};

// The same over HTTP, while it lives.
class SmallHttpServer {
 public:
  explicit SmallHttpServer(const SmallServer& server) : port_file_(server.calls() + ".port") {
    std::vector<std::string> argv = server.argv();
    argv.insert(argv.end(), {"--http", port_file_});
    process_ = std::make_unique<LastingProcess>(argv, 0, 1, server.calls() + ".log");
    EXPECT_TRUE(server.wrote(".port"));
  }
  std::string url() const { return "http://127.0.0.1:" + text_of_file(port_file_) + "/mcp"; }

 private:
  std::string port_file_;
  std::unique_ptr<LastingProcess> process_;
};

class McpDesk {
 public:
  // `entry`: the tools file's entry of the server "s".
  explicit McpDesk(Json entry, const Json& secrets = Json::object(), std::int64_t patience_ms = 30'000) {
    const Result<ToolsFile> file = parse_tools({{"tools", {{"s", std::move(entry)}}}, {"secrets", secrets}});
    if (!file) throw std::runtime_error(file.error().message);
    auto connected = McpServers::connect(file->servers, *Secrets::open(file->secrets), patience_ms);
    if (!connected) {
      refusal = connected.error();
      return;
    }
    servers = *std::move(connected);
    tools = make_tools(servers->tools(), 1);
  }
  explicit McpDesk(const SmallServer& server, Json more = Json::object())
      : McpDesk(with(std::move(more), Json(server.argv()))) {
    keeps = server;
  }
  explicit McpDesk(const SmallHttpServer& server, Json more = Json::object())
      : McpDesk(with(std::move(more), server.url())) {}

  static Json with(Json more, Json way) {
    more["mcp"] = std::move(way);
    return more;
  }

  ToolCall call_of(const std::string& tool, Json inputs = Json::object()) const {
    ToolCall call;
    call.tool = tool.starts_with("mcp.") ? tool : "s." + tool;
    call.key = "run/7";
    call.inputs = std::move(inputs);
    return call;
  }
  ToolAnswer call(ToolCall one) { return run(tools->call(std::move(one))); }
  ToolAnswer call(const std::string& tool, Json inputs = Json::object()) {
    return call(call_of(tool, std::move(inputs)));
  }
  Json outputs(const std::string& tool, Json inputs = Json::object()) {
    const ToolAnswer answer = call(tool, std::move(inputs));
    if (answer) return *answer;
    ADD_FAILURE() << answer.error().error << ": " << answer.error().message;
    return {};
  }
  Failure failure(const std::string& tool, Json inputs = Json::object()) {
    const ToolAnswer answer = call(tool, std::move(inputs));
    if (!answer) return answer.error();
    ADD_FAILURE() << "it succeeded: " << *answer;
    return {};
  }

  std::optional<SmallServer> keeps;
  Error refusal;
  std::shared_ptr<McpServers> servers;
  std::unique_ptr<Tools> tools;
};

}  // namespace cairn::testing
