#include "ops/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "engine/codec.hpp"
#include "ops/arguments.hpp"
#include "ops/bench.hpp"
#include "ops/commands.hpp"
#include "storage/store.hpp"

namespace cairn {
namespace {

struct Line {
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Line() = default;

  CLI::App app{"Cairn: an event-sourced workflow engine with a persistent job queue, for planners.", "cairn"};
  std::function<Exit()> chosen;
  Settings settings;
  UpOptions up;
  WorkOptions work;
  QueueSetOptions queue_set;
  StartOptions start;
  BatchOptions batch;
  RunsOptions runs;
  EventsOptions events;
  AnswerOptions answer;
  BenchOptions bench;
  BenchWorkerOptions bench_worker;
  std::int32_t shards = 0;
  std::string graph_name;
  std::string format = "json";
  Json graph;
  std::string run;
  std::vector<std::string> several_runs;
  std::string reason;
  Moment at;
  bool raw = false;
};

// --- the options that several commands have --------------------------------------------------------------------------

void add_settings(CLI::App& app, Settings& settings) {
  app.add_flag("--json", settings.json, "One JSON document, or JSON lines for lists and streams");
  CLI::Option* dsn = app.add_option("--dsn", settings.dsn, "The database, as a PostgreSQL connection string or URL");
  CLI::Option* data = app.add_option("--data", settings.data, "Directory of the embedded PostgreSQL");
  dsn->excludes(data);
  for (CLI::Option* option : app.get_options()) {
    if (option == dsn || option == data) option->type_name(option == dsn ? "DSN" : "DIR");
    if (option->get_lnames() != std::vector<std::string>{"help"}) option->group("Every command");
  }
}

void add_tools(CLI::App& app, Settings& settings) {
  app.add_option("--tools", settings.tools, "File that names the programs and URLs which are tools (CAIRN_TOOLS)")
      ->type_name("FILE");
}

CLI::App& add_command(CLI::App& parent, Line& line, const std::string& name, const std::string& purpose,
                      Exit (*run)(Line&)) {
  CLI::App& command = *parent.add_subcommand(name, purpose);
  add_settings(command, line.settings);
  command.callback([&line, run] { line.chosen = [&line, run] { return run(line); }; });
  return command;
}

template <class Take>
CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      Take take) {
  return app.add_option_function<std::string>(name, take, says)->type_name(type);
}

CLI::Option* add_list(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      std::function<void(const std::vector<std::string>&)> take) {
  return app.add_option_function<std::vector<std::string>>(name, take, says)->allow_extra_args(false)->type_name(type);
}

void add_run(CLI::App& app, std::string& run) { app.add_option("RUN", run, "The run's id")->required()->type_name(""); }

void add_moment(CLI::App& app, Moment& at) {
  add_text(app, "--at", "SEQ|TIME", "As of this event's number, or of the last event at or before this time",
           [&at](const std::string& text) { at = moment_argument(text); });
}

// --- commands --------------------------------------------------------------------------------------------------------

void add_queue_commands(Line& line) {
  CLI::App& queue =
      add_command(line.app, line, "queue",
                  "What each queue holds (ready, later, held, its oldest ready job) and what is set for it",
                  [](Line& l) { return show_queues(l.settings); });
  queue.callback([&line, &queue] {  // called after that of `queue set`
    if (queue.get_subcommands().empty()) line.chosen = [&line] { return show_queues(line.settings); };
  });
  CLI::App& set = add_command(queue, line, "set", "Limit or pause a queue, across all workers",
                              [](Line& l) { return set_queue(l.settings, l.queue_set); });
  set.add_option("NAME", line.queue_set.queue, "The queue's name")->required()->type_name("");
  CLI::Option* concurrency =
      add_text(set, "--concurrency", "N|none", "At most so many of its jobs are held at once",
               [&line](const std::string& text) { line.queue_set.concurrency = concurrency_argument(text); });
  CLI::Option* pause = set.add_flag("--pause", line.queue_set.pause, "Nothing more of it is begun");
  CLI::Option* resume = set.add_flag("--resume", line.queue_set.resume, "It goes on");
  pause->excludes(resume);
  set.callback([&line, concurrency, pause, resume] {
    if (concurrency->empty() && pause->empty() && resume->empty())
      throw CLI::ValidationError("Expected --concurrency, --pause or --resume, but got none of them.");
    line.chosen = [&line] { return set_queue(line.settings, line.queue_set); };
  });
}

void add_server_commands(Line& line) {
  CLI::App& up_command =
      add_command(line.app, line, "up",
                  "Start the embedded PostgreSQL and worker processes; runs until SIGINT or SIGTERM, then drains them",
                  [](Line& l) { return up(l.settings, l.up); });
  up_command.add_option("--workers", line.up.workers, "Worker processes")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->capture_default_str();
  add_tools(up_command, line.settings);
  add_command(line.app, line, "down", "Stop the embedded PostgreSQL", [](Line& l) { return down(l.settings); });
  add_command(line.app, line, "migrate", "Create the schema in the database, or move it forward",
              [](Line& l) { return migrate_schema(l.settings, l.shards); })
      .add_option("--shards", line.shards, "Number of shards, chosen once (default 1)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  CLI::App& work_command =
      add_command(line.app, line, "work", "Execute queued steps until SIGINT or SIGTERM, then drain",
                  [](Line& l) { return work(l.settings, l.work); });
  add_list(work_command, "--queue", "Q", "Serve this queue (repeatable; default: every queue and the timers)",
           [&line](const std::vector<std::string>& queues) { line.work.queues = queues; });
  work_command.add_option("--concurrency", line.work.concurrency, "Branches held at once")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  add_tools(work_command, line.settings);
  add_queue_commands(line);
  add_command(line.app, line, "workers", "The worker sessions and what they hold",
              [](Line& l) { return show_workers(l.settings); });
}

void add_graph_file(CLI::App& command, Line& line) {
  add_text(command, "FILE", "", "The graph as JSON; - is stdin", [&line](const std::string& path) {
    line.graph = path == "-" ? json_argument("@-", "the graph") : json_file(path, "the graph");
  })->required();
}

void add_graph_commands(Line& line) {
  CLI::App& graph = *line.app.add_subcommand("graph", "List, show, check and add graphs")->require_subcommand(1);
  add_command(graph, line, "list", "The graphs and their versions", [](Line& l) { return graph_list(l.settings); });
  CLI::App& show = add_command(graph, line, "show", "A graph as JSON or as a drawing",
                               [](Line& l) { return graph_show(l.settings, l.graph_name, l.format); });
  show.add_option("NAME", line.graph_name, "The graph's name, or a version of it")->required()->type_name("");
  show.add_option("--format", line.format, "json, mermaid, dot, or svg (by the program dot)")
      ->check(CLI::IsMember({"json", "mermaid", "dot", "svg"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_graph_file(add_command(graph, line, "check", "Every fault of a graph, one sentence each; exit 1 if there is one",
                             [](Line& l) { return graph_check(l.settings, l.graph); }),
                 line);
  add_graph_file(add_command(graph, line, "add", "Store a graph as the current version of its name",
                             [](Line& l) { return graph_add(l.settings, l.graph); }),
                 line);
}

void add_start_command(Line& line) {
  CLI::App& command = add_command(line.app, line, "start", "Start a run of a graph and print its id",
                                  [](Line& l) { return start(l.settings, l.start); });
  command.add_option("GRAPH", line.start.graph, "The graph's name")->required()->type_name("");
  add_text(command, "--input", "JSON|@FILE|@-", "The run's input, a JSON object (default {})",
           [&line](const std::string& text) { line.start.input = object_argument(text, "the input"); });
  add_list(command, "--tag", "K=V", "A searchable tag (repeatable)",
           [&line](const std::vector<std::string>& texts) { line.start.tags = tags_argument(texts); });
  command.add_option("--key", line.start.key, "The same key and input give the same run")->type_name("K");
  command.add_option("--continues", line.start.continues, "The run whose data this one gets as `history`")
      ->type_name("RUN");
  add_text(command, "--options", "JSON", R"({"autonomy": "full", "priority": 0-9, "budgets": {NAME: CAP}})",
           [&line](const std::string& text) { line.start.options = options_argument(text); });
  command.add_flag("--wait", line.start.wait,
                   "Execute the run here; return when it has ended or only questions are left");
  command.add_flag("--no-work", line.start.no_work, "With --wait: leave the execution to other workers");
  add_tools(command, line.settings);
}

void add_batch_command(Line& line) {
  CLI::App& command =
      add_command(line.app, line, "batch",
                  "Start a run for each line of a file of inputs; the same file again starts nothing twice",
                  [](Line& l) { return batch(l.settings, l.batch); });
  command.add_option("GRAPH", line.batch.graph, "The graph's name")->required()->type_name("");
  add_text(command, "--inputs", "FILE", "JSON lines, an input object on each", [&line](const std::string& path) {
    line.batch.digest = inputs_argument(path);
    line.batch.inputs = path;
  })->required();
  command.add_option("--out", line.batch.out, "Where a line for each run goes (default: stdout with --json)")
      ->type_name("FILE");
  command.add_flag("--wait", line.batch.wait,
                   "Execute the runs here; return when all have ended or only questions are left");
  command.add_flag("--no-work", line.batch.no_work, "With --wait: leave the execution to other workers");
  add_tools(command, line.settings);
}

// Which runs are meant; those of the command `runs` and of all that sums up over them.
void add_run_filter(CLI::App& command, RunsOptions& runs) {
  command.add_option("--graph", runs.graph, "Of this graph")->type_name("G");
  command.add_option("--status", runs.status, "running, waiting, paused, done, failed or aborted")
      ->check(CLI::IsMember({"running", "waiting", "paused", "done", "failed", "aborted"}))
      ->type_name("S");
  add_list(command, "--tag", "K=V", "With this tag (repeatable: with all of them)",
           [&runs](const std::vector<std::string>& texts) { runs.tags = tags_argument(texts); });
  add_text(command, "--since", "TIME", "Started at or after",
           [&runs](const std::string& text) { runs.since = time_argument(text); });
  command.add_option("--lineage", runs.lineage, "This run, those it continues and those that continue it")
      ->type_name("RUN");
}

void add_runs_commands(Line& line) {
  CLI::App& command = add_command(line.app, line, "runs", "The runs, newest first",
                                  [](Line& l) { return list_runs(l.settings, l.runs); });
  add_run_filter(command, line.runs);
  command.add_option("--limit", line.runs.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  add_run_filter(
      add_command(line.app, line, "report", "What runs took and came to: time, cost, calls, blocks, rounds, failures",
                  [](Line& l) { return report_use(l.settings, l.runs); }),
      line.runs);
}

void add_reading_commands(Line& line) {
  CLI::App& show = add_command(line.app, line, "show",
                               "A run's state as of any moment: channels, open steps, plan, budgets, questions",
                               [](Line& l) { return show_run(l.settings, l.run, l.at, l.raw); });
  add_run(show, line.run);
  add_moment(show, line.at);
  show.add_flag("--raw", line.raw, "Leave large values as references to their blobs");
  CLI::App& events = add_command(line.app, line, "events", "A run's events in order",
                                 [](Line& l) { return show_events(l.settings, l.events); });
  add_run(events, line.events.run);
  events.add_option("--from", line.events.from, "Begin with this event's number")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("SEQ")
      ->capture_default_str();
  events.add_flag("--follow", line.events.follow, "Go on until the run has ended");
  events.add_flag("--raw", line.events.raw, "Leave large values as references to their blobs");
  CLI::App& plan = add_command(line.app, line, "plan", "A run's plan as a tree with statuses",
                               [](Line& l) { return show_plan(l.settings, l.run, l.at); });
  add_run(plan, line.run);
  add_moment(plan, line.at);
}

void add_asking_commands(Line& line) {
  CLI::App& answer_command = add_command(line.app, line, "answer", "Answer a run's open question",
                                         [](Line& l) { return answer(l.settings, l.answer); });
  add_run(answer_command, line.answer.run);
  answer_command.add_option("--question", line.answer.question, "The question's id (needed if several are open)")
      ->type_name("ID");
  add_text(answer_command, "--value", "JSON|@FILE|@-", R"(The answer as JSON; a text needs its quotes: '"north"')",
           [&line](const std::string& text) { line.answer.value = json_argument(text, "the answer"); })
      ->required();
  answer_command.add_option("--by", line.answer.by, "Who answers (default: user:NAME)")->type_name("WHO");
  CLI::App& cancel_command = add_command(line.app, line, "cancel", "End runs as aborted; their children follow",
                                         [](Line& l) { return cancel(l.settings, l.several_runs, l.reason); });
  cancel_command.add_option("RUN", line.several_runs, "The runs' ids")->required()->type_name("");
  cancel_command.add_option("--reason", line.reason, "Why, for the record")->type_name("TEXT");
}

void add_bench_commands(Line& line) {
  CLI::App& command =
      add_command(line.app, line, "bench", "Measure this machine: durable steps a second beside their limit",
                  [](Line& l) { return bench(l.settings, l.bench); });
  command.add_option("--case", line.bench.name, "Which case")
      ->check(CLI::IsMember({"steps"}))
      ->type_name("NAME")
      ->capture_default_str();
  CLI::Option* runs = command.add_option("--runs", line.bench.runs, "Measure so many runs")
                          ->check(CLI::Range(1, 100'000'000))
                          ->type_name("N");
  command.add_option("--seconds", line.bench.seconds, "Measure so long")
      ->check(CLI::Range(1, 86'400))
      ->type_name("N")
      ->capture_default_str()
      ->excludes(runs);
  command.add_option("--workers", line.bench.workers, "Worker processes")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->capture_default_str();
  CLI::App& worker = add_command(line.app, line, "bench-worker", "A worker process of the benchmark",
                                 [](Line& l) { return bench_worker(l.settings, l.bench_worker); });
  worker.add_option("--concurrency", line.bench_worker.concurrency, "Branches held at once");
  worker.group("");
}

void add_commands(Line& line) {
  line.app.require_subcommand(1);
  line.app.set_version_flag("--version", std::string("cairn ") + CAIRN_VERSION, "Print the version");
  line.app.footer(
      "Without --dsn, CAIRN_DSN or libpq's variables the database is an embedded one in --data, CAIRN_DATA or\n"
      "~/.local/share/cairn, started by the first command that needs it and stopped by `cairn down`.\n"
      "Exit codes: 0 ok, 1 failed run or finding, 2 usage, 3 not found, 4 refused, 5 database unavailable.\n\n"
      "Try:  cairn start seven_node --input '{\"repository\": \".\", \"question\": \"Who owns engine?\"}' --wait");
  add_settings(line.app, line.settings);
  add_server_commands(line);
  add_graph_commands(line);
  add_start_command(line);
  add_batch_command(line);
  add_runs_commands(line);
  add_reading_commands(line);
  add_asking_commands(line);
  add_bench_commands(line);
}

// --- running one -----------------------------------------------------------------------------------------------------

void log_to_stderr() {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("cairn"));
  const char* level = std::getenv("CAIRN_LOG");
  spdlog::set_level(level == nullptr ? spdlog::level::warn : spdlog::level::from_str(level));
}

int say(int code, std::string sentence) {
  for (char& c : sentence)
    if (c == '\n' || c == '\r') c = ' ';
  std::cerr << "cairn: " << sentence << std::endl;
  return code;
}

int report(const Error& error) { return say(exit_code(error.code), error.message); }

int run_chosen(const std::function<Exit()>& chosen) {
  try {
    const Exit result = chosen();
    if (!result) return report(result.error());
    std::cout.flush();
    return std::cout ? *result : say(exit_finding, "Expected to write the answer to stdout, but it cannot be written.");
  } catch (const StoreUnavailable& fault) {
    return report({Code::unavailable, fault.what()});
  } catch (const CorruptHistory& fault) {
    return report({Code::corrupt, fault.what()});
  } catch (const std::exception& fault) {
    return say(exit_finding, std::string("Expected the command to work, but it broke: ") + fault.what());
  }
}

std::string usage_sentence(const CLI::App& app, std::string fault) {
  std::string command = "cairn";
  const CLI::App* at = &app;
  for (; !at->get_subcommands().empty(); at = at->get_subcommands().front())
    command += " " + at->get_subcommands().front()->get_name();
  const std::vector<std::string> left = at->remaining();
  if (at->get_require_subcommand_min() > 0 && !left.empty())
    fault = "Expected a command, but \"" + left.front() + "\" is none";
  return fault + (fault.ends_with('.') ? " See `" : ": see `") + command + " --help`.";
}

}  // namespace

ExitCode exit_code(Code code) {
  switch (code) {
    case Code::not_found:
      return exit_not_found;
    case Code::unavailable:
      return exit_unavailable;
    case Code::invalid:
    case Code::conflict:
    case Code::stale:
    case Code::limit:
    case Code::closed:
    case Code::unsupported:
    case Code::corrupt:
      return exit_refused;
  }
  return exit_refused;
}

int run_command_line(int argc, const char* const* argv) {
  log_to_stderr();
  Line line;
  add_commands(line);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return line.app.exit(asked);
  } catch (const CLI::ParseError& fault) {
    return say(exit_usage, usage_sentence(line.app, fault.what()));
  }
  return run_chosen(line.chosen);
}

}  // namespace cairn
