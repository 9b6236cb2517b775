// The tools file: the programs and URLs that are tools of a worker, and what its built-in tools may do.
// Pure functions, but for a read of the users of this machine; safe from any thread.
//
// {"tools": {"NAME": {"exec": ["program", "argument"], "timeout_ms": 10000, "queue": "default", "needs": ["$channel"],
//                     "env": ["VARIABLE"], "user": "nobody", "limits": {"cpu_seconds": 600, "memory_bytes": 4294967296,
//                     "file_bytes": 4294967296, "open_files": 1024, "processes": 100, "output_bytes": 16777216}},
//            "OTHER": {"http": "http://127.0.0.1:9000/x", "gives": ["slot"], "about": "What it does, for planners.",
//                      "attempts": 2, "fallback": "NAME"}},
//  "$schema": "tools.schema.json",
//  "secrets": {"TOKEN": {"env": "VARIABLE"}, "KEY": {"file": "/run/key", "urls": ["https://api.example"]}},
//  "builtin": {"allow": ["echo", "page.*"], "repositories": ["/srv/git"], "corpora": ["handbook"],
//              "urls": ["https://api.example/v1"]}}
// Programs may have "secrets": {"VARIABLE": "TOKEN"}, URLs "auth", as http_calls.hpp says. In the place of "exec" and
// "http" stands "mcp": ["program", "argument"] or "mcp": "https://…": a server of the Model Context Protocol, whose
// tools are tools named ENTRY.TOOL, with "elicitation": "ask", "decline" or "defaults".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {

struct BuiltinTools {
  std::optional<std::vector<std::string>> allow;    // by name, or "page.*" for all that begin so; none: all there are
  std::vector<std::string> repositories = {"/"};    // folders and files that the repository tools may read
  std::optional<std::vector<std::string>> corpora;  // that `corpus_search` may search; none: all
  std::optional<UrlList> urls;                      // that `http.call` may call; none: there is no `http.call`
};

bool is_allowed(const BuiltinTools& builtin, std::string_view tool);

// In the place of a built-in tool that is not allowed: every call fails with `refused`.
ToolSpec refused_tool(const std::string& name);

// The answerer of the questions that a server has for a person while it works on a call.
enum class Elicitation : std::uint8_t { ask, decline, defaults };

// A server of the Model Context Protocol. `like` is what each of its tools has of the entry (time, queue, attempts,
// fallback), the entry's name, and as Exec or Http the way to the server.
struct McpEntry {
  ToolSpec like;
  Elicitation elicitation = Elicitation::ask;
};

struct ToolsFile {
  std::vector<ToolSpec> tools;
  std::vector<McpEntry> servers;
  BuiltinTools builtin;
  std::vector<SecretSource> secrets;
};

// With a fallback, `attempts` is 1 unless it is given; `cpu_seconds` is four times `timeout_ms` if that is more.
// Refuses `invalid` with a sentence that names the tool and the fault.
Result<ToolsFile> parse_tools(const Json& document);

}  // namespace cairn
