// The bytes of one client's connection, with TLS or without.
// Used on one thread.
#pragma once

#include <array>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <memory>
#include <optional>

namespace cairn {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;  // shared: connections outlive a reading of the files

class Wire {
 public:
  using Fault = boost::system::error_code;
  using Pieces = std::array<boost::asio::const_buffer, 2>;  // one after the other

  // `tls` is null without TLS.
  Wire(boost::asio::ip::tcp::socket socket, TlsContext tls);

  // False if it failed.
  boost::asio::awaitable<bool> shake_hands();
  // Waits for bytes, and puts them behind what `buffer` has. asio::error::eof: the client has said its last one;
  // beast::error::timeout: none came in time.
  boost::asio::awaitable<Fault> read_some(boost::beast::flat_buffer& buffer);
  // Writes some of the first bytes, and returns how many. Throws boost::system::system_error.
  boost::asio::awaitable<std::size_t> write_some(const Pieces& pieces);
  // Says that nothing more is written.
  boost::asio::awaitable<void> finish();

  // For what is awaited from now on.
  void expires_after(std::chrono::steady_clock::duration time) { plain_.expires_after(time); }
  void expires_never() { plain_.expires_never(); }
  void cancel() { plain_.cancel(); }
  void close() { plain_.close(); }
  bool is_secured() const { return secured_.has_value(); }
  boost::asio::ip::tcp::socket& socket() { return plain_.socket(); }

 private:
  TlsContext tls_;
  boost::beast::tcp_stream plain_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> secured_;
};

}  // namespace cairn
