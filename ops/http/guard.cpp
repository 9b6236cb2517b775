#include "ops/http/guard.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <charconv>

namespace cairn {
namespace {

using boost::asio::ip::make_address;

// "NAME:PORT" and "[ADDRESS]:PORT" in their parts; the port is "" without a colon.
struct HostParts {
  std::string name;
  std::string port;
};

// Nothing for what has another form: brackets that do not close, two ports.
std::optional<HostParts> host_parts(const std::string& host) {
  const bool is_v6 = host.starts_with('[');
  const std::size_t end = is_v6 ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string::npos) return {};
  const std::string rest = host.substr(end + (is_v6 ? 1 : 0));
  if (!rest.empty() && !rest.starts_with(':')) return {};
  HostParts parts{host.substr(is_v6 ? 1 : 0, end - (is_v6 ? 1 : 0)), rest.empty() ? "" : rest.substr(1)};
  if (is_v6 != (parts.name.find(':') != std::string::npos)) return {};
  if (parts.port.find_first_not_of("0123456789") != std::string::npos) return {};
  return parts;
}

bool is_loopback(const std::string& name) {
  boost::system::error_code fault;
  const auto ip = make_address(name, fault);
  return !fault && ip.is_loopback();
}

bool names_loopback(const std::string& host) {
  std::optional<HostParts> parts = host_parts(host);
  if (!parts) return false;
  if (parts->name.ends_with('.')) parts->name.pop_back();
  return boost::beast::iequals(parts->name, "localhost") || is_loopback(parts->name);
}

// Takes as long wherever the first difference is.
bool is_same_secret(std::string_view given, std::string_view token) {
  volatile unsigned differences = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differences = differences | static_cast<unsigned char>(given[i] ^ token[i % token.size()]);
  return differences == 0;
}

bool bears(std::string_view credentials, std::string_view token) {
  constexpr std::string_view scheme = "Bearer ";
  return credentials.size() > scheme.size() && boost::beast::iequals(credentials.substr(0, scheme.size()), scheme) &&
         is_same_secret(credentials.substr(scheme.size()), token);
}

}  // namespace

ListenAddress listen_argument(const std::string& text) {
  const HostParts parts = host_parts(text).value_or(HostParts{});
  ListenAddress address{parts.name == "localhost" ? "127.0.0.1" : parts.name, 0};
  boost::system::error_code fault;
  const auto ip = make_address(address.ip, fault);
  const bool is_written_well = !fault && ip.is_v6() == text.starts_with('[');
  const char* const end = parts.port.data() + parts.port.size();
  const auto port = std::from_chars(parts.port.data(), end, address.port);
  if (!is_written_well || port.ec != std::errc{} || port.ptr != end)
    throw CLI::ValidationError("Expected an address like 127.0.0.1:8080 or [::1]:8080, but found \"" + text + "\".");
  return address;
}

std::string to_string(const ListenAddress& address) {
  const bool is_v6 = address.ip.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
}

Result<Guard> Guard::make(const ListenAddress& address, std::string token) {
  if (token.empty() && !is_loopback(address.ip))
    return Error{Code::unsupported, "Expected a token in CAIRN_TOKEN to listen on " + to_string(address) +
                                        ", which others can reach, but there is none."};
  return Guard(std::move(token));
}

std::optional<ApiResponse> Guard::refusal(const ApiRequest& request, bool is_open) const {
  if (!token_.empty()) {
    if (is_open || bears(request.header("authorization"), token_)) return {};
    return error_response(401, "unauthorized", "Expected the token as Authorization: Bearer TOKEN, but it is not.");
  }
  const std::string host = request.header("host");
  if (!names_loopback(host))
    return error_response(403, "forbidden", "Expected a Host that names this machine's loopback, but it does not.");
  if (const std::string origin = request.header("origin"); !origin.empty() && origin != "http://" + host)
    return error_response(403, "forbidden", "Expected a page from here, but its Origin is another.");
  return {};
}

}  // namespace cairn
