#include <CLI/CLI.hpp>
#include <iostream>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/server/transport_options.hpp"
#include "ops/http/api.hpp"
#include "ops/mcp/server.hpp"
#include "ops/requests/access.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/stop_signals.hpp"

namespace cairn {
namespace {

constexpr std::size_t read_bytes = 65'536;
constexpr std::size_t line_bytes_max = 1'048'576;  // as the API's body
constexpr int poll_ms = 50;                        // of the runs that calls wait for
constexpr int idle_ms = 500;                       // at stop signals
constexpr std::size_t calls_max = 64;

struct McpOptions {
  std::vector<std::string> roles;
  std::vector<std::string> scopes;
  std::int64_t wait_ms = ApiOptions().mcp_wait_ms;
  std::string console_url = {};
};

// The lines of stdin, as far as they have come.
class InputLines {
 public:
  // Waits for at most so long. False: there will be no more, and what has come is the last line.
  bool read(int wait_ms) {
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) <= 0) return true;
    char bytes[read_bytes];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got > 0) text_.append(bytes, static_cast<std::size_t>(got));
    const bool goes_on = got > 0 || (got < 0 && errno == EINTR);
    if (!goes_on) text_ += '\n';
    return goes_on;
  }

  struct Line {
    std::string text;
    bool is_too_long = false;  // the text is left out
  };
  // The next line; nothing: it has not come.
  std::optional<Line> take() {
    const std::size_t end = text_.find('\n');
    if (end == std::string::npos) {
      if (text_.size() > line_bytes_max) is_too_long_ = true;
      if (is_too_long_) text_.clear();
      return std::nullopt;
    }
    Line line{text_.substr(0, end), std::exchange(is_too_long_, false) || end > line_bytes_max};
    text_.erase(0, end + 1);
    if (line.is_too_long) line.text.clear();
    return line;
  }

 private:
  std::string text_;
  bool is_too_long_ = false;
};

// One client on stdin and stdout.
class StdioDoor {
 public:
  explicit StdioDoor(McpHostRef host) : host_(std::move(host)) {}

  // Until stdin is closed. Runs go on.
  void serve(const StopSignals& signals) {
    for (bool goes_on = true; goes_on && !signals.arrived() && std::cout;) {
      goes_on = lines_.read(calls_.empty() ? idle_ms : poll_ms);
      while (const std::optional<InputLines::Line> line = lines_.take()) hear(*line);
      check_calls();
      std::cout.flush();
    }
  }

 private:
  static void say(const Json& message) { std::cout << canonical(message) << '\n'; }

  void hear(const InputLines::Line& line) {
    if (line.is_too_long)
      return say(error_message(
          nullptr, {rpc::invalid_request,
                    "Expected a message of at most " + std::to_string(line_bytes_max) + " bytes, but it has more."}));
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
    McpReply reply = answer(line.text);
    if (!reply.session.empty()) session_ = reply.session;
    if (reply.message) say(*reply.message);
    if (reply.declined) decline(*reply.declined);
    if (!reply.cancelled.is_null()) cancel(reply.cancelled);
    if (reply.call) begin(std::move(reply.call));
  }

  // A database that is away fails the request: the client would not start another process.
  McpReply answer(const std::string& text) const {
    try {
      return answer_message(host_, text, {}, session_);
    } catch (const StoreUnavailable& failure) {
      spdlog::warn("A message of the client is not answered: {}", failure.what());
      return not_answered(text, "Expected the database to answer, but it does not; try again.");
    } catch (const std::exception& failure) {
      spdlog::error("A message of the client broke: {}", failure.what());
      return not_answered(text, "Expected an answer, but the request broke; the log of cairn mcp says why.");
    }
  }

  static McpReply not_answered(const std::string& text, const std::string& says) {
    McpReply reply;
    const Result<RpcMessage, RpcRefusal> message = parse_message(text);
    if (message && message->kind == RpcMessage::Kind::request)
      reply.message = error_message(message->id, {rpc::internal_error, says});
    return reply;
  }

  void begin(std::unique_ptr<RunCall> call) {
    if (calls_.size() < calls_max) return calls_.push_back(std::move(call));
    say(error_message(call->id(), {rpc::internal_error, "Expected at most " + std::to_string(calls_max) +
                                                            " calls at once, but there are so many; run " +
                                                            to_string(call->run()) + " goes on."}));
  }

  void cancel(const Json& id) {
    for (std::unique_ptr<RunCall>& call : calls_)
      if (call->id() == id) call->cancel();
    std::erase_if(calls_, [&id](const auto& call) { return call->id() == id; });
  }

  void decline(const RunId& run) {
    for (std::unique_ptr<RunCall>& call : calls_)
      if (call->run() == run) call->decline();
  }

  void check_calls() {
    std::erase_if(calls_, [](const std::unique_ptr<RunCall>& call) {
      const RunCall::Piece piece = call->next();
      for (const Json& message : piece.messages) say(message);
      return piece.is_last;
    });
  }

  McpHostRef host_;
  InputLines lines_;
  std::string session_;
  std::vector<std::unique_ptr<RunCall>> calls_;
};

// Without a role: all rights, as the command line has them.
Result<Access> access_here(const McpOptions& options) {
  const std::vector<std::string> all = {std::string(to_string(ApiRole::admin))};
  return access_of(options.roles.empty() ? all : options.roles, options.scopes, {});
}

Exit speak(const Settings& settings, const McpOptions& options) {
  Result<Access> access = access_here(options);
  if (!access) return access.error();
  Result<Opened> opened = open_database(settings, ApiOptions().patience_ms);
  if (!opened) return opened.error();
  const Result<std::unique_ptr<TokenBook>> tokens = TokenBook::open(opened->dsn, "");
  if (!tokens) return tokens.error();
  ApiOptions api_options;
  api_options.mcp_wait_ms = options.wait_ms;
  api_options.console_url = options.console_url;
  Api api(*opened, **tokens, api_options);
  const CallerRef caller = std::make_shared<Caller>(Caller{current_actor(), "", *std::move(access)});
  const StopSignals signals;
  StdioDoor(api.mcp_host(caller)).serve(signals);
  return exit_ok;
}

}  // namespace

void add_mcp(CommandLine& line) {
  auto& options = line.keep<McpOptions>();
  CLI::App& command = add_command(
      line, "mcp", "Offer graphs and runs to an agent as tools (Model Context Protocol) on stdin and stdout",
      "cairn mcp --role read --role run --role answer",
      [&](const Settings& settings) { return speak(settings, options); },
      [&]() -> Status {
        const Result<Access> access = access_here(options);
        return access ? Status(Done{}) : access.error();
      });
  const auto add_texts = [&command](const std::string& name, const std::string& type, const std::string& says,
                                    std::vector<std::string>& texts) {
    command.add_option(name, texts, says)->allow_extra_args(false)->type_name(type);
  };
  add_texts("--role", "ROLE", "What the agent may: read, answer, run, operate or admin (repeatable); none: everything",
            options.roles);
  add_texts("--scope", "SCOPE", "graph=NAME, queue=NAME or tag=KEY=VALUE (repeatable); none: everything",
            options.scopes);
  add_mcp_wait(command, options.wait_ms);
  add_console_url(command, options.console_url);
  add_tools(line, command);
}

}  // namespace cairn
