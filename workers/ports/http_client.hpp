// An HTTP/1.1 client for one request at a time over TCP or TLS, as a coroutine: the way to models, to tools that are
// URLs, and of http.call. No redirects, no cookies. Connections are kept alive and reused within four seconds for the
// same host and port, over TLS by the same client only; older ones are closed at the next request, or with the
// io_context. If a reused one ends before the first byte of an answer, the request is sent once more over a new
// connection. Used by the worker's serial executor, one thread at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct HttpRequest {
  std::string url;              // http(s)://host[:port]/target
  std::string method = "POST";  // or GET, HEAD, PUT, PATCH, DELETE
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::int64_t timeout_ms = 60'000;  // from the name's resolution to the answer's last byte
  std::size_t answer_bytes_max = json_bytes_max;
  // Called with each part of the answer's body as it comes, with the status; never once the request was given up.
  std::function<void(int status, std::string_view more)> on_part = {};
  // Asked for each address that the host's name leads to, before it is connected to; a new connection is then made.
  std::function<bool(const std::string& address)> may_connect = {};
};

struct HttpAnswer {
  int status = 0;
  std::string body;                 // "" for HEAD
  std::int64_t retry_after_ms = 0;  // as its Retry-After says, in seconds or as a date; 0: it does not, or not so
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case, at most 64 KiB together
};

// A request without an answer. The sentence names the host, never the target or a header: those may carry secrets.
struct HttpFault {
  enum class Kind : std::uint8_t { invalid, unreachable, timeout, too_big };
  Kind kind = Kind::unreachable;
  std::string message;
  bool may_have_arrived = false;  // the request, or a part of it
  int status = 0;                 // of the answer that is too big; 0: it has none
};

using HttpResult = Result<HttpAnswer, HttpFault>;

// Refuses `invalid`: a text that is not a URL that can be called.
Status check_url(std::string_view url);

// A token of RFC 9110, as methods and the names of headers are.
bool is_http_token(std::string_view text);
// One line: no control character but a tab.
bool is_header_value(std::string_view text);

class HttpClient {
 public:
  // Certificates are checked against the system's authorities (or SSL_CERT_FILE, SSL_CERT_DIR), which are read at the
  // first use of TLS.
  HttpClient();
  ~HttpClient();

  // Refuses `invalid`: another method, a URL or a header that cannot be sent. Throws std::system_error if this process
  // lacks what a connection needs: see is_shortage().
  boost::asio::awaitable<HttpResult> send(HttpRequest request);

 private:
  struct Tls;
  // Shared, because an exchange that is abandoned at its deadline may outlive its client.
  std::shared_ptr<Tls> tls_;
};

}  // namespace cairn
