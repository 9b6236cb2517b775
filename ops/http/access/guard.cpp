#include "ops/http/access/guard.hpp"

#include <boost/beast/core/string.hpp>
#include <spdlog/spdlog.h>

namespace cairn {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t token_bytes_min = 16;  // beyond this machine
constexpr milliseconds delay_first{250};     // two readings of the tokens
constexpr int delay_doublings_max = 3;
constexpr std::chrono::minutes forgotten_after{1};
constexpr std::size_t peers_max = 1'000;

bool names_loopback(const std::string& host) {
  std::optional<HostParts> parts = host_parts(host);
  if (!parts) return false;
  if (parts->name.ends_with('.')) parts->name.pop_back();
  return boost::beast::iequals(parts->name, "localhost") || is_loopback(parts->name);
}

// The token of "Bearer TOKEN"; nothing for other credentials.
std::optional<std::string> bearer_token(const ApiRequest& request) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string credentials = request.header("authorization");
  if (credentials.size() <= scheme.size()) return {};
  if (!boost::beast::iequals(std::string_view(credentials).substr(0, scheme.size()), scheme)) return {};
  return credentials.substr(scheme.size());
}

// A client on this machine where no token is asked.
const CallerRef& local_caller() {
  static const CallerRef caller = std::make_shared<Caller>(Caller{"api", "", {{ApiRole::admin}, {}, {}}});
  return caller;
}

// A client that shows no token where none is needed.
const CallerRef& unknown_caller() {
  static const CallerRef caller = std::make_shared<Caller>();
  return caller;
}

ApiResponse forbidden(const std::string& message) { return error_response(403, "forbidden", message); }

bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

}  // namespace

Status check_listening(const ListenAddress& address, const Transport& transport, const std::string& environment,
                       bool has_tokens) {
  if (is_loopback(address.ip)) return Done{};
  const std::string where = " to listen on " + to_string(address) + ", which others can reach, but ";
  if (environment.empty() && !has_tokens)
    return Error{Code::unsupported, "Expected a token in CAIRN_TOKEN" + where + "there is none."};
  if (!environment.empty() && environment.size() < token_bytes_min)
    return Error{Code::invalid, "Expected at least " + std::to_string(token_bytes_min) + " bytes in CAIRN_TOKEN" +
                                    where + "found " + std::to_string(environment.size()) + "."};
  if (!transport.is_tls && !transport.plain_allowed)
    return Error{Code::unsupported,
                 "Expected --tls-cert and --tls-key, or --plain-http," + where + "found none of them."};
  return Done{};
}

Guard::Verdict Guard::judge(const ApiRequest& request, bool is_open) {
  if (!tokens_.asks()) {
    if (ApiStatus passed = check_origin(request); !passed) return std::move(passed).error();
    return local_caller();
  }
  if (is_open) return unknown_caller();
  const std::optional<std::string> token = bearer_token(request);
  if (token) {
    if (CallerRef caller = tokens_.find(*token)) return caller;
    if (!request.was_delayed) {
      tokens_.refresh_soon();
      return ApiDelay{delay_of(request.peer)};
    }
    note_failure(request.peer);
  }
  return error_response(401, "unauthorized", "Expected the token as Authorization: Bearer TOKEN, but it is not.");
}

// Pages of this machine's other ports are of the "same site", but not of the same origin.
ApiStatus Guard::check_origin(const ApiRequest& request) const {
  const std::string host = request.header("host");
  if (!names_loopback(host)) return forbidden("Expected a Host that names this machine's loopback, but it does not.");
  const std::string own = (is_tls_ ? "https://" : "http://") + host;
  if (const std::string origin = request.header("origin"); !origin.empty() && origin != own)
    return forbidden("Expected a page from here, but its Origin is another.");
  const std::string site = request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none")
    return forbidden("Expected a page from here, but Sec-Fetch-Site names another.");
  return Done{};
}

// REQUIRES: mutex_ is locked. When the map is full, peers without an entry share the one of "".
Guard::Failures& Guard::failures_of(const std::string& peer) {
  const auto now = steady_clock::now();
  if (failures_.size() >= peers_max && !failures_.contains(peer)) {
    std::erase_if(failures_, [now](const auto& entry) { return now - entry.second.last > forgotten_after; });
    if (failures_.size() >= peers_max) return failures_[""];
  }
  Failures& found = failures_[peer];
  if (now - found.last > forgotten_after) found = {0, now};
  return found;
}

milliseconds Guard::delay_of(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  return delay_first * (1 << std::min(failures_of(peer).count, delay_doublings_max));
}

void Guard::note_failure(const std::string& peer) {
  ++wrong_tokens_;
  const std::lock_guard lock(mutex_);
  Failures& failures = failures_of(peer);
  failures.last = steady_clock::now();
  if (is_power_of_two(++failures.count))
    spdlog::warn("The API refused a wrong token from {}: {} of late.", peer, failures.count);
}

}  // namespace cairn
