#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/server/transport_options.hpp"
#include "ops/http/access/guard.hpp"
#include "ops/http/transport/server.hpp"
#include "ops/service/database.hpp"
#include "ops/service/kept_folders.hpp"
#include "ops/service/log_folder.hpp"
#include "ops/service/watched_server.hpp"
#include "ops/terminal/child_process.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "storage/postgres/dsn.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds poll_pause{100};
constexpr std::chrono::seconds restart_pause{1};
constexpr std::chrono::seconds refused_pause{10};

struct UpOptions {
  int workers = 2;
  std::optional<ListenAddress> listen = {};   // with a process that serves the API there
  std::optional<ListenAddress> metrics = {};  // of the first worker; the others take the next that are free
  Transport transport = {};                   // of that
  TlsFiles tls = {};
};

// A child process that is kept alive: when it has ended, it is started again after a pause. One that is refused when it
// is started again may be refused for what others do, as a worker of theirs that answers from other data: it is tried
// until it may start, and the other processes go on.
class Supervised {
 public:
  // `name` opens the sentence about its end.
  Supervised(std::string name, ChildCommand command)
      : name_(std::move(name)), command_(std::move(command)), process_(command_) {}
  Supervised(std::string name, ChildCommand command, ChildProcess running)
      : name_(std::move(name)), command_(std::move(command)), process_(std::move(running)) {}

  // It was refused at its first start, has said why, and would be again.
  bool is_refused_at_first() { return !is_again_ && is_refused(); }
  void restart_if_ended() {
    if (!process_.has_ended()) return;
    if (is_again_ && is_refused()) return start_later();
    std::cerr << "cairn: " << name_ << " " << process_.pid() << " has ended; another takes its place.\n";
    std::this_thread::sleep_for(restart_pause);
    start();
  }
  // REQUIRES: it has ended.
  void start() {
    is_again_ = true;
    next_try_.reset();
    process_ = ChildProcess(command_);
  }
  void terminate() { process_.terminate(); }
  bool has_ended() { return process_.has_ended(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_refused() {
    if (!process_.has_ended()) return false;
    const int status = process_.wait();
    return WIFEXITED(status) && WEXITSTATUS(status) == exit_refused;
  }
  void start_later() {
    if (next_try_ && Clock::now() >= *next_try_) return start();
    if (next_try_) return;
    next_try_ = Clock::now() + refused_pause;
    std::cerr << "cairn: " << name_ << " " << process_.pid() << " is refused, as it has said; it is tried again in "
              << refused_pause.count() << " s.\n";
  }

  std::string name_;
  ChildCommand command_;
  ChildProcess process_;
  bool is_again_ = false;                      // not its first start
  std::optional<Clock::time_point> next_try_;  // while it is refused
};

// An address for each of so many workers: they keep them when they are started again. All are listened on until the
// last is found, so that no two are the same. Refuses `unavailable`: there are none.
Result<std::vector<std::string>> metrics_addresses(ListenAddress next, int workers) {
  constexpr int taken_max = 100;
  std::optional<Error> first;  // names the address that was asked for
  ServerLimits limits;
  limits.hears_signals = false;
  std::vector<std::unique_ptr<HttpServer>> found;
  for (int taken = 0; std::cmp_less(found.size(), workers);) {
    Result<std::unique_ptr<HttpServer>> tried =
        HttpServer::open(next, limits, [](const ApiRequest&) { return Admitted(); });
    if (!tried && !first) first = tried.error();
    if (!tried && (++taken == taken_max || next.port == 0)) return *first;
    if (tried) found.push_back(*std::move(tried));
    if (next.port != 0 && ++next.port == 0)
      return Error{Code::unavailable, "Expected a free port for the metrics of each worker, but there are too few."};
  }
  std::vector<std::string> addresses;
  for (const std::unique_ptr<HttpServer>& one : found) addresses.push_back(to_string(one->address()));
  return addresses;
}

// The command line of a child that does `command` on the same database.
ChildCommand child_command(const std::string& command, const Settings& settings, const DatabaseChoice& choice,
                           const std::string& dsn) {
  ChildCommand child{{command}};
  if (!settings.dsn.empty() || !settings.data.empty())
    child.arguments.insert(child.arguments.end(), {"--dsn", dsn});
  else if (choice.is_embedded())
    child.environment["CAIRN_DSN"] = dsn;  // with the option, it would pass over CAIRN_READ_DSN
  if (!settings.tools.empty()) child.arguments.insert(child.arguments.end(), {"--tools", settings.tools});
  if (settings.json || command == "serve") child.arguments.push_back("--json");
  return child;
}

struct ApiProcess {
  std::string address;  // where it listens
  Supervised process;
};

// Starts the API; its ready line gives the address, at which it is also started again. Refuses `unavailable`: it cannot
// listen there; it has printed why itself.
Result<ApiProcess> start_api(const ChildCommand& command, const ListenAddress& listen) {
  ChildCommand first = command;
  first.piped = true;
  first.arguments.insert(first.arguments.end(), {"--listen", to_string(listen)});
  ChildProcess process(first);
  const std::optional<std::string> ready = process.read_line();
  if (!ready)
    return Error{Code::unavailable, "Expected the API to listen on " + to_string(listen) + ", but it does not."};
  std::string address = Json::parse(*ready).at("listen");
  ChildCommand again = first;
  again.arguments.back() = address;
  return ApiProcess{address, Supervised("The API's process", std::move(again), std::move(process))};
}

// The addresses that are listened on.
struct Places {
  std::string api;  // "": nowhere
  std::string scheme;
  std::vector<std::string> metrics;  // of the workers
};

void print_up(const Settings& settings, const DatabaseChoice& choice, const std::string& dsn, int workers,
              const Places& places) {
  if (settings.json) {
    Json said = {{"up", true}, {"dsn", public_dsn(dsn)}, {"data", choice.directory}, {"workers", workers}};
    if (!places.api.empty()) said["listen"] = places.api;
    if (!places.metrics.empty()) said["metrics"] = places.metrics;
    print_json(said);
  } else {
    if (choice.is_embedded()) print_line("PostgreSQL  in " + choice.directory);
    print_line("Database    " + (dsn.empty() ? "as libpq's variables say" : public_dsn(dsn)));
    print_line("Workers     " + std::to_string(workers) + (workers == 1 ? " process" : " processes"));
    for (const std::string& one : places.metrics) print_line("Metrics     http://" + one + "/metrics");
    if (!places.api.empty()) {
      print_line("API         " + places.scheme + "://" + places.api + "/api/v1/");
      print_line("Console     " + places.scheme + "://" + places.api + "/");
    }
    print_line("Ctrl-C drains the workers" +
               std::string(choice.is_embedded() ? "; `cairn down` stops PostgreSQL." : "."));
  }
  std::cout.flush();
}

// The address may be listened on. Refuses as check_listening, so that nothing is started.
Status check_address(const UpOptions& options, const std::string& dsn) {
  if (!options.listen) return Done{};
  const std::string environment = token_of_environment();
  const Result<std::vector<TokenRow>> rows = Tokens(dsn).list();
  if (!rows) return rows.error();
  return check_listening(*options.listen, options.transport, environment, !rows->empty());
}

// A second signal is passed on, so that they hurry.
void end(const std::vector<Supervised*>& processes, const StopSignals& signals) {
  for (Supervised* process : processes) process->terminate();
  const auto has_ended = [](Supervised* process) { return process->has_ended(); };
  for (bool is_hurried = false; !std::all_of(processes.begin(), processes.end(), has_ended);) {
    std::this_thread::sleep_for(poll_pause);
    if (is_hurried || !signals.arrived_again()) continue;
    is_hurried = true;
    for (Supervised* process : processes) process->terminate();
  }
}

void drain(std::vector<Supervised>& workers, std::optional<ApiProcess>& api, const StopSignals& signals) {
  if (api) end({&api->process}, signals);
  std::vector<Supervised*> all;
  for (Supervised& worker : workers) all.push_back(&worker);
  end(all, signals);
}

// All of them again on a server that was started from its new programs, unless they are to end.
void renew(WatchedServer& server, std::vector<Supervised>& workers, std::optional<ApiProcess>& api,
           const StopSignals& signals) {
  drain(workers, api, signals);
  server.renew();
  if (signals.arrived()) return;
  for (Supervised& worker : workers) worker.start();
  if (api) api->process.start();
}

Status supervise(std::vector<Supervised>& workers, std::optional<ApiProcess>& api, std::optional<WatchedServer>& server,
                 const StopSignals& signals) {
  while (!signals.arrived()) {
    std::this_thread::sleep_for(poll_pause);
    if (signals.arrived()) break;
    if (server)
      if (const Status there = server->check(); !there) return there;
    if (server && server->is_to_be_renewed()) renew(*server, workers, api, signals);
    if (signals.arrived()) break;
    for (Supervised& worker : workers) {
      if (worker.is_refused_at_first())
        return Error{Code::conflict, "Expected worker processes that may start, but one is refused, as it has said."};
      worker.restart_if_ended();
    }
    if (api) api->process.restart_if_ended();
  }
  return Done{};
}

// Said before a process writes there: what was done goes on, and is not signed, kept or logged.
void warn_of_folders(const DatabaseChoice& choice, const CheckpointOptions& checkpoints) {
  std::vector<FolderFacts> folders = kept_folders(choice, checkpoints);
  folders.push_back(try_folder("logs", log_folder(choice)));
  for (const FolderFacts& folder : folders)
    if (!folder.written) std::cerr << "cairn: " << readable_line(sentence_of(folder), 2'000) << "\n";
}

Exit up(const Settings& settings, const UpOptions& options) {
  const StopSignals signals;
  const Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  if (const Status& secrets = (*catalogue)->secrets; !secrets) return secrets.error();
  const DatabaseChoice choice = choose_database(settings);
  const Result<std::string> dsn = reach_database(choice);
  if (!dsn) return dsn.error();
  std::optional<WatchedServer> server;  // knows the data before it says that it is up
  if (choice.is_embedded()) server.emplace(choice.directory);
  if (const Result<std::unique_ptr<Store>> store = open_store(*dsn); !store) return store.error();
  if (const Status may = check_address(options, *dsn); !may) return may.error();
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choice);
  if (!checkpoints) return checkpoints.error();
  Places places{"", options.transport.is_tls ? "https" : "http", {}};
  if (options.metrics) {
    Result<std::vector<std::string>> found = metrics_addresses(*options.metrics, options.workers);
    if (!found) return found.error();
    places.metrics = *std::move(found);
  }
  warn_of_folders(choice, *checkpoints);
  const auto child = [&](const std::string& command, const std::string& name) {
    ChildCommand made = child_command(command, settings, choice, *dsn);
    made.environment["CAIRN_CHECKPOINTS"] = checkpoints->folder;  // a child knows the DSN but not the directory
    made.environment["CAIRN_LOG_FILE"] = log_file_of(log_folder(choice), name);
    return made;
  };
  std::optional<ApiProcess> api;
  if (options.listen) {
    ChildCommand serve = child("serve", "serve");
    const std::vector<std::string> more = transport_arguments(options.transport, options.tls);
    serve.arguments.insert(serve.arguments.end(), more.begin(), more.end());
    Result<ApiProcess> started = start_api(serve, *options.listen);
    if (!started) return started.error();
    api = *std::move(started);
    places.api = api->address;
  }
  print_up(settings, choice, *dsn, options.workers, places);
  std::vector<Supervised> workers;
  for (int i = 0; i < options.workers; ++i) {
    ChildCommand work = child("work", "worker-" + std::to_string(i + 1));
    if (options.metrics) work.arguments.insert(work.arguments.end(), {"--metrics", places.metrics[std::size_t(i)]});
    workers.emplace_back("Worker process", std::move(work));
  }
  const Status ended = supervise(workers, api, server, signals);
  drain(workers, api, signals);
  return ended ? Exit(exit_ok) : Exit(ended.error());
}

}  // namespace

void add_up(CommandLine& line) {
  auto& options = line.keep<UpOptions>();
  CLI::App& command = add_command(
      line, "up", "Start the embedded PostgreSQL and worker processes; runs until SIGINT or SIGTERM, then drains them",
      "cairn up --workers 2 --listen 127.0.0.1:8080", [&](const Settings& settings) { return up(settings, options); });
  command.add_option("--workers", options.workers, "Worker processes")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->capture_default_str();
  add_listen(command, "Also answer the commands over HTTP there, as `cairn serve` does",
             [&](const ListenAddress& address) { options.listen = address; });
  add_text(
      command, "--metrics", "ADDRESS",
      "Answer /metrics (for Prometheus) and /healthz of the workers there, without a token: of the first at this port, "
      "of the others at the next that are free; port 0: all at free ones",
      [&](const std::string& text) { return assign(options.metrics, listen_argument(text)); });
  add_transport(command, options.transport, options.tls);
  add_tools(line, command);
}

}  // namespace cairn
