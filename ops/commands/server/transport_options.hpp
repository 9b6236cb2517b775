// The options of `cairn serve` and `cairn up` for the way to the API: TLS by files, or plain HTTP by name. Used from
// one thread.
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

// Command-line options that pass the same transport to a child process.
std::vector<std::string> transport_arguments(const Transport& transport, const TlsFiles& files);

}  // namespace cairn
