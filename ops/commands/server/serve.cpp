#include <CLI/CLI.hpp>
#include <iostream>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/server/transport_options.hpp"
#include "ops/hooks/hook_thread.hpp"
#include "ops/http/access/guard.hpp"
#include "ops/http/api.hpp"
#include "ops/http/transport/server_thread.hpp"
#include "ops/keeping/keeper_thread.hpp"
#include "ops/keeping/spent_limits.hpp"
#include "ops/scheduling/due_schedules.hpp"
#include "ops/service/database.hpp"
#include "ops/service/due_starts.hpp"
#include "ops/service/replica_thread.hpp"
#include "ops/terminal/print.hpp"
#include "ops/traces/trace_thread.hpp"
#include "workers/ports/own_process.hpp"

namespace cairn {
namespace {

constexpr int probe_threads = 1;

struct ServeOptions {
  ListenAddress listen{"127.0.0.1", 8080};
  std::optional<ListenAddress> probes = {};
  Transport transport;
  TlsFiles tls;
  GraphLimits graphs;
  std::int64_t mcp_wait_ms = ApiOptions().mcp_wait_ms;
  std::string console_url = {};
  ServerLimits limits;
  TraceExportOptions traces;
};

// Nothing if none is wanted. Refuses as HttpServer::open.
Result<std::unique_ptr<ServerThread>> listen_for_probes(const ServeOptions& options, Api& api,
                                                        const std::function<void()>& give_up) {
  if (!options.probes) return std::unique_ptr<ServerThread>();
  ServerLimits limits = options.limits;
  limits.threads = probe_threads;
  Result<std::unique_ptr<HttpServer>> server =
      HttpServer::open(*options.probes, limits, [&api](const ApiRequest& request) { return api.admit_probe(request); });
  if (!server) return server.error();
  return std::make_unique<ServerThread>(*std::move(server), give_up);
}

// Nothing if none are wanted. Refuses as TraceThread::start.
Result<std::unique_ptr<TraceThread>> send_traces(const ServeOptions& options, Opened& opened) {
  if (options.traces.url.empty()) return std::unique_ptr<TraceThread>();
  Result<OtlpEndpoint> endpoint = otlp_endpoint(options.traces.url);
  if (!endpoint) return endpoint.error();
  return TraceThread::start(opened, *std::move(endpoint), {options.traces.with_contents});
}

void print_listening(const Settings& settings, const ServeOptions& options, const std::string& address,
                     const std::string& probes) {
  const std::string scheme = options.transport.is_tls ? "https://" : "http://";
  if (settings.json) {
    Json said = {{"ready", true}, {"listen", address}};
    if (!probes.empty()) said["probes"] = probes;
    print_json(said);
  } else {
    print_line("The API listens on " + scheme + address + ".");
    if (!probes.empty()) print_line("Probes are answered on http://" + probes + ".");
  }
  std::cout.flush();
}

Exit serve(const Settings& settings, const ServeOptions& options) {
  expect_address_space("the API");
  const std::string environment = token_of_environment();
  Result<Opened> opened = open_database(settings, ApiOptions().patience_ms);
  if (!opened) return opened.error();
  const Result<std::unique_ptr<TokenBook>> tokens = TokenBook::open(opened->dsn, environment);
  if (!tokens) return tokens.error();
  if (const Status may = check_listening(options.listen, options.transport, environment, (*tokens)->asks()); !may)
    return may.error();
  Api api(*opened, **tokens,
          {options.transport.is_tls, options.limits.threads + probe_threads, options.graphs, options.mcp_wait_ms,
           options.console_url});
  const Result<std::unique_ptr<ReplicaThread>> replica =
      ReplicaThread::start(settings, opened->store->identity(), ApiOptions().patience_ms,
                           [&api](Opened found) { api.read_from(std::move(found)); });
  if (!replica) return replica.error();
  Result<std::unique_ptr<HttpServer>> server = HttpServer::open(
      options.listen, options.limits, [&api](const ApiRequest& request) { return api.admit(request); }, options.tls);
  if (!server) return server.error();
  const Result<std::unique_ptr<KeeperThread>> keeper = KeeperThread::start(settings, *opened);
  if (!keeper) return keeper.error();
  const std::unique_ptr<DueThread> due = DueThread::start(*opened, {due_schedules, due_starts, spent_limits});
  const std::unique_ptr<HookThread> hooks = HookThread::start(*opened);
  const Result<std::unique_ptr<TraceThread>> traces = send_traces(options, *opened);
  if (!traces) return traces.error();
  const auto give_up = [&api] { api.give_up(); };
  const Result<std::unique_ptr<ServerThread>> probes = listen_for_probes(options, api, give_up);
  if (!probes) return probes.error();
  print_listening(settings, options, to_string((*server)->address()), *probes ? (*probes)->address() : "");
  (*server)->run(give_up);
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
  CLI::App& command = add_command(
      line, "serve",
      "Answer the commands over HTTP until SIGINT or SIGTERM; /api/v1/runs and so on, and /mcp for agents",
      "cairn serve --listen 127.0.0.1:8080", [&](const Settings& settings) { return serve(settings, options); },
      [&] { return check_traces(options.traces); });
  ServerLimits& limits = options.limits;
  add_listen(command, "Where (default 127.0.0.1:8080; port 0: a free one); any but a loopback address needs a token",
             [&](const ListenAddress& address) { options.listen = address; });
  add_text(command, "--probe-listen", "ADDRESS",
           "Also answer /healthz, /readyz, /metrics and ages of queues there, without a token, whatever happens to the "
           "others",
           [&](const std::string& text) { return assign(options.probes, listen_argument(text)); });
  add_transport(command, options.transport, options.tls);
  command.add_option("--body-bytes", limits.body_bytes, "The longest body of a request")
      ->check(CLI::Range(1, 16'777'216))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--connections", limits.connections,
                  "Connections at once; a newcomer takes the place of the one that waits longest for a request")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option_function<int>(
          "--peer-connections",
          [&limits](int count) {
            limits.peer_connections = count;
            limits.peers_of_here = true;
          },
          "Connections at once of one address (default 64; this machine's are then not counted)")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N");
  command.add_option("--unsent-bytes", limits.unsent_bytes, "Bytes of larger answers that clients have not taken yet")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->type_name("N")
      ->capture_default_str();
  const auto add_graph_limit = [&command](const std::string& name, std::int64_t& limit, const std::string& says) {
    command.add_option(name, limit, says)->check(CLI::Range(1, 1'000'000'000))->type_name("N")->capture_default_str();
  };
  add_graph_limit("--graph-steps", options.graphs.steps, "limits.steps of graphs that are no admin's, at most");
  add_graph_limit("--graph-attempts", options.graphs.attempts, "retry.attempts of graphs that are no admin's, at most");
  add_seconds(command, "--request-seconds", "How long a request may take to arrive (default 10)", limits.request);
  add_seconds(command, "--idle-seconds", "How long a connection may wait for its next request (default 60)",
              limits.idle);
  add_seconds(command, "--write-seconds", "How long a client may take no more of an answer (default 30)", limits.write);
  add_mcp_wait(command, options.mcp_wait_ms);
  add_console_url(command, options.console_url);
  add_traces(command, "Send the trace of each run that ends to this collector", options.traces);
  add_tools(line, command);
}

}  // namespace cairn
