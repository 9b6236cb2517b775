// `cairn bench-model`: the endpoint of a model that answers after a delay.
#include <CLI/CLI.hpp>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <iostream>

#include "ops/bench/bench.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

constexpr int waiting_max = 4'096;  // connections not yet accepted
constexpr std::uint64_t body_bytes_max = 1 << 20;
constexpr std::chrono::seconds idle_max{30};

struct SlowModelOptions {
  int latency_ms = 2'000;
};

class SlowModel {
 public:
  SlowModel(asio::io_context& io, std::chrono::milliseconds latency)
      : io_(io), acceptor_(io, {asio::ip::address_v4::loopback(), 0}), latency_(latency) {
    acceptor_.listen(waiting_max);
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  asio::awaitable<void> accept() {
    for (;;) {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      asio::co_spawn(io_, serve(std::move(socket)), asio::detached);
    }
  }

 private:
  asio::awaitable<void> serve(tcp::socket socket) {
    beast::tcp_stream stream(std::move(socket));
    try {
      beast::flat_buffer buffer;
      while (co_await serve_one(stream, buffer)) {
      }
    } catch (const boost::system::system_error&) {  // the client went away
    }
  }

  asio::awaitable<bool> serve_one(beast::tcp_stream& stream, beast::flat_buffer& buffer) {
    stream.expires_after(idle_max);
    http::request_parser<http::string_body> parser;
    parser.body_limit(body_bytes_max);
    co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
    asio::steady_timer timer(io_, latency_);
    co_await timer.async_wait(asio::use_awaitable);
    const bool goes_on = parser.get().keep_alive();
    const http::response<http::string_body> response = answer(goes_on);
    co_await http::async_write(stream, response, asio::use_awaitable);
    co_return goes_on;
  }

  static http::response<http::string_body> answer(bool keep_alive) {
    static const std::string body = canonical(
        {{"model", "slow"},
         {"choices", {{{"index", 0}, {"message", {{"role", "assistant"}, {"content", std::string(300, 'x')}}}}}},
         {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 75}}}});
    http::response<http::string_body> response{http::status::ok, 11};
    response.set(http::field::content_type, "application/json");
    response.body() = body;
    response.keep_alive(keep_alive);
    response.prepare_payload();
    return response;
  }

  asio::io_context& io_;
  tcp::acceptor acceptor_;
  std::chrono::milliseconds latency_;
};

Exit bench_model(const Settings&, const SlowModelOptions& options) {
  asio::io_context io(1);
  SlowModel model(io, std::chrono::milliseconds(options.latency_ms));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  asio::co_spawn(io, model.accept(), asio::detached);
  print_json({{"port", model.port()}});
  std::cout.flush();
  io.run();
  return exit_ok;
}

}  // namespace

void add_bench_model(CommandLine& line) {
  auto& options = line.keep<SlowModelOptions>();
  CLI::App& command = add_command(line, "bench-model", "The model of the benchmark",
                                  [&](const Settings& settings) { return bench_model(settings, options); });
  command.add_option("--latency", options.latency_ms, "How long it takes to answer, in ms");
  command.group("");
}

}  // namespace cairn
