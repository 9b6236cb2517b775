#include "ops/http/transport/server.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <csignal>
#include <map>
#include <mutex>
#include <poll.h>
#include <set>
#include <spdlog/spdlog.h>
#include <sstream>
#include <utility>

#include "ops/http/transport/framing.hpp"
#include "ops/http/transport/wire.hpp"
#include "workers/ports/threads.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using Milliseconds = std::chrono::milliseconds;

constexpr std::chrono::seconds linger_max{2};
constexpr Milliseconds poll_first{20};  // of a stream without a new piece
constexpr Milliseconds poll_longest{500};
constexpr Milliseconds later_poll{250};  // an answer that comes later, and its client
constexpr std::chrono::seconds pulse_after{15};
constexpr std::chrono::seconds accept_pause{1};
constexpr std::chrono::seconds stop_grace{5};
constexpr std::size_t small_answer = 64 * 1024;
constexpr std::string_view go_on_text = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr int send_buffer = 128 * 1024;  // so that a slow client takes a piece now and then

using Parser = http::request_parser<http::string_body>;

std::string peer_of(const tcp::socket& socket) {
  error_code gone;
  const tcp::endpoint peer = socket.remote_endpoint(gone);
  return gone ? "" : peer.address().to_string();
}

std::string as_chunk(std::string text) {
  std::ostringstream size;
  size << std::hex << text.size() << "\r\n";
  return size.str() + std::move(text) + "\r\n";
}

void set_headers(http::response_header<>& message, const std::string& type) {
  if (!type.empty()) message.set(http::field::content_type, type);
  message.set(http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
}

std::string text_of(const http::response_header<>& head) {
  std::ostringstream text;
  text << head;
  return text.str();
}

// How a stream ended: all of it was sent or the server stops; it broke here; the client left.
enum class StreamEnd : std::uint8_t { whole, broke, left };

}  // namespace

// Everything except `pool` and `probes` is used on the thread of run() alone.
struct HttpServer::Parts {
  Parts(const tcp::endpoint& endpoint, ServerLimits limits_of, Admit admit_of, const TlsFiles& files)
      : limits(limits_of),
        admit(std::move(admit_of)),
        tls_files(files),
        tls(files.certificate.empty() ? nullptr : read_tls(files.certificate, files.key)),
        acceptor(io, endpoint),
        pool(limits.threads),
        probes(1) {
    mail->io = &io;
    if (!limits.hears_signals) return;
    signals.add(SIGINT);
    signals.add(SIGTERM);
  }
  ~Parts() {
    const std::lock_guard lock(mail->mutex);
    mail->io = nullptr;
  }

  // One client's connection.
  struct Connection {
    Connection(tcp::socket socket, std::string peer_of, TlsContext tls)
        : peer(std::move(peer_of)), delay(socket.get_executor()), stream(std::move(socket), std::move(tls)) {}
    std::string peer;  // its address
    asio::steady_timer delay;
    Wire stream;
    beast::flat_buffer buffer;
    bool is_head = false;  // of the request that is answered now
    bool wants_problems = false;
    bool is_new = true;         // no request has begun on it
    bool is_evicted = false;    // it made room for another one, and counts no more
    std::uint64_t waiting = 0;  // since when it waits for a whole request, as a number that grows; 0: it does not
    std::chrono::steady_clock::time_point whole_by = {};  // the request that has begun
  };

  // Work of a thread for a connection, which may stop waiting for it.
  struct Work {
    Work(asio::io_context& io, Admitted admitted_of, ApiRequest request_of)
        : admitted(std::move(admitted_of)), request(std::move(request_of)), done(io) {}
    Admitted admitted;
    ApiRequest request;
    std::atomic_flag is_taken;  // by the thread that does it, or by the connection that gave it up
    std::optional<ApiAnswer> said;
    asio::steady_timer done;
  };

  // The way into `io` for those who may outlive it.
  struct Mail {
    std::mutex mutex;
    asio::io_context* io = nullptr;  // null: it is gone
  };

  // An answer that comes later.
  struct Said {
    explicit Said(asio::io_context& io) : arrival(io) {}
    bool has_come = false;
    std::optional<ApiResponse> response;
    asio::steady_timer arrival;
  };

  // Bytes of an answer while it is sent.
  class UnsentBytes {
   public:
    UnsentBytes(std::size_t& sum, std::size_t bytes) : sum_(sum), bytes_(bytes) { sum_ += bytes_; }
    ~UnsentBytes() {
      CHECK(sum_ >= bytes_);
      sum_ -= bytes_;
    }
    UnsentBytes(const UnsentBytes&) = delete;
    UnsentBytes& operator=(const UnsentBytes&) = delete;

   private:
    std::size_t& sum_;
    std::size_t bytes_;
  };

  class StreamCount {
   public:
    explicit StreamCount(int& count) : count_(count) { ++count_; }
    ~StreamCount() {
      CHECK(count_ > 0);
      --count_;
    }
    StreamCount(const StreamCount&) = delete;
    StreamCount& operator=(const StreamCount&) = delete;

   private:
    int& count_;
  };

  asio::awaitable<void> accept();
  asio::awaitable<bool> await_room();
  bool admits(const std::string& peer);
  asio::awaitable<void> converse(tcp::socket socket, std::string peer);
  asio::awaitable<bool> serve_one(Connection& connection);
  asio::awaitable<error_code> read_header(Connection& connection, Parser& parser);
  asio::awaitable<error_code> read_body(Connection& connection, Parser& parser);
  asio::awaitable<error_code> read_more(Connection& connection, Parser& parser);
  asio::awaitable<error_code> read_in_time(Connection& connection);
  asio::awaitable<bool> await_request(Connection& connection);
  asio::awaitable<bool> answer(Connection& connection, Parser& parser, Admitted admitted, ApiRequest request);
  asio::awaitable<ApiAnswer> work_out(std::shared_ptr<Work> work);
  asio::awaitable<void> wait_for(Work& work, std::chrono::steady_clock::duration time);
  asio::awaitable<void> write(Connection& connection, std::string head, std::string body);
  bool is_gone(Connection& connection) const;
  asio::awaitable<void> send(Connection& connection, ApiResponse response, bool keep_alive);
  asio::awaitable<void> refuse(Connection& connection, ApiResponse response);
  asio::awaitable<ApiResponse> answered_again(Work& work, const ApiLater& later);
  asio::awaitable<bool> send_later(Connection& connection, ApiLater& later, Work& work, bool keep_alive);
  asio::awaitable<bool> send_stream(Connection& connection, ApiStream& said, bool keep_alive);
  asio::awaitable<StreamEnd> send_chunks(Connection& connection, ApiStream& said);
  asio::awaitable<void> pause(Milliseconds time);
  template <class T>
  asio::awaitable<T> in_pool(std::function<T()> work);

  ApiResponse response_to(const error_code& fault) const {  // of a request that was read
    return fault_response(fault, {limits.header_bytes, limits.body_bytes, limits.request});
  }
  bool is_full() const { return open >= limits.connections; }
  void begin_waiting(Connection& connection);
  void end_waiting(Connection& connection);
  bool evict_one(const std::string* peer);
  void leave(const Connection& connection);
  void end(Connection& connection);
  void stop();
  void await_signals();
  void let_go();
  asio::awaitable<void> reread_tls();

  ServerLimits limits;
  Admit admit;
  TlsFiles tls_files;
  TlsContext tls;  // of connections from now on; null: none
  asio::io_context io{1};
  const std::shared_ptr<Mail> mail = std::make_shared<Mail>();
  tcp::acceptor acceptor;
  asio::steady_timer room{io};
  asio::signal_set signals{io};
  asio::signal_set hangups{io};
  ThreadPool pool;
  ThreadPool probes;
  std::set<Wire*> idle;                          // that wait for a request's first byte
  std::map<std::uint64_t, Connection*> waiting;  // that wait for a whole request, the longest first
  std::uint64_t last_waiting = 0;
  std::map<std::string, int> peers;  // connections by address
  int open = 0;
  std::size_t unsent = 0;  // bytes of large answers
  int streams = 0;
  bool stopping = false;
  std::function<void()> give_up;
  asio::steady_timer grace{io};  // of the requests that have begun when it stops
};

// --- connections -----------------------------------------------------------------------------------------------------

asio::awaitable<void> HttpServer::Parts::accept() {
  while (!stopping) {
    error_code fault;
    co_await acceptor.async_wait(tcp::acceptor::wait_read, asio::redirect_error(asio::use_awaitable, fault));
    if (stopping) break;
    if (!fault && !co_await await_room()) continue;
    tcp::socket socket(io);
    if (!fault) co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, fault));
    if (stopping) break;
    if (fault) {
      spdlog::warn("The API cannot accept a connection: {}", fault.message());
      co_await pause(accept_pause);
      continue;
    }
    std::string peer = peer_of(socket);
    if (!admits(peer)) continue;
    ++open;
    ++peers[peer];
    socket.set_option(asio::socket_base::send_buffer_size(send_buffer), fault);
    socket.set_option(tcp::no_delay(true), fault);  // with TLS, head and body are two records
    asio::co_spawn(io, converse(std::move(socket), std::move(peer)), asio::detached);
  }
}

// A newcomer is there. False: no connection could make room for it yet, and something has changed since.
asio::awaitable<bool> HttpServer::Parts::await_room() {
  if (!is_full() || evict_one(nullptr)) co_return true;
  error_code ignored;
  room.expires_at(asio::steady_timer::time_point::max());
  co_await room.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  co_return false;
}

// Whether the address may have another connection; if need be, in place of the one of its own that waits longest.
bool HttpServer::Parts::admits(const std::string& peer) {
  if (is_loopback(peer) && !limits.peers_of_here) return true;
  const auto found = peers.find(peer);
  return found == peers.end() || found->second < limits.peer_connections || evict_one(&peer);
}

void HttpServer::Parts::begin_waiting(Connection& connection) {
  if (connection.waiting != 0 || connection.is_evicted) return;
  connection.waiting = ++last_waiting;
  waiting.emplace(connection.waiting, &connection);
  room.cancel();  // a newcomer may have its place now
}

void HttpServer::Parts::end_waiting(Connection& connection) {
  if (connection.waiting == 0) return;
  CHECK(waiting.erase(std::exchange(connection.waiting, 0)) == 1);  // pairs with begin_waiting()
}

// Closes the connection (of this peer) that has waited longest for a whole request. False if none waits.
bool HttpServer::Parts::evict_one(const std::string* peer) {
  const auto found = std::find_if(waiting.begin(), waiting.end(),
                                  [peer](const auto& entry) { return peer == nullptr || entry.second->peer == *peer; });
  if (found == waiting.end()) return false;
  Connection& connection = *found->second;
  CHECK(!connection.is_evicted);  // pairs with end(): each connection leaves once
  end_waiting(connection);
  leave(connection);  // now, because its coroutine ends later, and the newcomer is accepted first
  connection.is_evicted = true;
  connection.stream.close();
  connection.delay.cancel();
  return true;
}

void HttpServer::Parts::leave(const Connection& connection) {
  const auto found = peers.find(connection.peer);
  CHECK(open > 0 && found != peers.end() && found->second > 0);  // pairs with accept()
  --open;
  if (--found->second == 0) peers.erase(found);
}

void HttpServer::Parts::end(Connection& connection) {
  end_waiting(connection);
  if (!connection.is_evicted) leave(connection);
  room.cancel();
  let_go();
}

asio::awaitable<void> HttpServer::Parts::converse(tcp::socket socket, std::string peer) {
  Connection connection(std::move(socket), std::move(peer), tls);
  try {
    begin_waiting(connection);
    connection.stream.expires_after(limits.first);
    bool goes_on = co_await connection.stream.shake_hands();
    while (goes_on) goes_on = co_await serve_one(connection);
  } catch (const std::exception& gone) {
    spdlog::debug("A connection of the API ended early: {}", gone.what());
  }
  end(connection);
}

// Nothing is waited for any more once it stops and the last connection has ended.
void HttpServer::Parts::let_go() {
  if (!stopping || open > 0) return;
  grace.cancel();
  signals.cancel();
}

void HttpServer::Parts::await_signals() {
  if (!limits.hears_signals) return;
  signals.async_wait([this](const error_code& fault, int) {
    if (fault) return;
    stop();
    if (open == 0) return;
    grace.expires_after(stop_grace);
    grace.async_wait([this](const error_code& ended) { ended ? void() : give_up(); });
    signals.async_wait([this](const error_code& ended, int) { ended ? void() : give_up(); });
  });
}

void HttpServer::Parts::stop() {
  stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  hangups.cancel(ignored);
  room.cancel();
  let_go();
  for (Wire* stream : idle) stream->cancel();
}

asio::awaitable<void> HttpServer::Parts::pause(Milliseconds time) {
  asio::steady_timer timer(io, time);
  co_await timer.async_wait(asio::use_awaitable);
}

template <class T>
asio::awaitable<T> HttpServer::Parts::in_pool(std::function<T()> work) {
  // Named, because g++ 12 destroys an unnamed one twice (its bug 107288).
  auto run = [](std::function<T()> of) -> asio::awaitable<T> { co_return of(); };
  co_return co_await asio::co_spawn(pool.context(), run(std::move(work)), asio::use_awaitable);
}

// False when none will come.
asio::awaitable<bool> HttpServer::Parts::await_request(Connection& connection) {
  if (connection.buffer.size() > 0) co_return true;
  if (stopping) co_return false;
  connection.stream.expires_after(connection.is_new ? std::min(limits.first, limits.idle) : limits.idle);
  idle.insert(&connection.stream);
  const error_code fault = co_await connection.stream.read_some(connection.buffer);
  idle.erase(&connection.stream);
  co_return !fault;
}

// `timeout`: the request was to be whole by now. The connection still takes an answer then, which it does not after a
// time limit of its stream.
asio::awaitable<error_code> HttpServer::Parts::read_in_time(Connection& connection) {
  connection.stream.expires_never();
  const auto reading = std::make_shared<bool>(true);
  connection.delay.expires_at(connection.whole_by);
  connection.delay.async_wait([reading, &connection](const error_code& ended) {
    if (!ended && *reading) connection.stream.cancel();
  });
  const error_code fault = co_await connection.stream.read_some(connection.buffer);
  *reading = false;
  connection.delay.cancel();
  const bool is_late = std::chrono::steady_clock::now() >= connection.whole_by && !connection.is_evicted;
  co_return fault == asio::error::operation_aborted&& is_late ? beast::error::timeout : fault;
}

// Takes what has come, or waits for more.
asio::awaitable<error_code> HttpServer::Parts::read_more(Connection& connection, Parser& parser) {
  error_code fault;
  if (connection.buffer.size() > 0) {
    connection.buffer.consume(parser.put(connection.buffer.data(), fault));
    if (fault != http::error::need_more) co_return fault;
  }
  fault = co_await read_in_time(connection);
  if (fault != asio::error::eof) co_return fault;
  if (!parser.got_some()) co_return http::error::end_of_stream;
  fault = {};
  parser.put_eof(fault);
  co_return fault;
}

asio::awaitable<error_code> HttpServer::Parts::read_header(Connection& connection, Parser& parser) {
  error_code fault;
  while (!fault && !parser.is_header_done()) fault = co_await read_more(connection, parser);
  co_return fault;
}

asio::awaitable<error_code> HttpServer::Parts::read_body(Connection& connection, Parser& parser) {
  error_code fault;
  parser.eager(true);
  while (!fault && !parser.is_done()) fault = co_await read_more(connection, parser);
  co_return fault;
}

// Whether the connection takes another request.
asio::awaitable<bool> HttpServer::Parts::serve_one(Connection& connection) {
  begin_waiting(connection);
  if (!co_await await_request(connection)) co_return false;
  connection.is_new = false;
  connection.whole_by = std::chrono::steady_clock::now() + limits.request;
  Parser parser;
  parser.header_limit(limits.header_bytes);
  parser.body_limit(limits.body_bytes);
  const error_code fault = co_await read_header(connection, parser);
  connection.is_head = parser.get().method() == http::verb::head;
  connection.wants_problems = names_type(parser.get()[http::field::accept], problem_type);
  if (connection.is_evicted || fault == http::error::end_of_stream || fault == http::error::partial_message ||
      (fault == beast::error::timeout && !parser.got_some()))
    co_return false;
  if (fault) {
    co_await refuse(connection, response_to(fault));
    co_return false;
  }
  if (ApiStatus clear = check_framing(parser.get()); !clear) {
    co_await refuse(connection, std::move(clear).error());
    co_return false;
  }
  Result<ApiRequest> request = read_head(parser.get());
  if (request) request->peer = connection.peer;
  Admission admission = request ? admit(*request) : Admission(error_response(request.error()));
  if (const auto* delay = std::get_if<ApiDelay>(&admission)) {
    error_code ended;
    connection.delay.expires_after(delay->time);
    co_await connection.delay.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (connection.is_evicted) co_return false;
    request->was_delayed = true;
    admission = admit(*request);
  }
  if (auto* admitted = std::get_if<Admitted>(&admission))
    co_return co_await answer(connection, parser, std::move(*admitted), *std::move(request));
  ApiResponse known = std::get<ApiResponse>(std::move(admission));
  if (!parser.is_done()) {
    co_await refuse(connection, std::move(known));
    co_return false;
  }
  end_waiting(connection);
  const bool goes_on = parser.get().keep_alive() && !stopping;
  co_await send(connection, std::move(known), goes_on);
  co_return goes_on;
}

asio::awaitable<bool> HttpServer::Parts::answer(Connection& connection, Parser& parser, Admitted admitted,
                                                ApiRequest request) {
  connection.stream.expires_after(limits.write);
  if (beast::iequals(parser.get()[http::field::expect], "100-continue"))
    for (Wire::Pieces rest{asio::buffer(go_on_text)}; rest[0].size() > 0;)
      rest[0] += co_await connection.stream.write_some(rest);
  const error_code fault = co_await read_body(connection, parser);
  const bool is_refused = is_malformed(fault) || fault == beast::error::timeout;
  if (is_refused && !connection.is_evicted) co_await refuse(connection, response_to(fault));
  if (fault) co_return false;
  end_waiting(connection);
  request.body = std::move(parser.get().body());
  const bool is_1_1 = parser.get().version() >= 11;
  const bool goes_on = parser.get().keep_alive();
  connection.stream.expires_never();
  const auto work = std::make_shared<Work>(io, std::move(admitted), std::move(request));
  ApiAnswer said = co_await work_out(work);
  if (auto* response = std::get_if<ApiResponse>(&said)) {
    co_await send(connection, std::move(*response), goes_on && !stopping);
    co_return goes_on && !stopping;
  }
  if (!is_1_1 && std::holds_alternative<ApiStream>(said)) {
    co_await refuse(connection, error_response(505, "unsupported", "Expected HTTP/1.1 for a stream, but found 1.0."));
    co_return false;
  }
  auto* later = std::get_if<ApiLater>(&said);
  if (streams >= limits.streams() && later != nullptr && !later->started.empty()) {
    ApiResponse now = co_await answered_again(*work, *later);
    co_await send(connection, std::move(now), goes_on && !stopping);
    co_return goes_on && !stopping;
  }
  if (streams >= limits.streams()) {
    if (auto* stream = std::get_if<ApiStream>(&said); stream != nullptr && stream->refused)
      co_await in_pool<bool>([stream] { return stream->refused(), true; });
    co_await refuse(connection, error_response(503, "unavailable",
                                               "Expected fewer than " + std::to_string(limits.streams()) +
                                                   " streams at once, but there are so many; try again."));
    co_return false;
  }
  const StreamCount counted(streams);
  if (later != nullptr) co_return co_await send_later(connection, *later, *work, goes_on);
  co_return co_await send_stream(connection, std::get<ApiStream>(said), goes_on);
}

asio::awaitable<ApiResponse> HttpServer::Parts::answered_again(Work& work, const ApiLater& later) {
  answer_again(work.request, later);
  ApiAnswer now = co_await work_out(std::make_shared<Work>(io, std::move(work.admitted), std::move(work.request)));
  co_return answer_after(later, std::get<ApiResponse>(std::move(now)));
}

// The client's end is noticed while it is waited for, and so is the server's.
asio::awaitable<bool> HttpServer::Parts::send_later(Connection& connection, ApiLater& later, Work& work,
                                                    bool keep_alive) {
  const auto said = std::make_shared<Said>(io);
  later.begin([said, mail = mail](std::optional<ApiResponse> response) {
    const std::lock_guard lock(mail->mutex);
    if (mail->io == nullptr) return;
    asio::post(*mail->io, [said, response = std::move(response)]() mutable {
      said->response = std::move(response);
      said->has_come = true;
      said->arrival.cancel();
    });
  });
  if (!later.started.empty()) work.request.body = {};  // nothing reads it again
  bool is_hurried = false;
  while (!said->has_come) {
    error_code ignored;
    said->arrival.expires_after(later_poll);
    co_await said->arrival.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (is_gone(connection)) {  // also when the answer has come: it would be written to no one
      later.gone();
      co_return false;
    }
    if (!said->has_come && stopping && !std::exchange(is_hurried, true)) later.hurry();
  }
  if (!said->response) said->response = co_await answered_again(work, later);
  bool is_sent = false;
  try {
    co_await send(connection, *std::move(said->response), keep_alive && !stopping);
    is_sent = true;
  } catch (const boost::system::system_error&) {  // below: a handler must not wait
  }
  if (!is_sent) later.gone();
  co_return is_sent&& keep_alive && !stopping;
}

asio::awaitable<void> HttpServer::Parts::wait_for(Work& work, std::chrono::steady_clock::duration time) {
  if (work.said) co_return;
  error_code ignored;
  work.done.expires_after(time);
  co_await work.done.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// 503 when no thread begins with it in time; for a probe, when it is not done by then.
asio::awaitable<ApiAnswer> HttpServer::Parts::work_out(std::shared_ptr<Work> work) {
  const bool is_probe = work->admitted.lane == Lane::probes;
  asio::post((is_probe ? probes : pool).context(), [this, work] {
    if (work->is_taken.test_and_set()) return;
    auto finish = [work, said = work->admitted.answer(work->request)]() mutable {
      work->said = std::move(said);
      work->done.cancel();
    };
    asio::post(io, std::move(finish));
  });
  co_await wait_for(*work, is_probe ? limits.probe : limits.queued);
  if (!work->said && (!work->is_taken.test_and_set() || is_probe))
    co_return error_response(503, "unavailable", "Expected an answer in time, but too much is waited for; try again.");
  while (!work->said) co_await wait_for(*work, std::chrono::hours(1));
  co_return *std::move(work->said);
}

// The time limit starts again with each piece that the client takes.
asio::awaitable<void> HttpServer::Parts::write(Connection& connection, std::string head, std::string body) {
  Wire::Pieces rest{asio::buffer(head), asio::buffer(body)};
  while (asio::buffer_size(rest) > 0) {
    connection.stream.expires_after(limits.write);
    const std::size_t taken = co_await connection.stream.write_some(rest);
    const std::size_t of_head = std::min(taken, rest[0].size());
    rest[0] += of_head;
    rest[1] += taken - of_head;
  }
}

// The client of a stream has closed, or sends more ahead than a request has. Never waits.
bool HttpServer::Parts::is_gone(Connection& connection) const {
  error_code fault;
  auto& socket = connection.stream.socket();
  if (connection.stream.is_secured()) {  // its bytes are not ours to read here
    pollfd ended{socket.native_handle(), POLLRDHUP, 0};
    return ::poll(&ended, 1, 0) != 0;
  }
  socket.non_blocking(true, fault);
  while (!fault && connection.buffer.size() <= limits.header_bytes)
    connection.buffer.commit(socket.read_some(connection.buffer.prepare(Wire::read_bytes), fault));
  return fault != asio::error::would_block;
}

asio::awaitable<void> HttpServer::Parts::send(Connection& connection, ApiResponse said, bool keep_alive) {
  if (said.body.size() > small_answer && unsent + said.body.size() > limits.unsent_bytes)
    said = later_response(503, 1, "Expected room for a large answer, but many are not taken yet; try again.");
  if (connection.wants_problems) said = problem_response(std::move(said));
  const UnsentBytes counted(unsent, said.body.size() > small_answer ? said.body.size() : 0);
  http::response<http::string_body> response{static_cast<http::status>(said.status), 11};
  set_headers(response, said.status == 204 ? "" : said.type);
  response.keep_alive(keep_alive);
  for (const auto& [name, value] : said.headers) response.set(name, value);
  response.body() = std::move(said.body);
  response.prepare_payload();
  // Named, because g++ 12 destroys unnamed ones of a condition twice.
  std::string head = text_of(response), body;
  if (!connection.is_head) body = std::move(response.body());
  co_await write(connection, std::move(head), std::move(body));
}

// The last answer on a connection. It reads what the client still sends, for a bounded time: otherwise the kernel may
// reset the connection before the client has read the answer.
asio::awaitable<void> HttpServer::Parts::refuse(Connection& connection, ApiResponse response) {
  co_await send(connection, std::move(response), false);
  begin_waiting(connection);
  connection.stream.expires_after(linger_max);
  co_await connection.stream.finish();
  for (error_code fault; !fault; connection.buffer.clear())
    fault = co_await connection.stream.read_some(connection.buffer);
}

asio::awaitable<bool> HttpServer::Parts::send_stream(Connection& connection, ApiStream& said, bool keep_alive) {
  http::response<http::empty_body> head{http::status::ok, 11};
  set_headers(head, said.type);
  head.keep_alive(keep_alive);
  head.chunked(true);
  head.set("X-Accel-Buffering", "no");  // a proxy passes each piece on at once
  StreamEnd end = StreamEnd::left;
  bool has_begun = false;
  try {
    co_await write(connection, text_of(head), {});
    has_begun = true;
    if (!connection.is_head) end = co_await send_chunks(connection, said);
  } catch (const boost::system::system_error&) {  // below: a handler must not wait
  }
  if (end == StreamEnd::left && said.gone) co_await in_pool<bool>([&said] { return said.gone(), true; });
  if (connection.is_head) co_return has_begun&& keep_alive && !stopping;
  if (end != StreamEnd::whole) co_return false;
  co_await write(connection, "0\r\n\r\n", {});
  co_return keep_alive && !stopping;
}

asio::awaitable<StreamEnd> HttpServer::Parts::send_chunks(Connection& connection, ApiStream& said) {
  auto spoke = std::chrono::steady_clock::now();
  for (Milliseconds wait = poll_first; !stopping; wait = std::min(poll_longest, wait * 3 / 2)) {
    if (is_gone(connection)) co_return StreamEnd::left;
    std::optional<ApiStream::Chunk> chunk =
        co_await in_pool<std::optional<ApiStream::Chunk>>([&said] { return said.next(); });
    if (!chunk) co_return StreamEnd::broke;
    const bool is_last = chunk->is_last, has_more = chunk->has_more;
    const auto now = std::chrono::steady_clock::now();
    if (!chunk->text.empty() || has_more) wait = poll_first;
    if (chunk->text.empty() && now - spoke > pulse_after) chunk->text = said.pulse;
    if (!chunk->text.empty()) {
      spoke = now;
      co_await write(connection, as_chunk(std::move(chunk->text)), {});
    }
    chunk.reset();  // a stream that rests holds nothing
    if (is_last) co_return StreamEnd::whole;
    if (!has_more) co_await pause(wait);
  }
  co_return StreamEnd::whole;
}

// Connections that are open keep what they began with, and all keep it if the files cannot be used.
asio::awaitable<void> HttpServer::Parts::reread_tls() {
  hangups.add(SIGHUP);
  for (error_code ended; !stopping;) {
    co_await hangups.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (ended) co_return;
    try {
      tls = read_tls(tls_files.certificate, tls_files.key);
      spdlog::info("The API has read {} again.", tls_files.certificate);
    } catch (const boost::system::system_error& fault) {
      spdlog::warn("The API keeps its certificate, because {} cannot be used: {}", tls_files.certificate,
                   fault.code().message());
    }
  }
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::open(const ListenAddress& address, ServerLimits limits, Admit admit,
                                                     const TlsFiles& tls) {
  try {
    if (!tls.certificate.empty()) read_tls(tls.certificate, tls.key);
  } catch (const boost::system::system_error& fault) {
    return Error{Code::invalid, "Expected a certificate in " + tls.certificate + " and its key in " + tls.key +
                                    ", but they cannot be used: " + fault.code().message() + "."};
  }
  try {
    const tcp::endpoint endpoint(asio::ip::make_address(address.ip), address.port);
    auto parts = std::make_unique<Parts>(endpoint, limits, std::move(admit), tls);
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
  } catch (const boost::system::system_error& fault) {
    return Error{Code::unavailable,
                 "Expected to listen on " + to_string(address) + ", but it cannot be: " + fault.code().message() + "."};
  }
}

ListenAddress HttpServer::address() const {
  const tcp::endpoint endpoint = parts_->acceptor.local_endpoint();
  return {endpoint.address().to_string(), endpoint.port()};
}

void HttpServer::stop() {
  asio::post(parts_->io, [this] { parts_->stop(); });
}

void HttpServer::run(std::function<void()> give_up) {
  parts_->give_up = std::move(give_up);
  parts_->await_signals();
  if (parts_->tls) asio::co_spawn(parts_->io, parts_->reread_tls(), asio::detached);
  asio::co_spawn(parts_->io, parts_->accept(), asio::detached);
  parts_->io.run();
  parts_->pool.join();
  parts_->probes.join();
}

}  // namespace cairn
