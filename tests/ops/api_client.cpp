#include "tests/ops/api_client.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <zlib.h>

#include "storage/postgres/connection.hpp"

namespace cairn::program {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

Arguments serve_arguments(const std::string& command, const Arguments& more) {
  Arguments arguments = {command, "--json"};
  if (std::find(more.begin(), more.end(), "--listen") == more.end())
    arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

std::string gunzipped(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string bytes(64 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  inflateEnd(&stream);
  return bytes;
}

std::string Reply::header(const std::string& name) const {
  for (const auto& [given, value] : headers)
    if (boost::beast::iequals(given, name)) return value;
  return "";
}

ApiConnection::ApiConnection(std::uint16_t port, int receive_buffer) {
  socket_.open(asio::ip::tcp::v4());
  if (receive_buffer > 0) socket_.set_option(asio::socket_base::receive_buffer_size(receive_buffer));
  socket_.connect({asio::ip::address_v4::loopback(), port});
  const timeval limit{60, 0};
  EXPECT_EQ(setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
}

void ApiConnection::send(const std::string& bytes) {
  error_code ended;  // a server that refuses need not read to the end
  asio::write(socket_, asio::buffer(bytes), ended);
}

Reply ApiConnection::read_reply() {
  Reply reply = received();
  if (reply.status != 0) check(reply);
  asked_.reset();
  return reply;
}

// An answer to bytes that were sent as they are is only looked at where it is a refusal.
void ApiConnection::check(const Reply& reply) const {
  if (!asked_ && reply.status < 400) return;
  Exchanged exchanged = asked_.value_or(Exchanged{"bytes", "", "", 0, "", "", {}});
  exchanged.status = reply.status;
  exchanged.type = reply.type;
  exchanged.answer = reply.body;
  exchanged.headers = reply.headers;
  if (reply.header("Content-Encoding") == "gzip" && !reply.body.empty()) exchanged.answer = gunzipped(reply.body);
  EXPECT_EQ(asked_ ? misfit(exchanged) : misfit_of_refusal(exchanged), "");
}

Reply ApiConnection::received() {
  http::response_parser<http::string_body> parser;
  parser.body_limit(64 << 20);
  parser.skip(asked_ && asked_->method == "HEAD");
  error_code fault;
  http::read(socket_, buffer_, parser, fault);
  if (fault) return {};
  const auto& said = parser.get();
  Reply reply{static_cast<int>(said.result_int()), said.body(), std::string(said[http::field::content_type])};
  for (const auto& field : said) reply.headers.emplace_back(field.name_string(), field.value());
  return reply;
}

Reply ApiConnection::ask(const std::string& method, const std::string& target, const std::string& body,
                         const Headers& more) {
  std::string text = method + " " + target + " HTTP/1.1\r\n";
  const auto is_host = [](const auto& header) { return header.first == "Host"; };
  if (std::none_of(more.begin(), more.end(), is_host)) text += "Host: 127.0.0.1\r\n";
  for (const auto& [name, value] : more) text += name + ": " + value + "\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(text + "\r\n" + body);
  asked_ = Exchanged{method, target, body, 0, "", "", {}};
  return read_reply();
}

std::string ApiConnection::read_all() {
  error_code fault;
  std::string text;
  asio::read(socket_, asio::dynamic_buffer(text), fault);
  EXPECT_EQ(fault, asio::error::eof) << fault.message();
  return text;
}

std::string ApiConnection::read_line() {
  error_code fault;
  std::string text;
  const std::size_t bytes = asio::read_until(socket_, asio::dynamic_buffer(text), "\r\n", fault);
  return text.substr(0, bytes);
}

std::size_t ApiConnection::read_piece(std::size_t bytes_max) {
  std::vector<char> piece(bytes_max);
  error_code fault;
  return socket_.read_some(asio::buffer(piece), fault);
}

bool ApiConnection::is_ended() {
  error_code fault;
  std::array<char, 1'000> bytes;
  while (!fault) socket_.read_some(asio::buffer(bytes), fault);
  return fault == asio::error::eof || fault == asio::error::connection_reset;
}

ApiStreamReader::ApiStreamReader(std::uint16_t port, const std::string& target, const Headers& more)
    : ApiConnection(port), target_(target) {
  std::string text = "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n";
  for (const auto& [name, value] : more) text += name + ": " + value + "\r\n";
  send(text + "\r\n");
  take_pieces();
  http::read_header(socket_, buffer_, parser_);
  EXPECT_EQ(parser_.get().result_int(), 200U);
  type_ = std::string(parser_.get()[http::field::content_type]);
  EXPECT_EQ(misfit_of_stream({"GET", target, "", 200, type_, "", {}}), "");
}

void ApiStreamReader::take_pieces() {
  parser_.body_limit(64 << 20);
  on_piece_ = [this](std::uint64_t size, boost::beast::string_view, error_code&) {
    largest_piece_ = std::max(largest_piece_, size);
  };
  parser_.on_chunk_header(on_piece_);
}

std::optional<StreamedEvent> ApiStreamReader::next() {
  std::optional<StreamedEvent> event = read_next();
  EXPECT_EQ(event ? misfit_of_frame(target_, event->data) : "", "");
  return event;
}

std::optional<StreamedEvent> ApiStreamReader::read_next() {
  for (;;) {
    const std::string& text = parser_.get().body();
    const std::size_t end = text.find("\n\n", taken_);
    if (end == std::string::npos) {
      error_code fault;
      if (parser_.is_done()) return {};
      http::read_some(socket_, buffer_, parser_, fault);
      EXPECT_TRUE(!fault || may_be_cut_) << fault.message();
      if (fault) return {};
      continue;
    }
    const std::string piece = text.substr(taken_, end - taken_);
    taken_ = end + 2;
    if (piece.starts_with(':')) continue;
    if (piece.starts_with("data: ")) return StreamedEvent{"", Json::parse(piece.substr(6))};
    const std::size_t data = piece.find("\ndata: ");
    if (piece.starts_with("id: ") && piece.find('\n') == std::string::npos) continue;  // a place without an event
    if (piece.starts_with("event: ") && data != std::string::npos)
      return StreamedEvent{"", Json::parse(piece.substr(data + 7)), piece.substr(7, data - 7)};
    EXPECT_TRUE(piece.starts_with("id: ") && data != std::string::npos) << piece;
    return StreamedEvent{piece.substr(4, data - 4), Json::parse(piece.substr(data + 7))};
  }
}

std::string new_database() {
  static int count = 0;
  const std::string name = "api_" + std::to_string(++count);
  const std::string first = owner_dsn();
  PgConnection({first, "a test", false}).execute("create database " + name);
  const std::string dsn = first + " dbname=" + name;
  cairn_ok({"migrate", "--dsn", dsn});
  return dsn;
}

std::string new_token(const std::string& dsn, const std::string& name, const Arguments& options) {
  Arguments arguments = {"token", "add", name, "--dsn", dsn, "--json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return cairn_ok(arguments).json()["token"];
}

Headers bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

Variable::Variable(const char* name, const std::string& value) : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  setenv(name, value.c_str(), 1);
}
Variable::~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

Server::Server(const Arguments& more, const std::string& command) : process_(serve_arguments(command, more)) {
  EXPECT_TRUE(wait_until([this] { return process_.out().ends_with('\n'); }));
  const std::string address = Json::parse(process_.out()).at("listen");
  port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

Reply Server::get(const std::string& target, const Headers& more) const {
  return ApiConnection(port_).ask("GET", target, "", more);
}

Reply Server::post(const std::string& target, const Json& body, const Headers& more) const {
  Headers headers = more;
  headers.emplace_back("Content-Type", "application/json");
  return ApiConnection(port_).ask("POST", target, body.dump(), headers);
}

}  // namespace cairn::program
