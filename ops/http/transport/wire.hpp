// The bytes of a connection, with TLS or without. Used by one thread.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace cairn {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;  // shared: connections outlive a reading of the files

// From files in PEM. Throws boost::system::system_error.
TlsContext read_tls(const std::string& certificate, const std::string& key);

// No templates: the operations that Asio composes are instantiated in wire.cpp alone.
class Wire {
 public:
  using Pieces = std::array<boost::asio::const_buffer, 2>;  // one after the other
  using Socket = boost::asio::ip::tcp::socket;

  static constexpr std::size_t read_bytes = 8 * 1024;  // taken at once, at most

  // Null: without TLS.
  Wire(Socket socket, TlsContext tls);

  // False if it failed.
  boost::asio::awaitable<bool> shake_hands();
  // Waits for bytes, and puts them after those that `buffer` has.
  boost::asio::awaitable<boost::system::error_code> read_some(boost::beast::flat_buffer& buffer);
  // Writes some of the first bytes, and returns how many. Throws boost::system::system_error.
  boost::asio::awaitable<std::size_t> write_some(const Pieces& pieces);
  // Says that nothing more is written.
  boost::asio::awaitable<void> finish();

  bool is_secured() const { return secured_.has_value(); }
  Socket& socket() { return plain_.socket(); }
  void expires_after(std::chrono::steady_clock::duration time) { plain_.expires_after(time); }
  void expires_never() { plain_.expires_never(); }
  void cancel() { plain_.cancel(); }
  void close() { plain_.close(); }

 private:
  TlsContext tls_;
  boost::beast::tcp_stream plain_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> secured_;
};

}  // namespace cairn
