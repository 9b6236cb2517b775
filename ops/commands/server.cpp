#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <thread>
#include <unistd.h>

#include "ops/answers/sessions.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/http/serve.hpp"
#include "ops/terminal/child_process.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "storage/postgres/cluster.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/schema.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds look_pause{100};
constexpr std::chrono::seconds restart_pause{1};

// Of a child that does `command` on the same database.
std::vector<std::string> child_arguments(const std::string& command, const Settings& settings,
                                         const DatabaseChoice& choice, const std::string& dsn) {
  std::vector<std::string> arguments = {command};
  if (choice.is_embedded() || !settings.dsn.empty()) arguments.insert(arguments.end(), {"--dsn", dsn});
  if (!settings.tools.empty()) arguments.insert(arguments.end(), {"--tools", settings.tools});
  if (settings.json || command == "serve") arguments.push_back("--json");
  return arguments;
}

// Keeps so many worker processes alive: one that dies is started again after a pause.
class WorkerProcesses {
 public:
  WorkerProcesses(std::vector<std::string> arguments, int count) : arguments_(std::move(arguments)) {
    for (int i = 0; i < count; ++i) processes_.emplace_back(arguments_, false);
  }
  void replace_the_dead() {
    for (ChildProcess& process : processes_) {
      if (!process.has_ended()) continue;
      std::cerr << "cairn: Worker process " << process.pid() << " has ended; another takes its place.\n";
      std::this_thread::sleep_for(restart_pause);
      process = ChildProcess(arguments_, false);
    }
  }
  void drain() {
    for (ChildProcess& process : processes_) process.terminate();
    for (ChildProcess& process : processes_) process.wait();
  }

 private:
  std::vector<std::string> arguments_;
  std::vector<ChildProcess> processes_;
};

// The process of the API, started again like a worker; the first says by its ready line where it listens.
class ApiProcess {
 public:
  // Refuses `unavailable`: it cannot listen there; it has said why itself.
  static Result<ApiProcess> start(std::vector<std::string> arguments, const ListenAddress& listen) {
    std::vector<std::string> first = arguments;
    first.insert(first.end(), {"--listen", to_string(listen)});
    ChildProcess process(first, true);
    const std::optional<std::string> ready = process.read_line();
    if (!ready)
      return Error{Code::unavailable, "Expected the API to listen on " + to_string(listen) + ", but it does not."};
    std::string address = Json::parse(*ready).at("listen");
    arguments.insert(arguments.end(), {"--listen", address});
    return ApiProcess(std::move(arguments), std::move(address), std::move(process));
  }
  const std::string& address() const { return address_; }
  void replace_the_dead() {
    if (!process_.has_ended()) return;
    std::cerr << "cairn: The API's process " << process_.pid() << " has ended; another takes its place.\n";
    std::this_thread::sleep_for(restart_pause);
    process_ = ChildProcess(arguments_, true);
  }
  void drain() {
    process_.terminate();
    process_.wait();
  }

 private:
  ApiProcess(std::vector<std::string> arguments, std::string address, ChildProcess process)
      : arguments_(std::move(arguments)), address_(std::move(address)), process_(std::move(process)) {}

  std::vector<std::string> arguments_;
  std::string address_;
  ChildProcess process_;
};

void print_up(const Settings& settings, const DatabaseChoice& choice, const std::string& dsn, int workers,
              const std::string& address) {
  if (settings.json) {
    Json said = {{"up", true}, {"dsn", public_dsn(dsn)}, {"data", choice.directory}, {"workers", workers}};
    if (!address.empty()) said["listen"] = address;
    print_json(said);
  } else {
    if (choice.is_embedded()) print_line("PostgreSQL  in " + choice.directory);
    print_line("Database    " + (dsn.empty() ? "as libpq's variables say" : public_dsn(dsn)));
    print_line("Workers     " + std::to_string(workers) + " processes");
    if (!address.empty()) print_line("API         http://" + address + "/api/v1/");
    print_line("Ctrl-C drains the workers" +
               std::string(choice.is_embedded() ? "; `cairn down` stops PostgreSQL." : "."));
  }
  std::cout.flush();
}

std::string joined(const std::vector<std::string>& words, const std::string& none) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? none : text;
}

void print_ready(const Settings& settings, const WorkOptions& options) {
  const std::int64_t pid = getpid();
  if (settings.json)
    print_json({{"ready", true}, {"pid", pid}, {"queues", options.queues}, {"concurrency", options.concurrency}});
  else
    print_line("Worker " + std::to_string(pid) + " is ready: " + joined(options.queues, "all queues") + ".");
  std::cout.flush();
}

void print_done(const Settings& settings, const WorkerReport& report) {
  const std::int64_t pid = getpid();
  if (settings.json)
    print_json({{"done", true},
                {"pid", pid},
                {"steps", report.steps},
                {"commits", report.commits},
                {"conflicts", report.conflicts},
                {"stale", report.stale},
                {"lost_swept", report.lost_swept}});
  else
    print_line("Worker " + std::to_string(pid) + " is done: " + std::to_string(report.steps) + " steps in " +
               std::to_string(report.commits) + " commits.");
}

}  // namespace

Exit up(const Settings& settings, const UpOptions& options) {
  const StopSignals signals;
  if (options.listen)
    if (const Result<Guard> guard = guard_of(*options.listen); !guard) return guard.error();
  if (const Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings); !catalogue)
    return catalogue.error();
  const DatabaseChoice choice = choose_database(settings);
  const Result<std::string> dsn = reach_database(choice);
  if (!dsn) return dsn.error();
  if (const Result<std::unique_ptr<Store>> store = open_store(*dsn); !store) return store.error();
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choice);
  if (!checkpoints) return checkpoints.error();
  setenv("CAIRN_CHECKPOINTS", checkpoints->folder.c_str(), 1);  // the children know a DSN and no directory
  std::optional<ApiProcess> api;
  if (options.listen) {
    Result<ApiProcess> started = ApiProcess::start(child_arguments("serve", settings, choice, *dsn), *options.listen);
    if (!started) return started.error();
    api = *std::move(started);
  }
  print_up(settings, choice, *dsn, options.workers, api ? api->address() : "");
  WorkerProcesses workers(child_arguments("work", settings, choice, *dsn), options.workers);
  while (!signals.came()) {
    std::this_thread::sleep_for(look_pause);
    if (signals.came()) break;
    workers.replace_the_dead();
    if (api) api->replace_the_dead();
  }
  if (api) api->drain();
  workers.drain();
  return 0;
}

Exit down(const Settings& settings) {
  const DatabaseChoice choice = choose_database(settings);
  if (!choice.is_embedded())
    return Error{Code::unsupported, "Expected an embedded PostgreSQL to stop, but the database is somebody else's."};
  if (const Status stopped = stop_cluster(choice.directory); !stopped) return stopped.error();
  if (settings.json)
    print_json({{"down", true}, {"data", choice.directory}});
  else
    print_line("Stopped the PostgreSQL in " + choice.directory + ".");
  return 0;
}

Exit migrate_schema(const Settings& settings, std::int32_t shards) {
  const DatabaseChoice choice = choose_database(settings);
  std::string dsn = choice.dsn;
  if (choice.is_embedded()) {
    const Result<Cluster> cluster = start_cluster(choice.directory);
    if (!cluster) return cluster.error();
    dsn = cluster->dsn;
  }
  const Result<MigrateReport> report = migrate(dsn, shards);
  if (!report) return report.error();
  const std::string reached = "version " + std::to_string(report->to) + ", shards " + std::to_string(report->shards);
  if (settings.json)
    print_json({{"from", report->from}, {"to", report->to}, {"shards", report->shards}});
  else if (report->from == report->to)
    print_line("The schema is at " + reached + " already.");
  else
    print_line("Migrated the schema from version " + std::to_string(report->from) + " to " + reached + ".");
  return 0;
}

Exit work(const Settings& settings, const WorkOptions& options) {
  StopSignals signals;
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  WorkerOptions worker_options;
  worker_options.queues = options.queues;
  worker_options.concurrency = options.concurrency;
  Worker worker(*opened->store, *opened->catalogue, worker_options);
  signals.watch(&worker);
  print_ready(settings, options);
  const WorkerReport report = worker.run();
  signals.watch(nullptr);
  print_done(settings, report);
  return 0;
}

Exit show_workers(const Settings& settings) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  Table table({"SESSION", "HOST", "PID", "HELD", "LAST BEAT", "STARTED", "QUEUES"});
  std::map<SessionId, std::int64_t> held = opened->store->held_counts();
  for (const SessionRow& row : opened->store->sessions()) {
    if (settings.json) print_json(session_json(row, held[row.id], now_us));
    const std::string last_beat = row.beat_at == 0 ? "unknown" : duration_text(now_us - row.beat_at) + " ago";
    table.add({std::to_string(row.id), row.host, std::to_string(row.pid), std::to_string(held[row.id]),
               is_silent(row, now_us) ? painted(last_beat + ", gone", Paint::red) : last_beat,
               time_text(row.started_at).substr(0, 19), joined(row.queues, "all")});
  }
  if (!settings.json) table.print();
  return 0;
}

}  // namespace cairn
