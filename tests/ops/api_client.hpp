// `cairn serve` as a child process, and an HTTP client that sends any bytes, well-formed or not. Each answer is held
// against the API's description (openapi/described_api.hpp): a test fails by one that does not fit. Not thread-safe.
#pragma once

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/http/openapi/described_api.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {

inline const std::string runs = "/api/v1/runs";  // the path
inline const std::string graphs = "/api/v1/graphs";
inline const std::string claims = "/api/v1/claims";

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 0;  // 0: the connection ended without an answer
  std::string body;
  std::string type;
  Headers headers = {};
  Json json() const { return Json::parse(body); }
  std::string header(const std::string& name) const;
  std::string message() const { return json().at("error").at("message"); }  // of a refusal
};

std::string gunzipped(const std::string& packed);

// One connection; a read that takes a minute ends it.
class ApiConnection {
 public:
  explicit ApiConnection(std::uint16_t port, int receive_buffer = 0);  // 0: the system's
  Reply ask(const std::string& method, const std::string& target, const std::string& body = "",
            const Headers& more = {});
  void send(const std::string& bytes);
  Reply read_reply();
  std::string read_all();  // to the end of the connection
  std::string read_line();
  std::size_t read_piece(std::size_t bytes_max);  // 0: it has ended, properly or not
  bool is_ended();                                // waits until the server ends it

 protected:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  boost::beast::flat_buffer buffer_;

 private:
  Reply received();
  void check(const Reply& reply) const;
  std::optional<Exchanged> asked_;  // by ask(), while its answer is not read
};

struct StreamedEvent {
  std::string id;  // "": it has none
  Json data;
  std::string event = {};  // "": a message, as events of a run are
};

// A stream of server-sent events, read event by event.
class ApiStreamReader : ApiConnection {
 public:
  ApiStreamReader(std::uint16_t port, const std::string& target, const Headers& more = {});
  std::optional<StreamedEvent> next();  // nothing: the server ended it properly, or a test has failed
  const std::string& type() const { return type_; }
  std::uint64_t largest_piece() const { return largest_piece_; }  // the largest that the server sent at once
  void close() { socket_.close(); }
  // The server may also cut it off, as it does where its client is to come again.
  void may_be_cut() { may_be_cut_ = true; }

 private:
  void take_pieces();
  std::optional<StreamedEvent> read_next();
  boost::beast::http::response_parser<boost::beast::http::string_body> parser_;
  std::size_t taken_ = 0;
  std::uint64_t largest_piece_ = 0;
  std::function<void(std::uint64_t, boost::beast::string_view, boost::system::error_code&)> on_piece_;
  std::string type_;
  const std::string target_;
  bool may_be_cut_ = false;
};

// The DSN, as its owner, of a new, migrated database in the tests' cluster: its tokens are asked of no other test.
std::string new_database();

// A token of that database, made by `cairn token add`.
std::string new_token(const std::string& dsn, const std::string& name, const Arguments& options);
Headers bearer(const std::string& token);

// A variable of the programs that are started meanwhile.
class Variable {
 public:
  Variable(const char* name, const std::string& value);  // afterwards it is as it was
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// `cairn serve`, or another command that answers like it, on a free port.
class Server {
 public:
  explicit Server(const Arguments& more = {}, const std::string& command = "serve");
  std::uint16_t port() const { return port_; }
  Beside& process() { return process_; }
  const Beside& process() const { return process_; }
  Reply get(const std::string& target, const Headers& more = {}) const;
  Reply post(const std::string& target, const Json& body = Json::object(), const Headers& more = {}) const;

 private:
  Beside process_;
  std::uint16_t port_ = 0;
};

}  // namespace cairn::program
