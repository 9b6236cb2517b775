#include "ops/http/transport/wire.hpp"

#include <utility>

namespace cairn {

namespace asio = boost::asio;

namespace {

constexpr std::size_t read_bytes = 8 * 1024;

}  // namespace

Wire::Wire(asio::ip::tcp::socket socket, TlsContext tls) : tls_(std::move(tls)), plain_(std::move(socket)) {
  if (tls_) secured_.emplace(plain_, *tls_);
}

asio::awaitable<bool> Wire::shake_hands() {
  Fault fault;
  if (secured_)
    co_await secured_->async_handshake(asio::ssl::stream_base::server,
                                       asio::redirect_error(asio::use_awaitable, fault));
  co_return !fault;
}

asio::awaitable<Wire::Fault> Wire::read_some(boost::beast::flat_buffer& buffer) {
  Fault fault;
  std::size_t bytes = 0;
  const asio::mutable_buffer free = buffer.prepare(read_bytes);
  if (secured_)
    bytes = co_await secured_->async_read_some(free, asio::redirect_error(asio::use_awaitable, fault));
  else
    bytes = co_await plain_.async_read_some(free, asio::redirect_error(asio::use_awaitable, fault));
  buffer.commit(bytes);
  co_return fault;
}

asio::awaitable<std::size_t> Wire::write_some(const Pieces& pieces) {
  if (secured_) co_return co_await secured_->async_write_some(pieces, asio::use_awaitable);
  co_return co_await plain_.async_write_some(pieces, asio::use_awaitable);
}

asio::awaitable<void> Wire::finish() {
  Fault ignored;
  if (secured_)
    co_await secured_->async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
  else
    plain_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

}  // namespace cairn
