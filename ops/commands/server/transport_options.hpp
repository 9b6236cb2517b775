// The options of `cairn serve`, `cairn up` and `cairn mcp` for the way to the API and from it: TLS by files, or plain
// HTTP by name; what agents wait for, and where they lead people. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "ops/http/access/guard.hpp"
#include "ops/http/transport/server.hpp"

namespace CLI {
class App;
}

namespace cairn {

void add_transport(CLI::App& command, Transport& transport, TlsFiles& files);

// --mcp-wait-ms.
void add_mcp_wait(CLI::App& command, std::int64_t& wait_ms);

// --console-url, without a slash at its end.
void add_console_url(CLI::App& command, std::string& url);

// Command-line options that pass the same transport to a child process.
std::vector<std::string> transport_arguments(const Transport& transport, const TlsFiles& files);

}  // namespace cairn
