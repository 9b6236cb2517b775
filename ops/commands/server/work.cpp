#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <unistd.h>

#include "ops/answers/sessions.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/hooks/hook_thread.hpp"
#include "ops/http/transport/server_thread.hpp"
#include "ops/keeping/keeper_thread.hpp"
#include "ops/keeping/spent_limits.hpp"
#include "ops/metrics/exposition.hpp"
#include "ops/scheduling/due_schedules.hpp"
#include "ops/service/database.hpp"
#include "ops/service/due_starts.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/reachable.hpp"
#include "workers/means.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

struct WorkOptions {
  std::vector<std::string> queues;
  int concurrency = 256;
  int turn_seconds = 60;
  std::int64_t memory = 512;  // MiB
  bool other_data = false;
  std::optional<ListenAddress> metrics = {};
};

// `metrics`: where they are answered; "": nowhere.
void print_ready(const Settings& settings, const WorkOptions& options, const std::string& metrics) {
  const std::int64_t pid = getpid();
  if (settings.json) {
    Json said = {{"ready", true}, {"pid", pid}, {"queues", options.queues}, {"concurrency", options.concurrency}};
    if (!metrics.empty()) said["metrics"] = metrics;
    print_json(said);
  } else {
    print_paragraph("Worker " + std::to_string(pid) + " is ready: " + list_text(options.queues, "all queues") + ".");
    if (!metrics.empty()) print_line("Its metrics are at http://" + metrics + "/metrics.");
  }
  std::cout.flush();
}

ApiResponse answer_for_watchers(const ApiRequest& request, const Worker& worker, const WorkCounts& counts,
                                const WorkOptions& options) {
  if (request.method != "GET" && request.method != "HEAD")
    return error_response(405, "invalid", "Expected GET, but found " + request.method + ".");
  const bool is_short = request.segments.size() == 1;
  if (is_short && request.segments.front() == "healthz") return json_response({{"alive", true}});
  if (!is_short || request.segments.front() != "metrics")
    return error_response(404, "not_found", "Expected /metrics or /healthz, but found another path.");
  return {
      200,
      work_metrics_text(counts) + worker_metrics_text(worker.report(), options.concurrency) + process_metrics_text(),
      metrics_type};
}

// Answers /metrics and /healthz while it lives; nothing if that is not wanted. Refuses as HttpServer::open.
Result<std::unique_ptr<ServerThread>> listen_for_watchers(const WorkOptions& options, const Worker& worker,
                                                          const WorkCounts& counts) {
  if (!options.metrics) return std::unique_ptr<ServerThread>();
  ServerLimits limits;
  limits.connections = 16;
  limits.threads = 1;
  limits.hears_signals = false;
  Result<std::unique_ptr<HttpServer>> server =
      HttpServer::open(*options.metrics, limits, [&options, &worker, &counts](const ApiRequest&) {
        return Admitted{Lane::probes, [&options, &worker, &counts](const ApiRequest& request) -> ApiAnswer {
                          return answer_for_watchers(request, worker, counts, options);
                        }};
      });
  if (!server) return server.error();
  return std::make_unique<ServerThread>(*std::move(server), [] {});
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
    print_paragraph("Worker " + std::to_string(pid) + " is done: " + std::to_string(report.steps) + " steps in " +
                    std::to_string(report.commits) + " commits.");
}

// A login that may only read would be refused at every step, for ever.
Status check_rights(const std::string& dsn) {
  try {
    const std::string missing = Administration(dsn, "cairn work").query("missing_rights").text(0, 0);
    if (missing.empty()) return Done{};
    return Error{Code::unsupported, "Expected a login that may work, but it lacks " + missing +
                                        ": its owner grants it the role cairn_app."};
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to reach the database, but: ") + failure.what()};
  }
}

// A mistake in it would only show in that each step waits for a poll.
Status check_own_direct_way(const std::string& dsn) {
  const std::string direct = direct_dsn_of_environment();
  if (direct.empty()) return Done{};
  const Result<WakeUpFound> found = find_wake_up(dsn, direct);
  return found ? found->direct_way : Status(Done{});
}

// One run should see one set of data, whichever worker takes its step.
Status check_own_sources(Opened& opened, const WorkOptions& options) {
  if (options.other_data) return Done{};
  SessionRow own;
  own.queues = options.queues;
  own.allows = opened.catalogue->allows;
  if (own.queues.empty()) own.allows->emplace_back(all_queues);
  return check_sources(own, opened.store->sessions().all(), opened.store->database_time());
}

Exit work(const Settings& settings, const WorkOptions& options) {
  expect_address_space("a worker");
  StopSignals signals;
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  if (const Status ready = make_ready_to_work(*opened->catalogue); !ready) return ready.error();
  if (const Status may = check_rights(opened->dsn); !may) return may.error();
  if (const Status way = check_own_direct_way(opened->dsn); !way) return way.error();
  if (const Status same = check_own_sources(*opened, options); !same) return same.error();
  const Result<std::unique_ptr<KeeperThread>> keeper = KeeperThread::start(settings, *opened);
  if (!keeper) return keeper.error();
  const std::unique_ptr<DueThread> due = DueThread::start(*opened, {due_schedules, due_starts, spent_limits});
  const std::unique_ptr<HookThread> hooks = HookThread::start(*opened);
  WorkerOptions worker_options;
  worker_options.queues = options.queues;
  worker_options.concurrency = options.concurrency;
  worker_options.turn_max_ms = options.turn_seconds * 1'000;
  worker_options.states_bytes_max = worker_options.values_bytes_max = (options.memory << 20) / 2;
  Worker worker(*opened->store, *opened->catalogue, worker_options);
  const Result<std::unique_ptr<ServerThread>> watchers = listen_for_watchers(options, worker, *opened->counts);
  if (!watchers) return watchers.error();
  signals.watch(&worker);
  print_ready(settings, options, *watchers ? (*watchers)->address() : "");
  const WorkerReport report = worker.run();
  signals.watch(nullptr);
  print_done(settings, report);
  if (!report.refusal.empty()) return Error{Code::unavailable, report.refusal + "."};
  return exit_ok;
}

}  // namespace

void add_work(CommandLine& line) {
  auto& options = line.keep<WorkOptions>();
  CLI::App& command = add_command(line, "work", "Execute queued steps until SIGINT or SIGTERM, then drain",
                                  "cairn work --concurrency 32 --queue default --queue model --tools tools.json",
                                  [&](const Settings& settings) { return work(settings, options); });
  add_list(command, "--queue", "Q", "Serve this queue (repeatable; default: every queue and the timers)",
           [&](const std::vector<std::string>& queues) {
             options.queues = queues;
             if (std::find(queues.begin(), queues.end(), "") == queues.end()) return Status(Done{});
             return Status(Error{Code::invalid, "Expected the name of a queue, but it is empty."});
           });
  command.add_option("--concurrency", options.concurrency, "Branches held at once")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--turn-seconds", options.turn_seconds,
                  "End the process if one turn of it takes longer, so that others take over; 0: never")
      ->check(CLI::Range(0, 86'400))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--memory", options.memory,
                  "Room for folded runs and for the large values that steps read, half each, by an estimate")
      ->check(CLI::Range(16, 1'000'000))
      ->type_name("MIB")
      ->capture_default_str();
  command.add_flag("--other-data", options.other_data,
                   "Start although a worker of the same queues answers from other data, while they change in turn");
  add_text(command, "--metrics", "ADDRESS",
           "Answer /metrics (for Prometheus) and /healthz there, without a token; port 0: a free one",
           [&](const std::string& text) { return assign(options.metrics, listen_argument(text)); });
  add_tools(line, command);
}

}  // namespace cairn
