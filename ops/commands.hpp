// The commands, one function each. Arguments come here as values: whatever could not be one was refused before.
// Each gives the exit code, or the refusal that the command line reports. Not thread-safe; one command per process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
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

struct UpOptions {
  int workers = 2;
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
Exit batch(const Settings& settings, const BatchOptions& options);

struct RunsOptions {
  std::string graph;
  std::string status;  // a word of RunStatus, or "waiting"
  Tags tags;
  std::optional<TimeUs> since;
  std::string lineage;
  std::int32_t limit = 100;
};
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
// Refuses `invalid`: an id that is none.
Result<RunFilter> run_filter(const RunsOptions& options);
Exit list_runs(const Settings& settings, const RunsOptions& options);
Exit report_use(const Settings& settings, const RunsOptions& options);
Exit show_run(const Settings& settings, const std::string& run, const Moment& at, bool raw);
Exit show_events(const Settings& settings, const EventsOptions& options);
Exit show_plan(const Settings& settings, const std::string& run, const Moment& at);
Exit answer(const Settings& settings, const AnswerOptions& options);
Exit cancel(const Settings& settings, const std::vector<std::string>& runs, const std::string& reason);

}  // namespace cairn
