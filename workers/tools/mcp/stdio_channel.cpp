#include "workers/tools/mcp/stdio_channel.hpp"

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <deque>
#include <fcntl.h>
#include <map>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/ports/tool_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn::mcp {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t line_bytes_max = json_bytes_max;
constexpr std::size_t unread_bytes_max = 2 * json_bytes_max;  // that the program has not read yet
constexpr std::size_t last_words_bytes = 4u << 10;
constexpr std::size_t shown_bytes = 200;

struct PipeEnds {
  PipeEnds() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "making a pipe");
    from = ends[0];
    to = ends[1];
  }
  PipeEnds(const PipeEnds&) = delete;
  PipeEnds& operator=(const PipeEnds&) = delete;
  ~PipeEnds() {
    if (from >= 0) ::close(from);
    if (to >= 0) ::close(to);
  }
  int from = -1;
  int to = -1;
};

struct WaitingRequest {
  explicit WaitingRequest(const asio::any_io_executor& executor) : ended(executor) {}
  asio::steady_timer ended;
  std::optional<Answer> answer;
  std::function<void(const Json&)> on_progress;
};

}  // namespace

struct StdioChannel::Parts : std::enable_shared_from_this<StdioChannel::Parts> {
  Parts(const asio::any_io_executor& of, Named server, Listener hears)
      : executor(of),
        name(std::move(server.name)),
        secrets(server.secrets),
        listener(std::move(hears)),
        to(of),
        from(of),
        err(of) {}

  void start(const ToolSpec::Exec& program) {
    PipeEnds in;
    PipeEnds out;
    PipeEnds said;
    process.emplace(program.argv, std::array<int, 3>{in.from, out.to, said.to}, program.limits, program.setting);
    to.assign(std::exchange(in.to, -1));
    from.assign(std::exchange(out.from, -1));
    err.assign(std::exchange(said.from, -1));
    to.non_blocking(true);
    read_lines();
    read_last_words();
  }

  // --- reading ------------------------------------------------------------------------------------------------------

  void read_lines() {
    from.async_read_some(asio::buffer(chunk), [self = shared_from_this()](const error_code& error, std::size_t bytes) {
      if (error && self->end_says) return;  // late, and all that it is about may be gone
      if (error) return self->close("it has ended" + self->last_words());
      self->take(std::string_view(self->chunk.data(), bytes));
      if (self->from.is_open()) self->read_lines();
    });
  }

  void read_last_words() {
    err.async_read_some(asio::buffer(err_chunk), [self = shared_from_this()](const error_code& error, std::size_t n) {
      if (error) return;
      self->err_lines.add(std::string_view(self->err_chunk.data(), n));
      if (self->err.is_open()) self->read_last_words();
    });
  }

  void take(std::string_view more) {
    while (!more.empty() && from.is_open()) {
      const std::size_t end = more.find('\n');
      line.append(more.substr(0, end));
      more.remove_prefix(end == std::string_view::npos ? more.size() : end + 1);
      if (line.size() > line_bytes_max)
        return fail_all("bad_output",
                        "Expected lines of at most " + std::to_string(line_bytes_max) + " bytes from " +
                            server_named(name) + ", but it wrote a longer one.",
                        false);
      if (end != std::string_view::npos) take_line(std::exchange(line, {}));
    }
  }

  void take_line(const std::string& text) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) return;
    const Result<Message> message = parse_message(text);
    if (!message) {
      stray = secrets.redacted_line(text, shown_bytes);
      return;
    }
    if (message->kind == Message::Kind::request) return respond(*message);
    if (message->kind == Message::Kind::notification) return take_notification(*message);
    const auto found = message->id.is_number_integer() ? waiting.find(message->id.get<std::int64_t>()) : waiting.end();
    if (found == waiting.end()) {
      stray = secrets.redacted_line(text, shown_bytes);
      return;
    }
    end(*found->second, Reply{message->result, message->error});
  }

  void take_notification(const Message& message) {
    if (message.method != "notifications/progress") return listener.notice(message);
    const Json token = message.params.value("progressToken", Json());
    const auto found = token.is_number_integer() ? waiting.find(token.get<std::int64_t>()) : waiting.end();
    if (found != waiting.end() && found->second->on_progress) found->second->on_progress(message.params);
  }

  static void end(WaitingRequest& request, Answer answer) {
    if (!request.answer) request.answer = std::move(answer);
    request.ended.cancel();
  }

  // --- writing ------------------------------------------------------------------------------------------------------

  std::string says_deaf() const { return "Expected " + server_named(name) + " to read what it gets, but it does not."; }

  // One that asks and never reads the answers is ended: they would fill this process.
  void respond(const Message& request) {
    if (unread > unread_bytes_max) return fail_all("unreachable", says_deaf(), true);
    say(listener.respond(request));
  }

  void say(const Json& message) {
    if (!to.is_open()) return;
    std::string text = canonical(message);
    unread += text.size() + 1;
    texts.push_back(std::move(text) + "\n");
    if (texts.size() == 1) write_next();
  }

  void write_next() {
    asio::async_write(to, asio::buffer(texts.front()),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->unread -= self->texts.front().size();
                        self->texts.pop_front();
                        if (error) return;  // the end of its stdout says what became of it
                        if (!self->texts.empty()) return self->write_next();
                        if (self->is_finished) self->close_one(self->to);
                      });
  }

  // --- the end ------------------------------------------------------------------------------------------------------

  std::string last_words() const {
    const std::string words = secrets.redacted_line(last_line(err_lines.text()), shown_bytes);
    if (!words.empty()) return ": " + words;
    return stray.empty() ? "." : "; it wrote: " + stray;
  }

  void close(const std::string& why) {
    fail_all("unreachable", "Expected " + server_named(name) + " to answer, but " + why, true);
  }

  void fail_all(const std::string& error, const std::string& says, bool retryable) {
    if (!end_says) end_says = failure(error, says, retryable);
    for (auto* stream : {&to, &from, &err}) close_one(*stream);
    process.reset();
    for (auto& [id, request] : waiting) end(*request, *end_says);
  }

  template <class Stream>
  static void close_one(Stream& stream) {
    error_code ignored;  // closing the end of a pipe loses nothing
    if (stream.is_open()) stream.close(ignored);
  }

  const asio::any_io_executor executor;
  const std::string name;
  const Secrets& secrets;
  const Listener listener;
  std::optional<LastingProcess> process;
  asio::posix::stream_descriptor to;
  asio::posix::stream_descriptor from;
  asio::posix::stream_descriptor err;
  std::array<char, 64u << 10> chunk{};
  std::array<char, 4u << 10> err_chunk{};
  std::string line;
  LastLines err_lines{last_words_bytes};
  std::string stray;  // the beginning of the last line that was no message for anyone here
  std::deque<std::string> texts;
  std::size_t unread = 0;
  bool is_finished = false;
  std::map<std::int64_t, WaitingRequest*> waiting;
  std::optional<Failure> end_says;
};

namespace {

// Takes the request out of the table, however its wait ends; the server need not go on with one that was left.
class WaitAtStdio {
 public:
  WaitAtStdio(std::shared_ptr<StdioChannel::Parts> parts, WaitingRequest& request, std::int64_t id)
      : parts_(std::move(parts)), request_(request), id_(id) {
    parts_->waiting.emplace(id_, &request_);
  }
  WaitAtStdio(const WaitAtStdio&) = delete;
  WaitAtStdio& operator=(const WaitAtStdio&) = delete;
  ~WaitAtStdio() {
    parts_->waiting.erase(id_);
    if (request_.answer) return;
    const Json reason = {{"requestId", id_}, {"reason", "The caller no longer waits."}};
    parts_->say(notification_json("notifications/cancelled", reason));
  }

 private:
  const std::shared_ptr<StdioChannel::Parts> parts_;
  WaitingRequest& request_;
  const std::int64_t id_;
};

}  // namespace

StdioChannel::StdioChannel(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

StdioChannel::~StdioChannel() { parts_->close("it was ended."); }

asio::awaitable<std::unique_ptr<StdioChannel>> StdioChannel::start(Named server, ToolSpec::Exec program,
                                                                   Listener listener) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto parts = std::make_shared<Parts>(executor, std::move(server), std::move(listener));
  parts->start(program);
  co_return std::make_unique<StdioChannel>(parts);
}

asio::awaitable<Answer> StdioChannel::ask(Request request) {
  const std::shared_ptr<Parts> parts = parts_;
  if (parts->end_says) co_return *parts->end_says;
  if (parts->unread > unread_bytes_max) co_return failure("unreachable", parts->says_deaf(), true);
  WaitingRequest waiting(parts->executor);
  waiting.on_progress = request.on_progress;
  waiting.ended.expires_after(std::chrono::milliseconds(request.timeout_ms));
  const WaitAtStdio wait(parts, waiting, request.id);
  parts->say(request_json(request));
  error_code cancelled;
  if (!waiting.answer) co_await waiting.ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (waiting.answer) co_return *waiting.answer;
  const std::string wrote = parts->stray.empty() ? "" : "; it wrote: " + parts->stray;
  co_return failure("timeout",
                    "Expected " + server_named(parts->name) + " to answer " + request.method + " within " +
                        std::to_string(request.timeout_ms) + " ms, but it did not" + (wrote.empty() ? "." : wrote),
                    true);
}

void StdioChannel::say(const Json& notification) { parts_->say(notification); }

bool StdioChannel::is_open() const { return !parts_->end_says; }

void StdioChannel::finish() {
  parts_->is_finished = true;
  if (parts_->texts.empty()) Parts::close_one(parts_->to);
}

}  // namespace cairn::mcp
