#include "ops/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "engine/corrupt_history.hpp"
#include "ops/bench/bench.hpp"
#include "ops/bench/rig/slow_model.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/http/serve.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/store.hpp"
#include "workers/ports/untrusted_text.hpp"

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
  ServeOptions serve;
  QueueSetOptions queue_set;
  StartOptions start;
  ForkRunOptions fork;
  BatchOptions batch;
  RunFilter runs;
  EventsOptions events;
  AnswerOptions answer;
  ControlOptions control;
  DiffOptions diff;
  ReplayRunsOptions replay;
  SignalOptions signal;
  VerifyOptions verify;
  bool check = false;
  ExportOptions export_;
  ImportOptions import;
  ArchiveOptions archive;
  SimulateOptions simulate;
  BenchOptions bench;
  BenchWorkerOptions bench_worker;
  SlowModelOptions slow_model;
  std::int32_t shards = 0;
  std::string graph_name;
  std::string format = "json";
  Json graph;
  std::string corpus;
  std::string directory;
  std::string words;
  std::string run;
  Moment at;
  bool raw = false;
};

// --- the options that several commands have --------------------------------------------------------------------------

template <class Take>
CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      Take take) {
  return app.add_option_function<std::string>(name, take, says)->type_name(type);
}

void add_settings(CLI::App& app, Settings& settings) {
  app.add_flag("--json", settings.json, "One JSON document, or JSON lines for lists and streams");
  CLI::Option* dsn = add_text(app, "--dsn", "DSN", "The database, as a PostgreSQL connection string or URL",
                              [&settings](const std::string& text) { settings.dsn = dsn_argument(text); });
  CLI::Option* data =
      add_text(app, "--data", "DIR", "Directory of the embedded PostgreSQL",
               [&settings](const std::string& text) { settings.data = path_argument(text, "a directory in --data"); });
  dsn->excludes(data);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames() != std::vector<std::string>{"help"}) option->group("Every command");
  }
}

void add_tools(CLI::App& app, Settings& settings) {
  add_text(app, "--tools", "FILE", "File that names the programs and URLs which are tools (CAIRN_TOOLS)",
           [&settings](const std::string& text) { settings.tools = path_argument(text, "a file in --tools"); });
}

CLI::App& add_command(CLI::App& parent, Line& line, const std::string& name, const std::string& purpose,
                      Exit (*run)(Line&)) {
  CLI::App& command = *parent.add_subcommand(name, purpose);
  add_settings(command, line.settings);
  command.callback([&line, run] { line.chosen = [&line, run] { return run(line); }; });
  return command;
}

CLI::Option* add_list(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      std::function<void(const std::vector<std::string>&)> take) {
  return app.add_option_function<std::vector<std::string>>(name, take, says)->allow_extra_args(false)->type_name(type);
}

void add_run(CLI::App& app, std::string& run) { app.add_option("RUN", run, "The run's id")->required()->type_name(""); }

CLI::Option* add_where(CLI::App& app, std::function<void(const RunFilter&)> take) {
  return add_text(app, "--where", "FILTER", std::string(filter_says),
                  [take = std::move(take)](const std::string& text) { take(filter_argument(text)); });
}

// RUN..., --all or --where, and nothing beside one of them.
void add_selection(CLI::App& app, RunSelection& selection, const std::string& all_says) {
  CLI::Option* runs = app.add_option("RUN", selection.runs, "The runs' ids")->type_name("");
  CLI::Option* all = app.add_flag("--all", selection.all, all_says);
  CLI::Option* where = add_where(app, [&selection](const RunFilter& filter) { selection.where = filter; });
  all->excludes(runs);
  where->excludes(runs)->excludes(all);
}

void need_selection(const RunSelection& selection, const std::string& verb) {
  if (selection.empty())
    throw CLI::ValidationError("Expected the runs to " + verb + " as RUN..., by --where or --all, but found none.");
}

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

void add_listen(CLI::App& command, const std::string& says, std::function<void(const ListenAddress&)> take) {
  add_text(command, "--listen", "ADDRESS", says,
           [take = std::move(take)](const std::string& text) { take(listen_argument(text)); });
}

void add_seconds(CLI::App& command, const std::string& name, const std::string& says, std::chrono::seconds& value) {
  command
      .add_option_function<int>(
          name, [&value](int seconds) { value = std::chrono::seconds(seconds); }, says)
      ->check(CLI::Range(1, 3'600))
      ->type_name("N");
}

void add_serve_command(Line& line) {
  CLI::App& command = add_command(line.app, line, "serve",
                                  "Answer the commands over HTTP until SIGINT or SIGTERM; /api/v1/runs and so on",
                                  [](Line& l) { return serve(l.settings, l.serve); });
  ServerLimits& limits = line.serve.limits;
  add_listen(command,
             "Where (default 127.0.0.1:8080; port 0: a free one); any but a loopback address needs CAIRN_TOKEN",
             [&line](const ListenAddress& address) { line.serve.listen = address; });
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
  add_tools(command, line.settings);
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
  add_listen(up_command, "Also answer the commands over HTTP there, as `cairn serve` does",
             [&line](const ListenAddress& address) { line.up.listen = address; });
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
  add_serve_command(line);
  add_queue_commands(line);
  add_command(line.app, line, "workers", "The worker sessions and what they hold",
              [](Line& l) { return show_workers(l.settings); });
  add_command(line.app, line, "doctor",
              "Look the database over: what is well and what is not; exit 1 if something is not",
              [](Line& l) { return doctor(l.settings); });
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

void add_dataset_commands(Line& line) {
  CLI::App& dataset = *line.app.add_subcommand("dataset", "The sample data that round_planner answers questions on")
                           ->require_subcommand(1);
  add_command(dataset, line, "load", "Load it into the database, with a login that may only read it",
              [](Line& l) { return load_dataset(l.settings); });
}

void add_corpus_commands(Line& line) {
  CLI::App& corpus = *line.app.add_subcommand("corpus", "Documents that planners search")->require_subcommand(1);
  const auto add_name = [&line](CLI::App& command) {
    command.add_option("NAME", line.corpus, "The corpus's name")->required()->type_name("");
  };
  CLI::App& load =
      add_command(corpus, line, "load", "Load a folder's text and Markdown files; again: what changed in the folder",
                  [](Line& l) { return corpus_load(l.settings, l.corpus, l.directory); });
  add_name(load);
  add_text(load, "DIR", "", "The folder", [&line](const std::string& text) {
    line.directory = path_argument(text, "a folder");
  })->required();
  add_command(corpus, line, "list", "The corpora and their size", [](Line& l) { return corpus_list(l.settings); });
  CLI::App& search = add_command(corpus, line, "search", "The passages that a planner's search would find",
                                 [](Line& l) { return corpus_search(l.settings, l.corpus, l.words); });
  add_name(search);
  search.add_option("WORDS", line.words, "What is looked for")->required()->type_name("");
  add_name(add_command(corpus, line, "drop", "Remove a corpus and all its documents",
                       [](Line& l) { return corpus_drop(l.settings, l.corpus); }));
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

void add_fork_command(Line& line) {
  CLI::App& command = add_command(line.app, line, "fork",
                                  "Start a run that goes on from where another one stood; that one stays as it is",
                                  [](Line& l) { return fork_run(l.settings, l.fork); });
  add_run(command, line.fork.run);
  command.add_option("--at", line.fork.at, "The last event that both share; the end of a commit")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("SEQ");
  add_list(command, "--set", "CHANNEL=JSON", "A channel's new value (repeatable)", [&line](const auto& texts) {
    for (auto& [channel, value] : values_argument(texts, "--set")) line.fork.edit[channel] = std::move(value);
  });
  add_list(command, "--answer", "ID=JSON", "An answer to a question that is open there (repeatable)",
           [&line](const auto& texts) { line.fork.answers = values_argument(texts, "--answer"); });
  add_text(command, "--graph", "FILE", "Go on with this graph; it must have the nodes where the run stood",
           [&line](const std::string& path) { line.fork.graph = json_file(path, "the graph"); });
  add_list(command, "--tag", "K=V", "A searchable tag beside the origin's (repeatable)",
           [&line](const std::vector<std::string>& texts) { line.fork.tags = tags_argument(texts); });
  command.add_flag(
      "--recorded", line.fork.recorded,
      "Ask no model and no tool: what they said in RUN counts again; the fork fails where it goes another way");
  command.add_flag("--wait", line.fork.wait,
                   "Execute the fork here; return when it has ended or only questions are left");
  command.add_flag("--no-work", line.fork.no_work, "With --wait: leave the execution to other workers");
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
  add_text(command, "--out", "FILE", "Where a line for each run goes (default: stdout with --json)",
           [&line](const std::string& path) { line.batch.out = output_argument(path); });
  command.add_flag("--wait", line.batch.wait,
                   "Execute the runs here; return when all have ended or only questions are left");
  command.add_flag("--no-work", line.batch.no_work, "With --wait: leave the execution to other workers");
  add_tools(command, line.settings);
}

// Which runs are meant; those of the command `runs` and of all that sums up over them.
void add_run_filter(CLI::App& command, RunFilter& runs) {
  CLI::Option* where = add_where(command, [&runs](const RunFilter& filter) { runs = filter; });
  const auto add = [&runs, &command, where](const std::string& key, const std::string& type, const std::string& says) {
    add_text(command, "--" + key, type, says, [&runs, key](const std::string& text) {
      add_term(runs, key, text);
    })->excludes(where);
  };
  add("graph", "G", "Of this graph");
  add("status", "S", "running, waiting, paused, done, failed or aborted");
  add("since", "TIME", "Started at or after");
  add("lineage", "RUN", "This run, those it came from (by a fork, by --continues) and all that came from them");
  add_list(command, "--tag", "K=V", "With this tag (repeatable: with all of them)", [&runs](const auto& texts) {
    for (const auto& [key, value] : tags_argument(texts)) add_term(runs, "tag." + key, value);
  })->excludes(where);
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
  add_run(add_command(line.app, line, "explain", "Why a run is not moving: one reason for each open step",
                      [](Line& l) { return explain_run(l.settings, l.run); }),
          line.run);
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
  CLI::App& signal_command = add_command(line.app, line, "signal", "Send a run a signal, which one wait takes",
                                         [](Line& l) { return send_signal(l.settings, l.signal); });
  add_run(signal_command, line.signal.run);
  signal_command.add_option("NAME", line.signal.name, "The signal's name")->required()->type_name("");
  add_text(signal_command, "--value", "JSON|@FILE|@-", "What it carries, as JSON", [&line](const std::string& text) {
    line.signal.value = json_argument(text, "the signal's value");
  })->required();
  signal_command.add_option("--id", line.signal.id, "The sender's id: one id is taken once")->type_name("ID");
}

CLI::App& add_control(Line& line, const std::string& name, const std::string& purpose, Control what) {
  CLI::App& command =
      add_command(line.app, line, name, purpose, [](Line& l) { return control(l.settings, l.control); });
  command.preparse_callback([&line, what](std::size_t) { line.control.what = what; });
  CLI::Option* runs = command.add_option("RUN", line.control.runs, "The runs' ids")->type_name("");
  CLI::Option* where = add_where(command, [&line](const RunFilter& filter) { line.control.where = filter; });
  where->excludes(runs);
  command.add_flag("--dry-run", line.control.dry_run, "Tell what would become of the runs, and write nothing");
  command.callback([&line, name] {
    if (line.control.runs.empty() && !line.control.where)
      throw CLI::ValidationError("Expected the runs to " + name + " as RUN... or by --where, but found none.");
    line.chosen = [&line] { return control(line.settings, line.control); };
  });
  return command;
}

void add_control_commands(Line& line) {
  add_control(line, "pause", "Stop runs from going on: what is held ends its step, nothing new begins", Control::pause);
  add_control(line, "resume", "Let paused runs go on", Control::resume);
  add_control(line, "retry", "Give failed runs another chance: their failed steps begin again", Control::retry);
  add_control(line, "cancel", "End runs as aborted; their children follow", Control::cancel)
      .add_option("--reason", line.control.reason, "Why, for the record")
      ->type_name("TEXT");
  CLI::App& move = add_control(line, "move", "Put running runs under another version of their graph", Control::move);
  add_text(move, "--graph", "FILE", "The version to go on with; `cairn graph add` gives it to new runs as well",
           [&line](const std::string& path) { line.control.graph = json_file(path, "the graph"); })
      ->required();
}

void add_replay_commands(Line& line) {
  CLI::App& diff = add_command(line.app, line, "diff", "How two runs, or two moments of one, differ; exit 1 if they do",
                               [](Line& l) { return diff_runs(l.settings, l.diff); });
  diff.add_option("RUN_A", line.diff.a, "A run's id")->required()->type_name("");
  CLI::Option* b = diff.add_option("RUN_B", line.diff.b, "Another run's id")->type_name("");
  const CLI::Range seqs(std::int64_t{1}, std::numeric_limits<std::int64_t>::max());
  CLI::Option* from = diff.add_option("--from", line.diff.from, "The first run's moment (default: now)")->check(seqs);
  CLI::Option* to = diff.add_option("--to", line.diff.to, "The second one's moment (default: now)")->check(seqs);
  for (CLI::Option* moment : {from, to}) moment->type_name("SEQ");
  diff.callback([&line, b, from] {
    if (b->empty() && from->empty())
      throw CLI::ValidationError(
          "Expected a second run, or --from for another moment of the first, but found neither.");
    line.chosen = [&line] { return diff_runs(line.settings, line.diff); };
  });
  CLI::App& replay = add_command(line.app, line, "replay",
                                 "Decide recorded runs again from their record; exit 1 if one would go another way",
                                 [](Line& l) { return replay_runs(l.settings, l.replay); });
  add_selection(replay, line.replay.of, "Every run");
  add_text(replay, "--graph", "FILE", "Decide with this graph in place of each run's own",
           [&line](const std::string& path) { line.replay.graph = json_file(path, "the graph"); });
  replay.add_flag("--handlers", line.replay.handlers, "Run pure handlers again too, and compare what they leave");
  add_tools(replay, line.settings);
  replay.callback([&line] {
    need_selection(line.replay.of, "replay");
    line.chosen = [&line] { return replay_runs(line.settings, line.replay); };
  });
}

void add_audit_commands(Line& line) {
  CLI::App& command =
      add_command(line.app, line, "verify",
                  "Hold runs against their hash chains and their rows against their events; exit 1 on a finding",
                  [](Line& l) { return verify(l.settings, l.verify); });
  add_selection(command, line.verify.of, "Everything of which anything is kept");
  add_text(command, "--file", "FILE", "Those of an export, without any database",
           [&line](const std::string& text) { line.verify.file = path_argument(text, "an export"); })
      ->excludes("RUN")
      ->excludes("--all")
      ->excludes("--where");
  command.callback([&line] {
    if (line.verify.file.empty()) need_selection(line.verify.of, "verify");
    line.chosen = [&line] { return verify(line.settings, line.verify); };
  });
  add_command(line.app, line, "rebuild", "Make runs' rows, jobs and questions anew from their events where they differ",
              [](Line& l) { return rebuild(l.settings, l.check); })
      .add_flag("--check", line.check, "Tell what differs, and write nothing; exit 1 if something does");
}

void add_export_commands(Line& line) {
  CLI::App& command = add_command(line.app, line, "export", "Write runs with their whole history to stdout",
                                  [](Line& l) { return export_runs(l.settings, l.export_); });
  add_selection(command, line.export_.of, "Every run");
  command.add_flag("--zstd", line.export_.zstd, "Compressed");
  command.callback([&line] {
    need_selection(line.export_.of, "export");
    line.chosen = [&line] { return export_runs(line.settings, line.export_); };
  });
  CLI::App& import =
      add_command(line.app, line, "import", "Take in the runs of an export, if all of it holds what it claims",
                  [](Line& l) { return import_runs(l.settings, l.import); });
  add_text(import, "FILE", "", "The export's file", [&line](const std::string& text) {
    line.import.file = path_argument(text, "an export");
  })->required();
  import.add_flag("--running", line.import.running, "Also runs that have not ended: workers go on with them here");
}

void add_archive_command(Line& line) {
  CLI::App& command = add_command(
      line.app, line, "archive",
      "Move ended runs into a file, which is looked over before they are removed; the same again goes on with it",
      [](Line& l) { return archive_runs(l.settings, l.archive); });
  add_text(command, "--older-than", "DURATION|TIME", "That ended longer ago (90d, 12h, 30m, 10s), or before this time",
           [&line](const std::string& text) { line.archive.older_than = age_argument(text); })
      ->required();
  add_where(command, [&line](const RunFilter& filter) { line.archive.where = filter; });
  add_text(command, "--out", "FILE", "Where they go, as an export; compressed if the name ends in .zst",
           [&line](const std::string& text) { line.archive.out = path_argument(text, "an archive"); })
      ->required();
}

void add_simulate_command(Line& line) {
  CLI::App& command =
      add_command(line.app, line, "simulate",
                  "Run a graph in virtual time under crashes, outages and late answers; exit 1 if something breaks",
                  [](Line& l) { return simulate(l.settings, l.simulate); });
  command.add_option("GRAPH", line.simulate.graph, "The graph's name, or a file with it")->required()->type_name("");
  command.add_option("--seeds", line.simulate.seeds, "So many simulations")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", line.simulate.seed, "The first seed (default: drawn); a seed always does the same")
      ->type_name("S");
  add_text(command, "--handlers", "FILE", "What handlers and tools do, as JSON (default: any label, and failures)",
           [&line](const std::string& path) { line.simulate.handlers = json_file(path, "the handlers"); });
  add_text(command, "--input", "JSON|@FILE|@-", "The runs' input, a JSON object (default {})",
           [&line](const std::string& text) { line.simulate.input = object_argument(text, "the input"); });
}

void add_bench_sizes(CLI::App& command, BenchOptions& bench) {
  command.add_option("--waiting", bench.waiting, "Case scale.waiting: with so many jobs waiting")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N...")
      ->capture_default_str();
  command.add_option("--finished", bench.finished, "Case scale.finished: with so many finished runs")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--events", bench.events, "Cases fold, scale.long_run and audit: so many events")
      ->check(CLI::Range(100, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--instances", bench.instances, "Case shapes.instances: workflow instances (WfFormat 1.5)")
      ->check(CLI::ExistingFile)
      ->type_name("FILE...");
  command.add_option("--arrivals", bench.arrivals, "Case shapes.arrivals: a table whose first column is a time")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  command.add_option("--snapshot-seconds", bench.snapshot_seconds, "Case scale.snapshot: held open so long")
      ->check(CLI::Range(1, 86'400))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--sustained-seconds", bench.sustained_seconds, "Case scale.sustained: so long")
      ->check(CLI::Range(1, 86'400))
      ->type_name("N")
      ->capture_default_str();
}

void add_bench_commands(Line& line) {
  CLI::App& command =
      add_command(line.app, line, "bench", "Measure this machine beside what its database could do alone",
                  [](Line& l) { return bench(l.settings, l.bench); });
  command.add_option("--case", line.bench.name, "Only this case")
      ->check(CLI::IsMember(bench_cases()))
      ->type_name("NAME");
  CLI::Option* runs = command.add_option("--runs", line.bench.runs, "Measure so many runs")
                          ->check(CLI::Range(1, 100'000'000))
                          ->type_name("N");
  command.add_option("--seconds", line.bench.seconds, "Measure so long")
      ->check(CLI::Range(1, 86'400))
      ->type_name("N")
      ->capture_default_str()
      ->excludes(runs);
  command.add_option("--workers", line.bench.workers, "Worker processes (default: 1, 2 and 4 in turn, or 2)")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  add_bench_sizes(command, line.bench);
  command.add_flag("--hold", line.bench.hold, "Wait for a line on stdin when the tables of a case are prepared");
  command.add_option("--report", line.bench.report, "Measure nothing: print the lines of --json in FILE as Markdown")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  CLI::App& worker = add_command(line.app, line, "bench-worker", "A worker process of the benchmark",
                                 [](Line& l) { return bench_worker(l.settings, l.bench_worker); });
  worker.add_option("--concurrency", line.bench_worker.concurrency, "Branches held at once");
  worker.add_option("--fuse", line.bench_worker.fuse_steps, "Pure steps in one commit");
  worker.add_option("--model-url", line.bench_worker.model_url, "The model");
  worker.group("");
  CLI::App& model = add_command(line.app, line, "bench-model", "The model of the benchmark",
                                [](Line& l) { return bench_model(l.settings, l.slow_model); });
  model.add_option("--latency", line.slow_model.latency_ms, "How long it takes to answer, in ms");
  model.group("");
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
  add_dataset_commands(line);
  add_corpus_commands(line);
  add_start_command(line);
  add_fork_command(line);
  add_batch_command(line);
  add_runs_commands(line);
  add_reading_commands(line);
  add_asking_commands(line);
  add_control_commands(line);
  add_audit_commands(line);
  add_export_commands(line);
  add_archive_command(line);
  add_replay_commands(line);
  add_simulate_command(line);
  add_bench_commands(line);
}

// --- running one -----------------------------------------------------------------------------------------------------

// A descriptor 0, 1 or 2 that our caller closed would become a file or a connection of ours, and what is printed would
// go there: something that can be neither read nor written takes its place.
void occupy_standard_streams() {
  for (int file = open("/dev/null", O_PATH); file >= 0; file = open("/dev/null", O_PATH)) {
    if (file <= STDERR_FILENO) continue;
    close(file);
    return;
  }
}

// False for a level that there is not.
bool log_to_stderr() {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("cairn"));
  const char* given = std::getenv("CAIRN_LOG");
  const std::string level = given == nullptr || *given == '\0' ? "warn" : given;
  const auto found = spdlog::level::from_str(level);  // `off` for what it does not know
  spdlog::set_level(found);
  return found != spdlog::level::off || level == "off";
}

constexpr std::size_t sentence_bytes_max = 2'000;

int say(int code, const std::string& sentence) {
  std::cerr << "cairn: " << readable_line(sentence, sentence_bytes_max) << std::endl;
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
  occupy_standard_streams();
  if (!log_to_stderr()) return say(exit_usage, "Expected CAIRN_LOG to be debug, info, warn or error, but it is not.");
  for (int i = 1; i < argc; ++i)
    if (!is_utf8(argv[i]))
      return say(exit_usage, "Expected arguments in UTF-8, but argument " + std::to_string(i) + " is not.");
  Line line;
  add_commands(line);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return line.app.exit(asked);
  } catch (const CLI::ParseError& fault) {
    return say(exit_usage, usage_sentence(line.app, fault.what()));
  }
  // One in --dsn was looked at with the other arguments.
  if (const Status dsn = check_dsn(choose_database(line.settings).dsn, "CAIRN_DSN"); !dsn)
    return say(exit_usage, dsn.error().message);
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choose_database(line.settings));
  if (!checkpoints) return say(exit_usage, checkpoints.error().message);
  return run_chosen(line.chosen);
}

}  // namespace cairn
