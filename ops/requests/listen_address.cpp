#include "ops/requests/listen_address.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace cairn {

using boost::asio::ip::make_address;

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

bool is_loopback(const std::string& ip) {
  boost::system::error_code fault;
  const auto address = make_address(ip, fault);
  return !fault && address.is_loopback();
}

Result<ListenAddress> listen_argument(const std::string& text) {
  const HostParts parts = host_parts(text).value_or(HostParts{});
  ListenAddress address{parts.name == "localhost" ? "127.0.0.1" : parts.name, 0};
  boost::system::error_code fault;
  const auto ip = make_address(address.ip, fault);
  const bool is_written_well = !fault && ip.is_v6() == text.starts_with('[');
  const char* const end = parts.port.data() + parts.port.size();
  const auto port = std::from_chars(parts.port.data(), end, address.port);
  if (!is_written_well || port.ec != std::errc{} || port.ptr != end)
    return Error{Code::invalid, "Expected an address like 127.0.0.1:8080 or [::1]:8080, but found \"" + text + "\"."};
  return address;
}

std::string to_string(const ListenAddress& address) {
  const bool is_v6 = address.ip.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
}

}  // namespace cairn
