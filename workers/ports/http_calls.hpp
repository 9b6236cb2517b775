// Calls of HTTP APIs that a graph describes (`http.call`): from a node's settings to a request, from an answer to what
// the handler gets. The worker's configuration says which URLs there are; secrets go by name and are redacted from what
// comes back. The checks of settings are pure, safe from any thread; a call is for one thread at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph_check.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/ports.hpp"
#include "workers/ports/secrets.hpp"
#include "workers/ports/url_place.hpp"

namespace cairn {

// The secrets that go with a request, and where: {"bearer": SECRET}, {"basic": {"user", "password": SECRET}},
// {"header": {NAME: SECRET}}, {"query": {NAME: SECRET}}.
struct HttpAuth {
  enum class Kind : std::uint8_t { none, bearer, basic, header, query };
  Kind kind = Kind::none;
  std::string user;                                          // of basic
  std::vector<std::pair<std::string, std::string>> secrets;  // header or parameter ("" if there is none), secret
};

// Refuses `invalid`: another form, a name that is none.
Result<HttpAuth> parse_http_auth(const Json& auth);

// Fails: `refused`, no such secret or one that may not go to the request's URL; `secret`, it cannot be read now.
Result<Done, Failure> add_auth(HttpRequest& request, const HttpAuth& auth, Secrets& secrets);

// All keys of the "with" of http.call, and the check of each.
std::vector<HandlerSetting> http_call_settings();
// Settings that cannot be together; values may still be references.
Status check_http_call(const Json& with);
// All of it, of settings without references.
Status check_call_settings(const Json& with);

// "url URL", and "secret NAME" for each that goes with it. Settings of another form need nothing.
std::vector<std::string> needs_of_http_call(const Json& with);

// Sends the request of `call.inputs`, the settings of http.call. The outputs are {"status", "body"}, with "headers" if
// "keep" names some, "retry_after_ms" if the other side says so, and "fault", a sentence, if the body is not of the
// form that was wanted; they hold no secret. Fails: `invalid` (settings), `refused` (a URL or a secret that this worker
// does not have), `secret`, `timeout`, `unreachable`, `bad_output` (too long).
boost::asio::awaitable<ToolAnswer> call_url(HttpClient& client, const UrlList& urls, Secrets& secrets, ToolCall call);

}  // namespace cairn
