#include "workers/tools/mcp/connection.hpp"

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/tools/mcp/elicitation.hpp"
#include "workers/tools/mcp/http_channel.hpp"
#include "workers/tools/mcp/parameter_headers.hpp"
#include "workers/tools/mcp/stdio_channel.hpp"

namespace cairn::mcp {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t probe_ms_max = 5'000;               // then a server is taken for one that begins with initialize
constexpr std::chrono::seconds opening_max{30};            // also if its callers have less
constexpr std::chrono::milliseconds restart_pause{1'000};  // between two starts of a program
constexpr std::array<std::string_view, 4> handshaken = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

std::int64_t time_left(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return std::max<std::int64_t>(left, 1);
}

Json client_info() { return {{"name", "cairn"}, {"version", "0.1.0"}}; }

bool names_revision(const Json& list, std::string_view revision) {
  return list.is_array() && std::find(list.begin(), list.end(), revision) != list.end();
}

// The parameter that Mcp-Name repeats; null: none.
const char* named_by(const std::string& method) {
  if (method == "tools/call") return "name";
  return method.starts_with("tasks/") ? "taskId" : nullptr;
}

}  // namespace

struct Connection::Parts : std::enable_shared_from_this<Connection::Parts> {
  Parts(McpEntry of, Secrets& known, std::function<void()> changed)
      : entry(std::move(of)), name(entry.like.name), secrets(known), list_changed(std::move(changed)) {}

  // --- the channel --------------------------------------------------------------------------------------------------

  Listener listener() {
    return {[this](const Message& request) { return respond(request); },
            [this](const Message& notification) {
              if (notification.method == "notifications/tools/list_changed") list_changed();
            }};
  }

  // The answer to a server before 2026-07-28 that asks its client.
  Json respond(const Message& request) const {
    if (request.method == "ping") return response_json(request.id, Json::object());
    if (request.method == "elicitation/create")
      return response_json(request.id, answer_by_policy(entry.elicitation, request.params));
    return refusal_json(request.id, method_not_found,
                        "Expected ping or elicitation/create, but found " + excerpt(request.method, 60) + ".");
  }

  Result<ToolSpec::Exec, Failure> program() {
    ToolSpec::Exec exec = std::get<ToolSpec::Exec>(entry.like.does);
    for (const auto& [variable, secret] : exec.secrets) {
      Result<std::string, Failure> value = secrets.value(secret);
      if (!value) return std::move(value).error();
      exec.setting.variables.push_back(variable + "=" + *value);
    }
    return exec;
  }

  std::string said_by(const Reply& reply) const {
    const Reply clean{{}, secrets.redacted_json(reply.error)};
    return clean.message();
  }

  asio::awaitable<Result<Done, Failure>> open_channel() {
    if (const auto* url = std::get_if<ToolSpec::Http>(&entry.like.does)) {
      http = std::make_unique<HttpChannel>(name, *url, secrets, listener());
      co_return Done{};
    }
    stdio.reset();
    if (started_at && Clock::now() < *started_at + restart_pause) {
      asio::steady_timer pause(executor, *started_at + restart_pause);
      co_await pause.async_wait(asio::use_awaitable);
    }
    started_at = Clock::now();
    Result<ToolSpec::Exec, Failure> exec = program();
    if (!exec) co_return std::move(exec).error();
    std::string fault;
    try {
      StdioChannel::Named server{name, secrets};  // with a name of its own: g++ 12 would destroy it twice
      stdio = co_await StdioChannel::start(std::move(server), *std::move(exec), listener());
    } catch (const std::system_error& error) {
      fault = error.what();
    }
    if (!fault.empty())
      co_return failure("not_started", "Expected to start " + server_named(name) + ", but: " + fault + ".", true);
    co_return Done{};
  }

  asio::awaitable<Answer> refuse_closed() const {
    co_return failure("unreachable", "Expected " + server_named(name) + " to answer, but it was ended.", true);
  }

  asio::awaitable<Answer> send(Request request) {
    if (!http && !stdio) return refuse_closed();
    return http ? http->ask(std::move(request)) : stdio->ask(std::move(request));
  }

  bool is_open() const { return is_agreed && (http != nullptr || (stdio != nullptr && stdio->is_open())); }

  // --- the handshake ------------------------------------------------------------------------------------------------

  Json newest_meta(Json meta) const {
    meta["io.modelcontextprotocol/protocolVersion"] = newest_revision;
    meta["io.modelcontextprotocol/clientInfo"] = client_info();
    meta["io.modelcontextprotocol/clientCapabilities"] = {
        {"elicitation", {{"form", Json::object()}}},
        {"extensions", {{"io.modelcontextprotocol/tasks", Json::object()}}}};
    return meta;
  }

  Request newest_request(std::string method, Json params, Request how) {
    how.id = ++last_id;
    params["_meta"] = newest_meta(params.value("_meta", Json::object()));
    how.headers.emplace_back("mcp-method", method);
    if (const char* named = named_by(method))
      how.headers.emplace_back("mcp-name", header_value(params.value(named, std::string())));
    how.method = std::move(method);
    how.params = std::move(params);
    return how;
  }

  void agree(std::string_view on) {
    revision = on;
    is_agreed = true;
    if (http) http->use_revision(revision);
  }

  Failure no_revision(const Json& supported) const {
    return failure("refused",
                   "Expected " + server_named(name) +
                       " to speak a revision of the protocol that is known here, but it "
                       "speaks " +
                       excerpt(supported, 200) + ".",
                   false);
  }

  // True: it speaks the newest revision. False: it begins with initialize, as far as can be seen.
  asio::awaitable<Result<bool, Failure>> probe(std::int64_t timeout_ms) {
    if (http) http->use_revision(std::string(newest_revision));
    Request how;
    how.timeout_ms = timeout_ms;
    const Answer answer = co_await send(newest_request("server/discover", Json::object(), std::move(how)));
    if (!answer) {
      const bool is_away = answer.error().error == "unreachable" || answer.error().error == "refused" ||
                           answer.error().error == "secret" || answer.error().pause_ms > 0;
      const bool is_late = http != nullptr && answer.error().error == "timeout";
      if (is_away || is_late) co_return answer.error();
      co_return false;
    }
    const bool is_fault = !answer->error.is_null();
    if (is_fault && answer->code() != unsupported_version) co_return false;
    const Json data = is_fault ? answer->error.value("data", Json::object()) : answer->result;
    const Json supported = data.is_object() ? data.value(is_fault ? "supported" : "supportedVersions", Json()) : Json();
    if (!is_fault && names_revision(supported, newest_revision)) co_return true;
    const bool begins_so = std::any_of(handshaken.begin(), handshaken.end(), [&supported](std::string_view known) {
      return names_revision(supported, known);
    });
    if (!supported.is_array() || begins_so) co_return false;
    co_return no_revision(supported);
  }

  asio::awaitable<Result<Done, Failure>> initialize(std::int64_t timeout_ms) {
    if (http) http->use_revision("");
    Request request;
    request.id = ++last_id;
    request.method = "initialize";
    request.timeout_ms = timeout_ms;
    request.params = {{"protocolVersion", handshake_revision}, {"clientInfo", client_info()}};
    request.params["capabilities"] = Json::object();
    if (entry.elicitation == Elicitation::decline) request.params["capabilities"]["elicitation"] = Json::object();
    if (entry.elicitation == Elicitation::defaults)
      request.params["capabilities"]["elicitation"] = {{"form", {{"applyDefaults", true}}}};
    const Answer answer = co_await send(std::move(request));
    if (!answer) co_return answer.error();
    const Json spoken = answer->result.is_object() ? answer->result.value("protocolVersion", Json()) : Json();
    if (!answer->error.is_null())
      co_return failure("refused", "Expected " + server_named(name) + " to begin, but it says: " + said_by(*answer),
                        false);
    const bool is_known = spoken.is_string() && std::find(handshaken.begin(), handshaken.end(),
                                                          spoken.get_ref<const std::string&>()) != handshaken.end();
    if (!is_known) co_return no_revision(Json::array({spoken}));
    agree(spoken.get<std::string>());
    const Json begun = notification_json("notifications/initialized", Json::object());
    if (http) co_await http->say(begun);
    if (http) http->listen();
    if (stdio) stdio->say(begun);
    co_return Done{};
  }

  asio::awaitable<Result<Done, Failure>> open(std::int64_t probe_ms) {
    const auto deadline = Clock::now() + opening_max;
    ++openings;
    is_agreed = false;
    Result<Done, Failure> opened = co_await open_channel();
    if (!opened) co_return opened;
    const Result<bool, Failure> is_newest = co_await probe(probe_ms);
    if (!is_newest) co_return is_newest.error();
    if (*is_newest) {
      agree(newest_revision);
      co_return Done{};
    }
    Result<Done, Failure> begun = co_await initialize(time_left(deadline));
    if (begun || begun.error().error != "refused") co_return begun;
    const Result<bool, Failure> after_all = co_await probe(time_left(deadline));  // it may only have been slow
    if (!after_all || !*after_all) co_return begun;
    agree(newest_revision);
    co_return Done{};
  }

  // Goes on when those who wait for it have left: a program may need longer to start than a call has.
  struct Opening {
    std::optional<Result<Done, Failure>> outcome;
    std::exception_ptr fault;
    bool is_over() const { return outcome.has_value() || fault != nullptr; }
  };

  static asio::awaitable<void> open_into(std::shared_ptr<Parts> self, std::shared_ptr<Opening> begun,
                                         std::int64_t probe_ms) {
    Result<Done, Failure> outcome = co_await self->open(probe_ms);
    begun->outcome = std::move(outcome);
  }

  std::shared_ptr<Opening> begin_opening(Clock::time_point deadline) {
    const auto begun = std::make_shared<Opening>();
    opening = begun;
    auto running =
        open_into(shared_from_this(), begun, std::clamp<std::int64_t>(time_left(deadline) / 2, 1, probe_ms_max));
    asio::co_spawn(executor, std::move(running), [self = shared_from_this(), begun](std::exception_ptr fault) {
      begun->fault = std::move(fault);
      self->opening.reset();
    });
    return begun;
  }

  // One opens it, all wait for that.
  asio::awaitable<Result<Done, Failure>> opened(Clock::time_point deadline) {
    if (!opening && is_open()) co_return Done{};
    const std::shared_ptr<Opening> begun = opening ? opening : begin_opening(deadline);
    while (!begun->is_over()) {
      if (Clock::now() >= deadline)
        co_return failure("timeout", "Expected " + server_named(name) + " to begin in time, but it did not.", true);
      asio::steady_timer soon(executor, std::min(deadline, Clock::now() + std::chrono::milliseconds(20)));
      co_await soon.async_wait(asio::use_awaitable);
    }
    if (begun->fault) std::rethrow_exception(begun->fault);
    co_return *begun->outcome;
  }

  // --- asking -------------------------------------------------------------------------------------------------------

  Request in_its_revision(std::string method, Json params, Request how) {
    if (revision == newest_revision) return newest_request(std::move(method), std::move(params), std::move(how));
    how.id = ++last_id;
    how.method = std::move(method);
    how.params = std::move(params);
    how.headers.clear();
    return how;
  }

  asio::awaitable<Answer> ask(std::string method, Json params, Request how) {
    const std::shared_ptr<Parts> self = shared_from_this();
    executor = co_await asio::this_coro::executor;
    const auto deadline = Clock::now() + std::chrono::milliseconds(how.timeout_ms);
    for (int times = 0;; ++times) {
      const Result<Done, Failure> ready = co_await opened(deadline);
      if (!ready) co_return ready.error();
      how.timeout_ms = time_left(deadline);
      Request request = in_its_revision(method, params, how);
      if (how.on_progress) request.params["_meta"]["progressToken"] = request.id;
      request.may_reopen = times == 0;
      const int sent_in = openings;
      Answer answer = co_await send(std::move(request));
      const bool is_gone = !answer && answer.error().error == session_gone;
      if (!is_gone || times > 0) co_return answer;
      if (sent_in != openings) continue;  // another request has met this before
      is_agreed = false;
      if (http) http->forget_session();
    }
  }

  const McpEntry entry;
  const std::string name;
  Secrets& secrets;
  const std::function<void()> list_changed;
  asio::any_io_executor executor;
  std::unique_ptr<HttpChannel> http;
  std::unique_ptr<StdioChannel> stdio;
  std::optional<Clock::time_point> started_at;
  std::string revision;
  std::int64_t last_id = 0;
  bool is_agreed = false;
  int openings = 0;
  std::shared_ptr<Opening> opening;  // null: none is under way
};

Connection::Connection(McpEntry entry, Secrets& secrets, std::function<void()> list_changed)
    : parts_(std::make_shared<Parts>(std::move(entry), secrets, std::move(list_changed))) {}

Connection::~Connection() = default;

asio::awaitable<Answer> Connection::ask(std::string method, Json params, Request how) {
  return parts_->ask(std::move(method), std::move(params), std::move(how));
}

bool Connection::is_newest() const { return parts_->revision == newest_revision; }

asio::awaitable<void> Connection::finish() {
  const std::shared_ptr<Parts> parts = parts_;
  if (parts->stdio) parts->stdio->finish();
  if (parts->http) co_await parts->http->end_session();
}

bool Connection::runs() const { return parts_->stdio != nullptr && parts_->stdio->is_open(); }

void Connection::close() {
  parts_->stdio.reset();
  parts_->http.reset();
}

}  // namespace cairn::mcp
