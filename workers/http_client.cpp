#include "workers/http_client.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/url/src.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <openssl/ssl.h>

#include "engine/result.hpp"

namespace cairn {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

struct HttpClient::Tls {
  Tls() {
    context.set_default_verify_paths();
    context.set_verify_mode(asio::ssl::verify_peer);
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  }
  asio::ssl::context context{asio::ssl::context::tls_client};
};

namespace {

constexpr std::uint32_t header_bytes_max = 64 * 1024;

struct Place {
  bool tls = false;
  std::string host;  // without brackets
  std::string port;
  std::string authority;  // as the Host header wants it
  std::string target;
};

Error unusable_url(const std::string& but) {
  return {Code::invalid, "Expected a URL like http://host:port/path, but " + but + "."};
}

bool is_port(std::string_view digits) {
  int number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc() && number > 0 && number <= 65535;
}

Result<Place> parse_url(std::string_view text) {
  const auto parsed = boost::urls::parse_uri(boost::core::string_view(text.data(), text.size()));
  if (!parsed) return unusable_url("it cannot be parsed");
  const boost::urls::url_view& url = *parsed;
  const bool tls = url.scheme_id() == boost::urls::scheme::https;
  if (!tls && url.scheme_id() != boost::urls::scheme::http) return unusable_url("its scheme is neither http nor https");
  if (url.encoded_host().empty()) return unusable_url("it names no host");
  if (url.has_userinfo()) return unusable_url("it carries a name or a password");
  if (url.has_port() && !is_port(std::string_view(url.port().data(), url.port().size())))
    return unusable_url("its port is none");
  Place place;
  place.tls = tls;
  place.host = url.host_address();
  place.port = url.has_port() ? std::string(url.port()) : (tls ? "443" : "80");
  place.authority = std::string(url.encoded_host_and_port());
  place.target = std::string(url.encoded_target());
  if (place.target.empty() || place.target[0] != '/') place.target.insert(0, "/");
  return place;
}

using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// One request under way. Shared by the caller, who leaves at the deadline, and the exchange, which ends when its
// last operation does: a name's resolution cannot be cut short.
struct Exchange {
  Exchange(const asio::any_io_executor& executor, Place to, HttpRequest asked)
      : place(std::move(to)), request(std::move(asked)), deadline(executor), resolver(executor), plain(executor) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void give_up() {
    resolver.cancel();
    (tls ? beast::get_lowest_layer(*tls) : plain).close();
  }

  Place place;
  HttpRequest request;
  std::shared_ptr<asio::ssl::context> context;  // null without TLS; outlives its client as the exchange does
  asio::steady_timer deadline;
  tcp::resolver resolver;
  beast::tcp_stream plain;
  std::optional<TlsStream> tls;
  std::optional<HttpResult> result;
  bool given_up = false;
};

HttpFault fault(const Exchange& exchange, HttpFault::Kind kind, const std::string& but) {
  const std::string scheme = exchange.place.tls ? "https://" : "http://";
  return {kind, "Expected an answer from " + scheme + exchange.place.authority + ", but " + but + "."};
}

HttpFault fault_of(const Exchange& exchange, const error_code& error) {
  if (error == http::error::body_limit) {
    const std::string bytes = std::to_string(exchange.request.answer_bytes_max);
    return fault(exchange, HttpFault::Kind::too_big, "it is longer than " + bytes + " bytes");
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return fault(exchange, HttpFault::Kind::unreachable, "the connection ended before it was whole");
  }
  return fault(exchange, HttpFault::Kind::unreachable, error.message());
}

http::request<http::string_body> message_of(const Exchange& exchange) {
  http::request<http::string_body> message{http::verb::post, exchange.place.target, 11};
  message.set(http::field::host, exchange.place.authority);
  message.set(http::field::user_agent, "cairn");
  for (const auto& [name, value] : exchange.request.headers) message.set(name, value);
  message.body() = exchange.request.body;
  message.keep_alive(false);
  message.prepare_payload();
  return message;
}

template <class Stream>
asio::awaitable<HttpAnswer> talk(Stream& stream, const Exchange& exchange) {
  const http::request<http::string_body> message = message_of(exchange);
  co_await http::async_write(stream, message, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.header_limit(header_bytes_max);
  parser.body_limit(exchange.request.answer_bytes_max);
  co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
  HttpAnswer answer;
  answer.status = static_cast<int>(parser.get().result_int());
  answer.body = std::move(parser.get().body());
  co_return answer;
}

bool is_address(const std::string& host) {
  error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

asio::awaitable<HttpAnswer> talk_over_tls(Exchange& exchange) {
  TlsStream& stream = *exchange.tls;
  const std::string& host = exchange.place.host;
  if (!is_address(host)) SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  stream.set_verify_callback(asio::ssl::host_name_verification(host));
  co_await stream.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
  HttpAnswer answer = co_await talk(stream, exchange);
  co_return answer;
}

asio::awaitable<void> run_exchange(std::shared_ptr<Exchange> exchange) {
  try {
    const Place& place = exchange->place;
    const auto endpoints = co_await exchange->resolver.async_resolve(place.host, place.port, asio::use_awaitable);
    if (exchange->given_up) co_return;
    if (place.tls) exchange->tls.emplace(exchange->plain.get_executor(), *exchange->context);
    beast::tcp_stream& stream = exchange->tls ? beast::get_lowest_layer(*exchange->tls) : exchange->plain;
    co_await stream.async_connect(endpoints, asio::use_awaitable);
    HttpAnswer answer;
    if (place.tls) {
      answer = co_await talk_over_tls(*exchange);
    } else {
      answer = co_await talk(exchange->plain, *exchange);
    }
    exchange->result = std::move(answer);
  } catch (const boost::system::system_error& error) {
    exchange->result = fault_of(*exchange, error.code());
  }
  exchange->deadline.cancel();
}

bool fits_a_header(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7F; });
}

}  // namespace

std::optional<std::string> url_fault(std::string_view url) {
  const Result<Place> place = parse_url(url);
  if (!place) return place.error().message;
  return {};
}

HttpClient::HttpClient() = default;
HttpClient::~HttpClient() = default;

boost::asio::awaitable<HttpResult> HttpClient::post(HttpRequest request) {
  Result<Place> place = parse_url(request.url);
  if (!place) co_return HttpFault{HttpFault::Kind::invalid, place.error().message};
  for (const auto& [name, value] : request.headers) {
    const bool fits = fits_a_header(name) && fits_a_header(value);
    if (!fits) co_return HttpFault{HttpFault::Kind::invalid, "Expected one line as header " + name + ", but got more."};
  }
  if (place->tls && !tls_) tls_ = std::make_shared<Tls>();

  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto exchange = std::make_shared<Exchange>(executor, *std::move(place), std::move(request));
  if (exchange->place.tls) exchange->context = std::shared_ptr<asio::ssl::context>(tls_, &tls_->context);
  exchange->deadline.expires_after(std::chrono::milliseconds(exchange->request.timeout_ms));
  auto running = run_exchange(exchange);
  asio::co_spawn(executor, std::move(running), asio::detached);
  error_code cancelled;
  if (!exchange->result) co_await exchange->deadline.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (!exchange->result) {
    exchange->given_up = true;
    exchange->give_up();
    const std::string ms = std::to_string(exchange->request.timeout_ms);
    co_return fault(*exchange, HttpFault::Kind::timeout, "none came within " + ms + " ms");
  }
  HttpResult result = *std::move(exchange->result);
  co_return result;
}

}  // namespace cairn
