// The address a server listens on, as text and in its parts. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/result.hpp"

namespace cairn {

struct ListenAddress {
  std::string ip;
  std::uint16_t port = 0;  // 0: a free one
};

// "127.0.0.1:8080", "[::1]:8080", "localhost:8080". Refuses `invalid`: any other text.
Result<ListenAddress> listen_argument(const std::string& text);
std::string to_string(const ListenAddress& address);  // the form that listen_argument reads

// "NAME:PORT" and "[ADDRESS]:PORT" in their parts; the port is "" without a colon.
struct HostParts {
  std::string name;
  std::string port;
};

// Nothing for a text of another form: brackets that do not close, two ports.
std::optional<HostParts> host_parts(const std::string& host);

// True for an IP address that only this machine reaches.
bool is_loopback(const std::string& ip);

}  // namespace cairn
