#include "ops/http/guard.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace cairn {
namespace {

using boost::asio::ip::make_address;

// "[::1]" and "127.0.0.1" without brackets and port.
std::string name_in(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool is_loopback(const std::string& name) {
  boost::system::error_code fault;
  const auto ip = make_address(name, fault);
  return !fault && ip.is_loopback();
}

// Takes as long wherever the first difference is.
bool is_same_secret(std::string_view given, std::string_view token) {
  volatile unsigned differences = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differences = differences | static_cast<unsigned char>(given[i] ^ token[i % token.size()]);
  return differences == 0;
}

}  // namespace

ListenAddress listen_argument(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
  const std::string name = host == "localhost" ? "127.0.0.1" : name_in(host);
  ListenAddress address{name, 0};
  boost::system::error_code fault;
  const auto ip = make_address(name, fault);
  const bool is_written_well = !fault && ip.is_v6() == host.starts_with('[') && host.ends_with(']') == ip.is_v6();
  const char* const end = text.data() + text.size();
  const auto port = std::from_chars(text.data() + std::min(colon, text.size() - 1) + 1, end, address.port);
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
    const std::string given = request.header("authorization");
    if (is_open || (given.starts_with("Bearer ") && is_same_secret(given.substr(7), token_))) return {};
    return error_response(401, "unauthorized", "Expected the token as Authorization: Bearer TOKEN, but it is not.");
  }
  const std::string host = request.header("host");
  if (const std::string name = name_in(host); name != "localhost" && !is_loopback(name))
    return error_response(403, "forbidden", "Expected a Host that names this machine's loopback, but it does not.");
  if (const std::string origin = request.header("origin"); !origin.empty() && origin != "http://" + host)
    return error_response(403, "forbidden", "Expected a page from here, but its Origin is another.");
  return {};
}

}  // namespace cairn
