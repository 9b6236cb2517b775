#include <CLI/CLI.hpp>
#include <iostream>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/http/api.hpp"
#include "ops/http/server.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct ServeOptions {
  ListenAddress listen{"127.0.0.1", 8080};
  ServerLimits limits;
};

void print_listening(const Settings& settings, const std::string& address) {
  if (settings.json)
    print_json({{"ready", true}, {"listen", address}});
  else
    print_line("The API listens on http://" + address + ".");
  std::cout.flush();
}

Exit serve(const Settings& settings, const ServeOptions& options) {
  Result<Guard> guard = guard_from_environment(options.listen);
  if (!guard) return guard.error();
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Api api(*opened, *std::move(guard), options.limits.threads);
  Result<std::unique_ptr<HttpServer>> server = HttpServer::open(
      options.listen, options.limits, [&api](const ApiRequest& request) { return api.admit(request); });
  if (!server) return server.error();
  print_listening(settings, to_string((*server)->address()));
  (*server)->run([&opened] { opened->store->give_up(); });
  return exit_ok;
}

void add_seconds(CLI::App& command, const std::string& name, const std::string& says, std::chrono::seconds& value) {
  command
      .add_option_function<int>(
          name, [&value](int seconds) { value = std::chrono::seconds(seconds); }, says)
      ->check(CLI::Range(1, 3'600))
      ->type_name("N");
}

}  // namespace

void add_serve(CommandLine& line) {
  auto& options = line.keep<ServeOptions>();
  CLI::App& command =
      add_command(line, "serve", "Answer the commands over HTTP until SIGINT or SIGTERM; /api/v1/runs and so on",
                  [&](const Settings& settings) { return serve(settings, options); });
  ServerLimits& limits = options.limits;
  add_listen(command,
             "Where (default 127.0.0.1:8080; port 0: a free one); any but a loopback address needs CAIRN_TOKEN",
             [&](const ListenAddress& address) { options.listen = address; });
  command.add_option("--body-bytes", limits.body_bytes, "The longest body of a request")
      ->check(CLI::Range(1, 16'777'216))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--connections", limits.connections, "Connections at once; others wait until one ends")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  add_seconds(command, "--request-seconds", "How long a request may take to arrive (default 10)", limits.request);
  add_seconds(command, "--idle-seconds", "How long a connection may wait for its next request (default 60)",
              limits.idle);
  add_seconds(command, "--write-seconds", "How long a client may take no more of an answer (default 30)", limits.write);
  add_tools(line, command);
}

}  // namespace cairn
