#include "ops/trials/local_server.hpp"

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "engine/json.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using AnswerRequest = std::function<LocalAnswer(const LocalRequest&)>;

asio::awaitable<bool> serve_request(tcp::socket& socket, boost::beast::flat_buffer& buffer,
                                    const AnswerRequest& answer) {
  http::request_parser<http::string_body> parser;
  parser.body_limit(json_bytes_max);
  co_await http::async_read(socket, buffer, parser, asio::use_awaitable);
  const http::request<http::string_body> request = parser.release();
  LocalAnswer made = answer({std::string(request.method_string()), std::string(request.target()), request.body()});
  if (made.after_ms > 0) {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(made.after_ms));
    co_await timer.async_wait(asio::use_awaitable);
  }
  http::response<http::string_body> response(http::int_to_status(made.status), request.version());
  response.set(http::field::content_type, made.type);
  response.keep_alive(request.keep_alive());
  response.body() = std::move(made.body);
  response.prepare_payload();
  co_await http::async_write(socket, response, asio::use_awaitable);
  co_return request.keep_alive();
}

asio::awaitable<void> serve_connection(tcp::socket socket, const AnswerRequest& answer) {
  try {
    boost::beast::flat_buffer buffer;
    while (co_await serve_request(socket, buffer, answer)) {
    }
  } catch (const boost::system::system_error&) {  // the client has gone, or sends no HTTP
  }
}

asio::awaitable<void> accept_connections(tcp::acceptor& acceptor, const AnswerRequest& answer) {
  for (;;) {
    boost::system::error_code refused;
    tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, refused));
    if (refused == asio::error::operation_aborted) co_return;
    if (refused) continue;  // the client went away before it was accepted
    asio::co_spawn(acceptor.get_executor(), serve_connection(std::move(socket), answer), asio::detached);
  }
}

}  // namespace

struct LocalServer::Parts {
  explicit Parts(AnswerRequest given) : answer(std::move(given)) {
    asio::co_spawn(io, accept_connections(acceptor, answer), asio::detached);
    thread = std::thread([this] { io.run(); });
  }
  ~Parts() {
    io.stop();
    thread.join();
  }

  AnswerRequest answer;
  asio::io_context io{1};
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  std::thread thread;
};

LocalServer::LocalServer(AnswerRequest answer) : parts_(std::make_unique<Parts>(std::move(answer))) {}

LocalServer::~LocalServer() = default;

std::string LocalServer::url() const {
  return "http://127.0.0.1:" + std::to_string(parts_->acceptor.local_endpoint().port());
}

}  // namespace cairn
