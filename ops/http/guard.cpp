#include "ops/http/guard.hpp"

#include <boost/beast/core/string.hpp>
#include <cstdlib>

namespace cairn {
namespace {

bool names_loopback(const std::string& host) {
  std::optional<HostParts> parts = host_parts(host);
  if (!parts) return false;
  if (parts->name.ends_with('.')) parts->name.pop_back();
  return boost::beast::iequals(parts->name, "localhost") || is_loopback(parts->name);
}

// Compares in constant time, so that the time does not reveal the first difference.
bool is_same_secret(std::string_view given, std::string_view token) {
  volatile unsigned differences = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differences = differences | static_cast<unsigned char>(given[i] ^ token[i % token.size()]);
  return differences == 0;
}

bool has_token(std::string_view credentials, std::string_view token) {
  constexpr std::string_view scheme = "Bearer ";
  return credentials.size() > scheme.size() && boost::beast::iequals(credentials.substr(0, scheme.size()), scheme) &&
         is_same_secret(credentials.substr(scheme.size()), token);
}

}  // namespace

Result<Guard> Guard::make(const ListenAddress& address, std::string token) {
  if (token.empty() && !is_loopback(address.ip))
    return Error{Code::unsupported, "Expected a token in CAIRN_TOKEN to listen on " + to_string(address) +
                                        ", which others can reach, but there is none."};
  return Guard(std::move(token));
}

Result<Guard> guard_from_environment(const ListenAddress& address) {
  const char* token = std::getenv("CAIRN_TOKEN");
  return Guard::make(address, token == nullptr ? "" : token);
}

std::optional<ApiResponse> Guard::refusal(const ApiRequest& request, bool is_open) const {
  if (!token_.empty()) {
    if (is_open || has_token(request.header("authorization"), token_)) return {};
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
