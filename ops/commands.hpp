// The commands, one function each. Arguments come here as values: whatever could not be one was refused before.
// Each gives the exit code, or the refusal that the command line reports. Not thread-safe; one command per process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
#include "ops/http/guard.hpp"
#include "storage/store.hpp"

namespace cairn {

using Exit = Result<int>;

// What every command understands.
struct Settings {
  bool json = false;
  std::string dsn;    // --dsn; "": see choose_database
  std::string data;   // --data
  std::string tools;  // --tools; "": CAIRN_TOOLS
};

// A moment of a run's history: a sequence number or a time; none is now.
struct Moment {
  std::optional<std::int64_t> seq;
  std::optional<TimeUs> at_us;
};

// Which runs are meant: one of the three.
struct RunSelection {
  std::vector<std::string> runs;
  std::optional<RunFilter> where;
  bool all = false;

  bool empty() const { return runs.empty() && !where && !all; }
};

struct UpOptions {
  int workers = 2;
  std::optional<ListenAddress> listen = {};  // with a process that serves there
};
struct WorkOptions {
  std::vector<std::string> queues;
  int concurrency = 256;
};
Exit up(const Settings& settings, const UpOptions& options);
Exit down(const Settings& settings);
Exit migrate_schema(const Settings& settings, std::int32_t shards);
Exit work(const Settings& settings, const WorkOptions& options);
struct QueueSetOptions {  // what is not given stays as it is
  std::string queue;
  std::string concurrency;  // a number or "none"
  bool pause = false;
  bool resume = false;
};
Exit load_dataset(const Settings& settings);
Exit show_queues(const Settings& settings);
Exit set_queue(const Settings& settings, const QueueSetOptions& options);
Exit show_workers(const Settings& settings);

Exit graph_list(const Settings& settings);
Exit graph_show(const Settings& settings, const std::string& name, const std::string& format);
Exit graph_check(const Settings& settings, const Json& graph);
Exit graph_add(const Settings& settings, const Json& graph);

struct StartOptions {
  std::string graph;
  Json input = Json::object();
  Options options;
  Tags tags;
  std::string key;
  std::string continues;
  bool wait = false;
  bool no_work = false;
};
struct BatchOptions {
  std::string graph;
  std::string inputs;  // a file in which every line has been found to be an input
  std::string digest;  // of its bytes
  std::string out;     // a file; "": stdout, with --json
  bool wait = false;
  bool no_work = false;
};
Exit start(const Settings& settings, const StartOptions& options);
struct ForkRunOptions {
  std::string run;
  std::int64_t at = 0;
  Json edit = Json::object();  // channels to set; empty: none
  std::map<std::string, Json> answers;
  std::optional<Json> graph;
  Tags tags;
  bool recorded = false;
  bool wait = false;
  bool no_work = false;
};
Exit fork_run(const Settings& settings, const ForkRunOptions& options);
Exit batch(const Settings& settings, const BatchOptions& options);

struct EventsOptions {
  std::string run;
  std::int64_t from = 1;
  bool follow = false;
  bool raw = false;
};
struct AnswerOptions {
  std::string run;
  std::string question;
  Json value;
  std::string by;
};
Exit list_runs(const Settings& settings, const RunFilter& filter);
Exit report_use(const Settings& settings, const RunFilter& filter);
Exit show_run(const Settings& settings, const std::string& run, const Moment& at, bool raw);
Exit show_events(const Settings& settings, const EventsOptions& options);
Exit show_plan(const Settings& settings, const std::string& run, const Moment& at);
Exit answer(const Settings& settings, const AnswerOptions& options);

// What may be asked of runs, each named or found by a filter. Every refusal is told, and the others go on; the exit
// code is that of the first refusal.
enum class Control : std::uint8_t { pause, resume, retry, cancel, move };
struct ControlOptions {
  Control what = Control::pause;
  std::vector<std::string> runs;
  std::optional<RunFilter> where;  // in place of `runs`
  bool dry_run = false;            // tell what would become of them and write nothing
  std::string reason;              // of a cancel
  std::optional<Json> graph;       // of a move: the version to go on with
};
struct SignalOptions {
  std::string run;
  std::string name;
  Json value;
  std::string id;
};
Exit control(const Settings& settings, const ControlOptions& options);
Exit send_signal(const Settings& settings, const SignalOptions& options);
struct DiffOptions {
  std::string a;
  std::string b;                     // "": the same run
  std::optional<std::int64_t> from;  // a's moment; nothing: its head
  std::optional<std::int64_t> to;    // b's
};
Exit diff_runs(const Settings& settings, const DiffOptions& options);
struct ReplayRunsOptions {
  RunSelection of;
  std::optional<Json> graph;  // in place of each run's own
  bool handlers = false;
};
Exit replay_runs(const Settings& settings, const ReplayRunsOptions& options);
Exit explain_run(const Settings& settings, const std::string& run);
Exit doctor(const Settings& settings);

struct VerifyOptions {
  RunSelection of;
  std::string file;  // in its place: an export; no database is needed
};
Exit verify(const Settings& settings, const VerifyOptions& options);
Exit rebuild(const Settings& settings, bool check);
// To stdout; see ops/audit/export_format.md.
struct ExportOptions {
  RunSelection of;
  bool zstd = false;
};
struct ImportOptions {
  std::string file;
  bool running = false;  // also runs that have not ended
};
struct Age {  // a time, or so long ago
  std::optional<TimeUs> at_us;
  std::int64_t age_us = 0;
};
struct ArchiveOptions {
  Age older_than;
  RunFilter where;
  std::string out;
};
Exit export_runs(const Settings& settings, const ExportOptions& options);
Exit import_runs(const Settings& settings, const ImportOptions& options);
Exit archive_runs(const Settings& settings, const ArchiveOptions& options);

Exit corpus_load(const Settings& settings, const std::string& name, const std::string& directory);
Exit corpus_list(const Settings& settings);
Exit corpus_search(const Settings& settings, const std::string& name, const std::string& words);
Exit corpus_drop(const Settings& settings, const std::string& name);

struct SimulateOptions {
  std::string graph;  // a file, or the name of one that is built in or in the database
  std::uint64_t seeds = 1'000;
  std::optional<std::uint64_t> seed;  // the first one; nothing: drawn
  Json handlers = Json::object();     // what they do; see workers/simulation/script.hpp
  Json input = Json::object();
};
Exit simulate(const Settings& settings, const SimulateOptions& options);

}  // namespace cairn
