#include "workers/ports/http_client.hpp"

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/url/src.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <deque>
#include <map>
#include <openssl/ssl.h>
#include <sstream>
#include <system_error>
#include <tuple>

#include "engine/result.hpp"
#include "workers/ports/failures.hpp"

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
constexpr std::size_t part_bytes = 16 * 1024;
constexpr std::chrono::seconds kept_max{4};  // many servers close at five

struct Destination {
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

Result<Destination> parse_url(std::string_view text) {
  const auto parsed = boost::urls::parse_uri(boost::core::string_view(text.data(), text.size()));
  if (!parsed) return unusable_url("it cannot be parsed");
  const boost::urls::url_view& url = *parsed;
  const bool tls = url.scheme_id() == boost::urls::scheme::https;
  if (!tls && url.scheme_id() != boost::urls::scheme::http) return unusable_url("its scheme is neither http nor https");
  if (url.encoded_host().empty()) return unusable_url("it names no host");
  if (url.has_userinfo()) return unusable_url("it carries a name or a password");
  if (url.has_port() && !is_port(std::string_view(url.port().data(), url.port().size())))
    return unusable_url("its port is none");
  Destination destination;
  destination.tls = tls;
  destination.host = url.host_address();
  destination.port = url.has_port() ? std::string(url.port()) : (tls ? "443" : "80");
  destination.authority = std::string(url.encoded_host_and_port());
  destination.target = std::string(url.encoded_target());
  if (destination.target.empty() || destination.target[0] != '/') destination.target.insert(0, "/");
  return destination;
}

using TlsContext = std::shared_ptr<asio::ssl::context>;

struct Connection {
  Connection(const asio::any_io_executor& executor, TlsContext of) : socket(executor), context(std::move(of)) {
    if (context) tls.emplace(socket, *context);
  }

  asio::awaitable<error_code> write(std::string bytes);
  // Waits for bytes, and puts them after what the buffer has.
  asio::awaitable<error_code> read_some();
  // False once the other side has closed it, or has sent something unasked.
  bool is_silent();
  void close();

  tcp::socket socket;
  TlsContext context;  // null without TLS; outlives its client as the connection does
  std::optional<asio::ssl::stream<tcp::socket&>> tls;
  beast::flat_buffer buffer;
};

asio::awaitable<error_code> Connection::write(std::string bytes) {
  error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  if (tls)
    co_await asio::async_write(*tls, asio::buffer(bytes), token);
  else
    co_await asio::async_write(socket, asio::buffer(bytes), token);
  co_return error;
}

asio::awaitable<error_code> Connection::read_some() {
  error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  const asio::mutable_buffer free = buffer.prepare(part_bytes);
  std::size_t bytes = 0;
  if (tls)
    bytes = co_await tls->async_read_some(free, token);
  else
    bytes = co_await socket.async_read_some(free, token);
  buffer.commit(bytes);
  co_return error;
}

bool Connection::is_silent() {
  std::array<char, 1> byte{};
  error_code error;
  socket.non_blocking(true, error);
  if (!error) socket.receive(asio::buffer(byte), asio::socket_base::message_peek, error);
  return error == asio::error::would_block;
}

void Connection::close() {
  error_code ignored;
  socket.close(ignored);
}

// The connections of one io_context that wait for another request; they end with it.
class KeptConnections : public asio::execution_context::service {
 public:
  // The context of its client or null without TLS, host, port.
  using Peer = std::tuple<const asio::ssl::context*, std::string, std::string>;
  static inline asio::execution_context::id id;

  explicit KeptConnections(asio::execution_context& context) : service(context) {}

  static KeptConnections& of(const asio::any_io_executor& executor) {
    return asio::use_service<KeptConnections>(asio::query(executor, asio::execution::context));
  }

  // The one that waited the shortest, or null.
  std::unique_ptr<Connection> take(const Peer& peer) {
    drop_old();
    const auto of_peer = waiting_.find(peer);
    if (of_peer == waiting_.end()) return nullptr;
    while (!of_peer->second.empty()) {
      std::unique_ptr<Connection> connection = std::move(of_peer->second.back().connection);
      of_peer->second.pop_back();
      if (connection->is_silent()) return connection;
    }
    return nullptr;
  }

  void keep(const Peer& peer, std::unique_ptr<Connection> connection) {
    waiting_[peer].push_back({std::move(connection), Clock::now()});
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    std::unique_ptr<Connection> connection;
    Clock::time_point since;
  };

  void shutdown() override { waiting_.clear(); }

  void drop_old() {
    const Clock::time_point oldest = Clock::now() - kept_max;
    for (auto of_peer = waiting_.begin(); of_peer != waiting_.end();) {
      std::deque<Waiting>& waiting = of_peer->second;
      while (!waiting.empty() && waiting.front().since < oldest) waiting.pop_front();
      of_peer = waiting.empty() ? waiting_.erase(of_peer) : std::next(of_peer);
    }
  }

  std::map<Peer, std::deque<Waiting>> waiting_;  // of each peer the oldest first
};

// One request under way. Shared by the caller, who leaves at the deadline, and the exchange, which ends when its
// last operation does: a name's resolution cannot be cut short.
struct Exchange {
  Exchange(const asio::any_io_executor& on, Destination to, HttpRequest asked)
      : executor(on), destination(std::move(to)), request(std::move(asked)), deadline(on), resolver(on) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void give_up() {
    given_up = true;
    resolver.cancel();
    if (connection) connection->close();
  }

  asio::any_io_executor executor;
  Destination destination;
  HttpRequest request;
  TlsContext context;
  asio::steady_timer deadline;
  tcp::resolver resolver;
  std::unique_ptr<Connection> connection;
  std::optional<HttpResult> result;
  std::error_code lacking;  // a shortage, besides the result
  bool given_up = false;
  bool is_sent = false;             // it has begun to be
  bool is_address_refused = false;  // the last one, by may_connect
  int status_too_big = 0;           // of an answer that is longer than it may be
};

HttpFault fault(const Exchange& exchange, HttpFault::Kind kind, const std::string& but) {
  const std::string scheme = exchange.destination.tls ? "https://" : "http://";
  return {kind, "Expected an answer from " + scheme + exchange.destination.authority + ", but " + but + ".",
          exchange.is_sent, exchange.status_too_big};
}

HttpFault fault_of(const Exchange& exchange, const error_code& error) {
  if (error == http::error::body_limit) {
    const std::string bytes = std::to_string(exchange.request.answer_bytes_max);
    return fault(exchange, HttpFault::Kind::too_big, "it is longer than " + bytes + " bytes");
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return fault(exchange, HttpFault::Kind::unreachable, "the connection ended before it was whole");
  }
  if (exchange.is_address_refused)
    return fault(exchange, HttpFault::Kind::unreachable, "its name leads to an address that may not be connected to");
  return fault(exchange, HttpFault::Kind::unreachable, error.message());
}

http::request<http::string_body> message_of(const Exchange& exchange) {
  const http::verb verb = http::string_to_verb(exchange.request.method);
  http::request<http::string_body> message{verb, exchange.destination.target, 11};
  message.set(http::field::host, exchange.destination.authority);
  message.set(http::field::user_agent, "cairn");
  for (const auto& [name, value] : exchange.request.headers) message.set(name, value);
  message.body() = exchange.request.body;
  message.keep_alive(true);
  message.prepare_payload();
  return message;
}

using Parser = http::response_parser<http::string_body>;

std::string text_of(const http::request<http::string_body>& message) {
  std::ostringstream head;
  head << message.base();
  return head.str() + message.body();
}

// Takes as much as has come, a part of the body as well.
error_code parse_part(beast::flat_buffer& buffer, Parser& parser) {
  error_code error;
  while (buffer.size() > 0 && !parser.is_done() && !error) buffer.consume(parser.put(buffer.data(), error));
  return error == http::error::need_more ? error_code() : error;
}

error_code parse_end(Parser& parser) {
  error_code error = http::error::end_of_stream;  // nothing at all would be a whole answer to the parser
  if (!parser.got_some()) return error;
  error = {};
  parser.put_eof(error);
  return error;
}

asio::awaitable<error_code> ask(Exchange& exchange, Parser& parser) {
  Connection& connection = *exchange.connection;
  const http::request<http::string_body> message = message_of(exchange);
  exchange.is_sent = true;
  error_code error = co_await connection.write(text_of(message));
  if (error) co_return error;
  parser.header_limit(header_bytes_max);
  parser.body_limit(exchange.request.answer_bytes_max);
  parser.skip(message.method() == http::verb::head);
  parser.eager(true);
  for (std::size_t seen = 0; !error && !parser.is_done();) {
    error = parse_part(connection.buffer, parser);
    const std::string_view body = parser.get().body();
    if (exchange.request.on_part && !exchange.given_up && body.size() > seen)
      exchange.request.on_part(static_cast<int>(parser.get().result_int()), body.substr(seen));
    seen = body.size();
    if (error || parser.is_done()) break;
    error = co_await connection.read_some();
    if (error == asio::error::eof) error = parse_end(parser);
  }
  co_return error;
}

bool is_address(const std::string& host) {
  error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

bool may_connect(const Exchange& exchange, const tcp::endpoint& to) {
  return !exchange.request.may_connect || exchange.request.may_connect(to.address().to_string());
}

asio::awaitable<void> connect(Exchange& exchange) {
  const Destination& destination = exchange.destination;
  const auto endpoints =
      co_await exchange.resolver.async_resolve(destination.host, destination.port, asio::use_awaitable);
  if (exchange.given_up) throw boost::system::system_error(asio::error::operation_aborted);
  exchange.connection = std::make_unique<Connection>(exchange.executor, exchange.context);
  error_code error = asio::error::host_not_found;
  for (const auto& entry : endpoints) {  // one by one: all together hide why no socket could be made
    exchange.is_address_refused = !may_connect(exchange, entry.endpoint());
    if (exchange.is_address_refused) {
      error = asio::error::access_denied;
      continue;
    }
    co_await exchange.connection->socket.async_connect(entry.endpoint(),
                                                       asio::redirect_error(asio::use_awaitable, error));
    if (!error || exchange.given_up || is_shortage(error)) break;
    exchange.connection->close();
  }
  if (error) throw boost::system::system_error(error);
  if (!destination.tls) co_return;
  asio::ssl::stream<tcp::socket&>& stream = *exchange.connection->tls;
  if (!is_address(destination.host)) SSL_set_tlsext_host_name(stream.native_handle(), destination.host.c_str());
  stream.set_verify_callback(asio::ssl::host_name_verification(destination.host));
  co_await stream.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
}

// Seconds, which some servers give with decimals, or a date of the form that RFC 9110 wants ("Wed, 21 Oct 2015 07:28:00
// GMT").
std::int64_t retry_after_ms(std::string_view text) {
  constexpr std::int64_t seconds_max = 365 * 86'400;
  constexpr double number_max = 9e18;  // a longer one is a fault
  double seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && seconds < number_max)
    return static_cast<std::int64_t>(std::ceil(std::clamp<double>(seconds, 0, seconds_max) * 1'000));
  std::tm date{};
  const std::string copy(text);
  const char* end = strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (end == nullptr || *end != '\0') return 0;
  return std::clamp<std::int64_t>(timegm(&date) - std::time(nullptr), 0, seconds_max) * 1'000;
}

[[noreturn]] void throw_of(Exchange& exchange, const Parser& parser, const error_code& error) {
  if (error == http::error::body_limit) exchange.status_too_big = static_cast<int>(parser.get().result_int());
  throw boost::system::system_error(error);
}

// A kept connection may end just when it is used again: then, and before a word of an answer, a new one is tried.
asio::awaitable<HttpAnswer> answer_of(Exchange& exchange) {
  KeptConnections& kept = KeptConnections::of(exchange.executor);
  const KeptConnections::Peer peer{exchange.context.get(), exchange.destination.host, exchange.destination.port};
  if (!exchange.request.may_connect) exchange.connection = kept.take(peer);
  std::optional<Parser> parser;
  error_code error = asio::error::not_connected;
  if (exchange.connection) {
    error = co_await ask(exchange, parser.emplace());
    if (error && (parser->got_some() || exchange.given_up)) throw_of(exchange, *parser, error);
  }
  if (error) {
    co_await connect(exchange);
    error = co_await ask(exchange, parser.emplace());
    if (error) throw_of(exchange, *parser, error);
  }
  const auto retry_after = parser->get()[http::field::retry_after];
  HttpAnswer answer{static_cast<int>(parser->get().result_int()), std::move(parser->get().body()),
                    retry_after_ms({retry_after.data(), retry_after.size()})};
  for (const auto& field : parser->get()) {
    std::string name(field.name_string().data(), field.name_string().size());
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    answer.headers.emplace_back(std::move(name), std::string(field.value().data(), field.value().size()));
  }
  const bool goes_on = parser->keep_alive() && exchange.connection->buffer.size() == 0;
  if (goes_on && !exchange.given_up && !exchange.request.may_connect) kept.keep(peer, std::move(exchange.connection));
  co_return answer;
}

asio::awaitable<void> run_exchange(std::shared_ptr<Exchange> exchange) {
  try {
    HttpAnswer answer = co_await answer_of(*exchange);
    exchange->result = std::move(answer);
  } catch (const boost::system::system_error& error) {
    exchange->result = fault_of(*exchange, error.code());
    if (is_shortage(error.code())) exchange->lacking = error.code();
  }
  exchange->deadline.cancel();
}

bool is_method(std::string_view text) {
  static constexpr std::array<std::string_view, 6> known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
  return std::find(known.begin(), known.end(), text) != known.end();
}

}  // namespace

Status check_url(std::string_view url) {
  const Result<Destination> destination = parse_url(url);
  if (!destination) return destination.error();
  return Done{};
}

bool is_http_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_letter || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7F); });
}

HttpClient::HttpClient() = default;
HttpClient::~HttpClient() = default;

boost::asio::awaitable<HttpResult> HttpClient::send(HttpRequest request) {
  Result<Destination> destination = parse_url(request.url);
  if (!destination) co_return HttpFault{HttpFault::Kind::invalid, destination.error().message};
  for (const auto& [name, value] : request.headers) {
    if (!is_http_token(name)) co_return HttpFault{HttpFault::Kind::invalid, "Expected the name of a header to be one."};
    if (!is_header_value(value))
      co_return HttpFault{HttpFault::Kind::invalid, "Expected one line as header " + name + ", but got more."};
  }
  if (!is_method(request.method))
    co_return HttpFault{HttpFault::Kind::invalid, "Expected a method like GET or POST, but got another one."};
  if (destination->tls && !tls_) tls_ = std::make_shared<Tls>();

  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto exchange = std::make_shared<Exchange>(executor, *std::move(destination), std::move(request));
  if (exchange->destination.tls) exchange->context = TlsContext(tls_, &tls_->context);
  exchange->deadline.expires_after(std::chrono::milliseconds(exchange->request.timeout_ms));
  auto running = run_exchange(exchange);
  asio::co_spawn(executor, std::move(running), asio::detached);
  error_code cancelled;
  if (!exchange->result) co_await exchange->deadline.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (!exchange->result) {
    exchange->give_up();
    const std::string ms = std::to_string(exchange->request.timeout_ms);
    co_return fault(*exchange, HttpFault::Kind::timeout, "none came within " + ms + " ms");
  }
  if (exchange->lacking)
    throw std::system_error(exchange->lacking, "Expected to call " + exchange->destination.authority);
  HttpResult result = *std::move(exchange->result);
  co_return result;
}

}  // namespace cairn
