#include "ops/http/transport/wire.hpp"

#include <boost/asio.hpp>
#include <utility>

namespace cairn {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

}  // namespace

TlsContext read_tls(const std::string& certificate, const std::string& key) {
  const auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_options(asio::ssl::context::default_workarounds | SSL_OP_NO_RENEGOTIATION);
  context->use_certificate_chain_file(certificate);
  context->use_private_key_file(key, asio::ssl::context::pem);
  return context;
}

Wire::Wire(Socket socket, TlsContext tls) : tls_(std::move(tls)), plain_(std::move(socket)) {
  if (tls_) secured_.emplace(plain_, *tls_);
}

asio::awaitable<bool> Wire::shake_hands() {
  error_code fault;
  if (secured_)
    co_await secured_->async_handshake(asio::ssl::stream_base::server,
                                       asio::redirect_error(asio::use_awaitable, fault));
  co_return !fault;
}

asio::awaitable<error_code> Wire::read_some(beast::flat_buffer& buffer) {
  error_code fault;
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
  error_code ignored;
  if (secured_)
    co_await secured_->async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
  else
    plain_.socket().shutdown(Socket::shutdown_send, ignored);
}

}  // namespace cairn
