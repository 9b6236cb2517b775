#include "workers/tools/mcp/http_channel.hpp"

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "engine/text.hpp"
#include "workers/models/event_stream.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn::mcp {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::size_t session_bytes_max = 1024;
constexpr std::int64_t said_ms_max = 10'000;  // for a message without a reply
constexpr std::int64_t ended_ms_max = 500;    // for the end of a session
constexpr int answers_max = 16;               // to the server's own requests, under way at once
constexpr int resumptions_max = 100;
constexpr int failures_max = 5;                       // in a row, in resuming one stream
constexpr std::int64_t listening_ms_max = 3'600'000;  // then it is opened again
constexpr int ok_status = 200;
// Codes with which servers refuse a session that they do not know, whatever the request is.
constexpr std::array<int, 3> codes_of_strangers = {-32000, -32001, -32600};

bool is_session(const std::string& text) {
  return !text.empty() && text.size() <= session_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string header_of(const HttpAnswer& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers)
    if (key == name) return value;
  return "";
}

std::int64_t left_ms(Clock::time_point deadline) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
}

// One request to the server, which may be ended before its answer is whole.
struct Sending {
  explicit Sending(const asio::any_io_executor& executor) : ended(executor, Clock::time_point::max()) {}
  void stop() { stopped.emit(asio::cancellation_type::terminal); }
  asio::steady_timer ended;
  asio::cancellation_signal stopped;
  std::optional<HttpResult> result;
  std::exception_ptr fault;
};

// A request goes with the one that waits for it.
class StopSending {
 public:
  explicit StopSending(std::shared_ptr<Sending> sending) : sending_(std::move(sending)) {}
  StopSending(const StopSending&) = delete;
  StopSending& operator=(const StopSending&) = delete;
  ~StopSending() {
    if (!sending_->result && !sending_->fault) sending_->stop();
  }

 private:
  const std::shared_ptr<Sending> sending_;
};

// The part of a body that has come so far.
struct Reading {
  std::int64_t id = 0;
  bool is_stream = false;  // its first byte is no brace
  bool has_begun = false;
  bool ends_early = true;  // the connection is not needed once the reply is there
  EventStream events;
  std::optional<Reply> reply;
  std::string stray;
};

asio::awaitable<void> send_into(std::shared_ptr<HttpClient> client, HttpRequest request,
                                std::shared_ptr<Sending> sending) {
  HttpResult result = co_await client->send(std::move(request));
  sending->result = std::move(result);
}

}  // namespace

struct HttpChannel::Parts : std::enable_shared_from_this<HttpChannel::Parts> {
  Parts(std::string named, ToolSpec::Http reached, Secrets& known, Listener hears)
      : name(std::move(named)), server(std::move(reached)), secrets(known), listener(std::move(hears)) {}

  Result<HttpRequest, Failure> request(const std::string& method, std::int64_t timeout_ms) {
    HttpRequest made;
    made.url = server.url;
    made.method = method;
    made.timeout_ms = std::max<std::int64_t>(timeout_ms, 1);
    made.headers = {{"accept", method == "GET" ? "text/event-stream" : "application/json, text/event-stream"}};
    if (method == "POST") made.headers.emplace_back("content-type", "application/json");
    if (!revision.empty()) made.headers.emplace_back("mcp-protocol-version", revision);
    if (!session.empty()) made.headers.emplace_back("mcp-session-id", session);
    if (auto added = add_auth(made, server.auth, secrets); !added) return std::move(added).error();
    return made;
  }

  // The request as it is sent, until its answer is whole or is no longer waited for.
  asio::awaitable<HttpResult> sent(HttpRequest made, std::shared_ptr<Sending> sending) {
    const StopSending stop(sending);
    auto running = send_into(client, std::move(made), sending);
    asio::co_spawn(executor, std::move(running),
                   asio::bind_cancellation_slot(sending->stopped.slot(), [sending](std::exception_ptr fault) {
                     sending->fault = std::move(fault);
                     sending->ended.cancel();
                   }));
    boost::system::error_code cancelled;
    co_await sending->ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (sending->fault) std::rethrow_exception(sending->fault);
    if (!sending->result) throw boost::system::system_error(asio::error::operation_aborted);  // it is not waited for
    HttpResult result = *std::move(sending->result);
    co_return result;
  }

  // --- what comes ---------------------------------------------------------------------------------------------------

  void take(const Request& asked, Reading& reading, std::string_view text) {
    const Result<Message> message = parse_message(text);
    if (!message) {
      reading.stray = secrets.redacted_line(text, 200);
      return;
    }
    if (message->kind == Message::Kind::request) return respond(*message);
    if (message->kind == Message::Kind::notification) {
      const bool is_ours =
          message->method == "notifications/progress" && message->params.value("progressToken", Json()) == asked.id;
      if (!is_ours) return listener.notice(*message);
      if (asked.on_progress) asked.on_progress(message->params);
      return;
    }
    const bool is_reply = message->id == asked.id || (message->id.is_null() && message->error.is_object());
    if (is_reply)
      reading.reply = Reply{message->result, message->error};
    else
      reading.stray = secrets.redacted_line(text, 200);
  }

  void take_part(const Request& asked, Reading& reading, std::string_view more) {
    if (!reading.has_begun && !more.empty()) {
      reading.has_begun = true;
      reading.is_stream = more.front() != '{' && more.front() != '[';
    }
    if (!reading.is_stream) return;
    for (const std::string& event : reading.events.add(more))
      if (!reading.reply) take(asked, reading, event);
  }

  // While all else goes on; a response that cannot be sent is missed by the server, which then waits in vain. So is one
  // too many: each has a connection of its own.
  void respond(const Message& request) {
    if (answers >= answers_max) return;
    ++answers;
    auto speaking = say(listener.respond(request));
    asio::co_spawn(executor, std::move(speaking),
                   [self = shared_from_this()](const std::exception_ptr&) { --self->answers; });
  }

  void cancel(std::int64_t id) {
    const Json reason = {{"requestId", id}, {"reason", "The caller no longer waits."}};
    auto speaking = say(notification_json("notifications/cancelled", reason));
    asio::co_spawn(executor, std::move(speaking), asio::detached);
  }

  asio::awaitable<void> say(Json message) {
    const std::shared_ptr<Parts> self = shared_from_this();
    Result<HttpRequest, Failure> made = request("POST", said_ms_max);
    if (!made) co_return;
    made->body = canonical(message);
    static_cast<void>(co_await client->send(*std::move(made)));
  }

  // --- asking -------------------------------------------------------------------------------------------------------

  // A request and the stream of its answer: the reply, or none where the stream has ended before it.
  asio::awaitable<Answer> exchange(HttpRequest made, Request asked, std::shared_ptr<Reading> reading) {
    const auto sending = std::make_shared<Sending>(executor);
    made.on_part = [self = shared_from_this(), asked, reading, sending](int status, std::string_view more) {
      if (status >= 400 || reading->reply) return;
      self->take_part(asked, *reading, more);
      if (reading->reply && reading->ends_early) sending->stop();
    };
    const HttpResult result = co_await sent(std::move(made), sending);
    if (reading->reply && !result) co_return *reading->reply;
    const bool is_broken = !result && result.error().kind == HttpFault::Kind::unreachable && may_resume(*reading);
    if (is_broken) co_return Reply{};
    if (!result) co_return failure_of_fault(result.error(), asked);
    if (result->status >= 400) co_return refusal(*result, asked, *reading);
    if (asked.method == "initialize")
      if (std::string given = header_of(*result, "mcp-session-id"); is_session(given)) session = std::move(given);
    if (!reading->is_stream) take(asked, *reading, result->body);
    if (reading->reply) co_return *reading->reply;
    if (!may_resume(*reading)) co_return no_reply(*reading);
    co_return Reply{};  // to be resumed
  }

  bool may_resume(const Reading& reading) const {
    return reading.is_stream && reading.events.last_id() && revision != newest_revision;
  }

  Failure no_reply(const Reading& reading) const {
    const std::string wrote = reading.stray.empty() ? "." : "; it wrote: " + reading.stray;
    const bool is_cut = reading.is_stream && reading.stray.empty();
    return failure(is_cut ? "unreachable" : "bad_output",
                   "Expected a reply to the request from " + server_named(name) + ", but none came" + wrote, is_cut);
  }

  Failure failure_of_fault(const HttpFault& fault, const Request& asked) const {
    if (fault.kind == HttpFault::Kind::timeout)
      return failure("timeout",
                     "Expected " + server_named(name) + " to answer " + asked.method + " within " +
                         std::to_string(asked.timeout_ms) + " ms, but it did not.",
                     true);
    if (fault.kind == HttpFault::Kind::too_big) return failure("bad_output", fault.message, false);
    return failure("unreachable", fault.message, fault.kind == HttpFault::Kind::unreachable);
  }

  // A status of 400 or more: with an error of the protocol, which is a reply, or without one.
  Answer refusal(const HttpAnswer& answer, const Request& asked, Reading& reading) {
    take(asked, reading, answer.body);
    const bool has_error = reading.reply && reading.reply->error.is_object();
    const bool is_gone = (answer.status == 404 && !session.empty()) ||
                         (answer.status == 400 && asked.may_reopen &&
                          (reading.reply ? is_of_stranger(*reading.reply) : !session.empty()));
    if (has_error && !is_gone) return *reading.reply;
    if (is_gone)
      return failure(session_gone, "Expected " + server_named(name) + " to know its session, but it does not.", true);
    const std::string body = secrets.redacted_line(answer.body, 200);
    const std::string says = "Expected a reply from " + server_named(name) + ", but it answers with status " +
                             std::to_string(answer.status) + (body.empty() ? "." : ": " + body);
    if (answer.status == 401 || answer.status == 403) return failure("refused", says, false);
    Failure failed = failure("error", says, answer.status == 429 || answer.status >= 500);
    failed.pause_ms = std::min(answer.retry_after_ms, pause_ms_max);
    return failed;
  }

  // Without a session, the general codes may stand for anything, as for a tool that has begun; unless they say so.
  bool is_of_stranger(const Reply& reply) const {
    const int code = static_cast<int>(reply.code());
    if (code == header_mismatch || code == unsupported_version) return true;
    if (session.empty() && lowered(reply.message()).find("session") == std::string::npos) return false;
    return std::find(codes_of_strangers.begin(), codes_of_strangers.end(), code) != codes_of_strangers.end();
  }

  Failure not_resumed(const Failure& why) const {
    return failure("unreachable",
                   "Expected a reply to the request from " + server_named(name) +
                       ", but its stream has ended and it does not resume it: " + why.message,
                   true);
  }

  // By GET, after the time that the server has asked for.
  asio::awaitable<Answer> resumed(Request asked, std::shared_ptr<Reading> reading, Clock::time_point deadline) {
    int failed = 0;
    for (int times = 0; times < resumptions_max; ++times) {
      asio::steady_timer pause(executor, std::chrono::milliseconds(reading->events.retry_ms()));
      co_await pause.async_wait(asio::use_awaitable);
      if (left_ms(deadline) <= 0) break;
      Result<HttpRequest, Failure> made = request("GET", left_ms(deadline));
      if (!made) co_return std::move(made).error();
      made->headers.emplace_back("last-event-id", reading->events.last_id().value_or(""));
      reading->events.begin_again();
      reading->has_begun = false;
      Answer answer = co_await exchange(*std::move(made), asked, reading);
      const bool is_refused = !answer && (answer.error().error == "error" || answer.error().error == session_gone);
      if (is_refused) co_return not_resumed(answer.error());
      if (reading->reply) co_return answer;
      if (!answer && (!answer.error().retryable || ++failed == failures_max)) co_return answer;
    }
    co_return failure_of_fault({HttpFault::Kind::timeout, "", true}, asked);
  }

  // --- listening ----------------------------------------------------------------------------------------------------

  void listen() {
    auto going_on = listen_on(++listenings);
    asio::co_spawn(executor, std::move(going_on), asio::detached);
  }

  void end_listening() {
    ++listenings;
    if (const auto open = std::exchange(listening, nullptr)) open->stop();
  }

  // `number`: of this listening; another one has another.
  asio::awaitable<void> listen_on(int number) {
    const std::shared_ptr<Parts> self = shared_from_this();
    const auto reading = std::make_shared<Reading>();
    for (int failed = 0; failed < failures_max && number == listenings;) {
      reading->has_begun = false;
      const auto sending = std::make_shared<Sending>(executor);
      Result<HttpRequest, Failure> made = request("GET", listening_ms_max);
      if (!made) co_return;
      if (reading->events.last_id()) made->headers.emplace_back("last-event-id", *reading->events.last_id());
      reading->events.begin_again();
      made->on_part = [self, reading, number](int status, std::string_view more) {
        if (status == ok_status && number == self->listenings) self->take_part(no_request(), *reading, more);
      };
      listening = sending;
      const HttpResult result = co_await sent(*std::move(made), sending);
      if (number != listenings || (result && result->status != ok_status)) co_return;
      failed = reading->has_begun ? 0 : failed + 1;
      asio::steady_timer pause(executor, std::chrono::milliseconds(reading->events.retry_ms()));
      co_await pause.async_wait(asio::use_awaitable);
    }
  }

  static Request no_request() {
    Request none;
    none.id = -1;  // no reply has it
    return none;
  }

  // A server before 2026-07-28 goes on with a request whose connection was closed, unless it is asked not to.
  class Wanted {
   public:
    Wanted(std::shared_ptr<Parts> parts, const Request& asked) : parts_(std::move(parts)), id_(asked.id) {
      is_ended = asked.method == "initialize";
    }
    Wanted(const Wanted&) = delete;
    Wanted& operator=(const Wanted&) = delete;
    ~Wanted() {
      if (!is_ended && parts_->revision != newest_revision) parts_->cancel(id_);
    }
    bool is_ended;

   private:
    const std::shared_ptr<Parts> parts_;
    const std::int64_t id_;
  };

  asio::awaitable<Answer> ask(Request asked) {
    const std::shared_ptr<Parts> self = shared_from_this();
    executor = co_await asio::this_coro::executor;
    Wanted wanted(self, asked);
    Answer answer = co_await asked_and_resumed(std::move(asked));
    if (answer || answer.error().error != "timeout") wanted.is_ended = true;
    co_return answer;
  }

  asio::awaitable<Answer> asked_and_resumed(Request asked) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(asked.timeout_ms);
    Result<HttpRequest, Failure> made = request("POST", asked.timeout_ms);
    if (!made) co_return std::move(made).error();
    made->headers.insert(made->headers.end(), asked.headers.begin(), asked.headers.end());
    made->body = canonical(request_json(asked));
    const auto reading = std::make_shared<Reading>();
    reading->id = asked.id;
    reading->ends_early = asked.method != "initialize";  // whose headers are needed
    Answer answer = co_await exchange(*std::move(made), asked, reading);
    if (!answer || reading->reply) co_return answer;
    Answer later = co_await resumed(std::move(asked), reading, deadline);
    co_return later;
  }

  const std::string name;
  const ToolSpec::Http server;
  Secrets& secrets;
  const Listener listener;
  asio::any_io_executor executor;
  std::shared_ptr<HttpClient> client = std::make_shared<HttpClient>();
  std::string revision;
  std::string session;
  std::shared_ptr<Sending> listening;
  int listenings = 0;
  int answers = 0;
};

HttpChannel::HttpChannel(std::string name, ToolSpec::Http server, Secrets& secrets, Listener listener)
    : parts_(std::make_shared<Parts>(std::move(name), std::move(server), secrets, std::move(listener))) {}

HttpChannel::~HttpChannel() { parts_->end_listening(); }

asio::awaitable<Answer> HttpChannel::ask(Request request) { return parts_->ask(std::move(request)); }

asio::awaitable<void> HttpChannel::say(Json message) { return parts_->say(std::move(message)); }

void HttpChannel::use_revision(std::string revision) { parts_->revision = std::move(revision); }

void HttpChannel::listen() { parts_->listen(); }

void HttpChannel::forget_session() {
  parts_->end_listening();
  parts_->session.clear();
}

asio::awaitable<void> HttpChannel::end_session() {
  const std::shared_ptr<Parts> parts = parts_;
  parts->end_listening();
  if (parts->session.empty()) co_return;
  Result<HttpRequest, Failure> made = parts->request("DELETE", ended_ms_max);
  parts->session.clear();
  if (made) static_cast<void>(co_await parts->client->send(*std::move(made)));
}

}  // namespace cairn::mcp
