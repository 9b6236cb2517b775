#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <iostream>
#include <thread>
#include <unistd.h>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/http/api.hpp"
#include "ops/http/bodies/fields.hpp"
#include "ops/http/transport/server.hpp"
#include "ops/service/memory_world.hpp"
#include "ops/terminal/print.hpp"
#include "workers/gateway/claim_id.hpp"

namespace cairn {
namespace {

constexpr std::int64_t skip_ms_max = std::int64_t{366} * 86'400'000;

struct TestServerOptions {
  ListenAddress listen{"127.0.0.1", 0};
  bool ends_with_stdin = false;
};

// A thread that ends the process with SIGTERM when stdin does: the process at its other end is gone.
void end_with_stdin() {
  std::thread([] {
    std::array<char, 256> ignored;
    while (::read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

ApiAnswer refused(const Error& error) { return error_response(error); }

// {"ms"}: the clock goes forward.
ApiAnswer skip(MemoryWorld& world, const ApiRequest& request) {
  Fields body(request, {"ms"});
  const std::int64_t ms = body.number_between("ms", 0, skip_ms_max, 0);
  if (const auto read = body.result(true); !read) return refused(read.error());
  world.skip(ms * 1'000);
  return json_response({{"now", time_text(world.opened().store->database_time())}});
}

// {"session"}: its worker is dead.
ApiAnswer crash(MemoryWorld& world, const ApiRequest& request) {
  Fields body(request, {"session"});
  const std::string text = body.needed_text("session");
  if (const auto read = body.result(true); !read) return refused(read.error());
  const Result<SessionId> session = parse_session_id(text);
  if (!session) return refused(session.error());
  if (!world.crash(*session))
    return error_response(404, "not_found", "Expected a session that is open, but there is no such one.");
  return json_response({{"crashed", text}});
}

// POST /api/v1/test/time and /api/v1/test/crash, which no other server has.
std::optional<Admission> admit_test(MemoryWorld& world, const ApiRequest& request) {
  static const std::vector<std::string> time = {"api", "v1", "test", "time"}, death = {"api", "v1", "test", "crash"};
  const bool is_time = request.segments == time;
  if (!is_time && request.segments != death) return {};
  if (request.method != "POST")
    return error_response(405, "invalid", "Expected the method POST, but found " + request.method + ".");
  return Admitted{Lane::work, [&world, is_time](const ApiRequest& whole) {
                    return is_time ? skip(world, whole) : crash(world, whole);
                  }};
}

Exit test_server(const Settings& settings, const TestServerOptions& options) {
  if (!is_loopback(options.listen.ip))
    return Error{Code::unsupported,
                 "Expected a loopback address for a test server, but found " + to_string(options.listen) + "."};
  Result<std::unique_ptr<MemoryWorld>> world = MemoryWorld::open(settings);
  if (!world) return world.error();
  const Result<std::unique_ptr<TokenBook>> tokens = TokenBook::open("", "");
  if (!tokens) return tokens.error();
  ServerLimits limits;
  Api api((*world)->opened(), **tokens, {.threads = limits.threads});
  Result<std::unique_ptr<HttpServer>> server = HttpServer::open(options.listen, limits, [&](const ApiRequest& request) {
    std::optional<Admission> of_test = admit_test(**world, request);
    return of_test ? *std::move(of_test) : api.admit(request);
  });
  if (!server) return server.error();
  (*world)->begin([&api] { return api.is_waited_for(); });
  const std::string address = to_string((*server)->address());
  if (settings.json)
    print_json({{"ready", true}, {"listen", address}});
  else
    print_line("A test server, in memory and with virtual time, listens on http://" + address + ".");
  std::cout.flush();
  if (options.ends_with_stdin) end_with_stdin();
  (*server)->run([] {});
  (*world)->end();
  return exit_ok;
}

}  // namespace

void add_test_server(CommandLine& line) {
  auto& options = line.keep<TestServerOptions>();
  CLI::App& command = add_command(line, "test-server",
                                  "The API and a worker in memory, for unit tests: time is virtual, nothing is kept",
                                  "cairn test-server --listen 127.0.0.1:8081",
                                  [&](const Settings& settings) { return test_server(settings, options); });
  add_listen(command, "Where (default 127.0.0.1 and a free port); a loopback address",
             [&](const ListenAddress& address) { options.listen = address; });
  command.add_flag("--until-stdin-ends", options.ends_with_stdin,
                   "End when stdin does, as with the program that started it");
  add_tools(line, command);
}

}  // namespace cairn
