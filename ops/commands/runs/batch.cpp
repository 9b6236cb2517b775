#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include "ops/answers/words.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/runs/started_run.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/input_lines.hpp"
#include "ops/service/wait_for_runs.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ids.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t start_many_max = 500;
constexpr std::size_t tag_letters = 16;
constexpr std::int32_t runs_max = 10'000'000;

struct BatchOptions {
  std::string graph;
  InputsFile inputs;
  std::string out;  // a file; "": stdout, with --json
  Tags tags;        // of each run, in addition to `batch`
  Waiting waiting;
};

struct BatchRun {
  std::int64_t line = 0;
  RunId run;
  std::string archived = {};  // a sentence that says where, if it was
};

// Starts inputs in few commits. A run's key is made of the file's digest and the line's number.
class Starter {
 public:
  Starter(Client& client, const BatchOptions& options) : client_(client), options_(options) {}

  Status add(std::int64_t line, Json input) {
    StartRun command;
    command.graph = options_.graph;
    command.input = std::move(input);
    command.tags = options_.tags;
    command.tags["batch"] = tag();
    lines_.push_back(line);
    commands_.emplace_back(std::move(command), key_of(line));
    return commands_.size() < start_many_max ? Status(Done{}) : flush();
  }

  Status flush() {
    const std::vector<Result<Started>> started = client_.start_many(std::exchange(commands_, {}));
    const std::vector<std::int64_t> lines = std::exchange(lines_, {});
    for (std::size_t i = 0; i < started.size(); ++i) {
      if (!started[i] && started[i].error().code == Code::closed) {
        runs_.push_back({lines[i], keyed_run_id(options_.graph, key_of(lines[i])), started[i].error().message});
        ++archived_;
        continue;
      }
      if (!started[i])
        return Error{started[i].error().code, "Line " + std::to_string(lines[i]) + ": " + started[i].error().message};
      runs_.push_back({lines[i], started[i]->run});
      if (started[i]->existed) ++existed_;
      if (started[i]->standing == StartStanding::waits) to_begin_.push_back(started[i]->run);
    }
    return Done{};
  }

  std::string tag() const { return options_.inputs.digest.substr(0, tag_letters); }
  const std::vector<BatchRun>& runs() const { return runs_; }
  const std::vector<RunId>& to_begin() const { return to_begin_; }  // later, as the graph says
  std::size_t existed() const { return existed_; }
  std::size_t archived() const { return archived_; }

 private:
  std::string key_of(std::int64_t line) const { return options_.inputs.digest + ":" + std::to_string(line); }

  Client& client_;
  const BatchOptions& options_;
  std::vector<std::pair<StartRun, std::string>> commands_;
  std::vector<std::int64_t> lines_;
  std::vector<BatchRun> runs_;
  std::vector<RunId> to_begin_;
  std::size_t existed_ = 0;
  std::size_t archived_ = 0;  // before this call
};

// Detects that no run of the batch moves any more; meanwhile shows a bar on stderr if stdout is a terminal.
class BatchWatch {
 public:
  BatchWatch(Opened& opened, const Starter& starter)
      : opened_(opened), total_(starter.runs().size() - starter.archived()), to_begin_(starter.to_begin()) {
    moving_.tags["batch"] = starter.tag();
    moving_.status = RunStatus::running;
  }

  bool settled() {
    draw();
    if (moves_ && goes_on(*moves_)) return false;
    while (!to_begin_.empty() && !start_to_come(*opened_.store, to_begin_.back())) to_begin_.pop_back();
    if (!to_begin_.empty()) return false;
    std::vector<RunRow> rows = find(false, 1);
    if (rows.empty()) rows = find(true, runs_max);
    const auto moving =
        std::find_if(rows.begin(), rows.end(), [this](const RunRow& row) { return !is_settled(*opened_.client, row); });
    if (moving == rows.end()) return true;
    moves_ = moving->id;
    return false;
  }

 private:
  bool goes_on(const RunId& run) const {
    const std::optional<RunRow> row = opened_.store->run(run);
    return row && !is_settled(*opened_.client, *row);
  }

  std::vector<RunRow> find(bool waiting, std::int32_t limit) {
    moving_.waiting = waiting;
    moving_.limit = limit;
    return opened_.store->runs(moving_);
  }

  void draw() {
    if (!progress_.is_due() || total_ == 0) return;
    const std::size_t left = std::min(total_, find(false, runs_max).size());
    const std::size_t filled = 40 * (total_ - left) / total_;
    progress_.show("[" + std::string(filled, '#') + std::string(40 - filled, '.') + "] " +
                   std::to_string(total_ - left) + " of " + std::to_string(total_));
  }

  Opened& opened_;
  std::size_t total_;
  std::vector<RunId> to_begin_;
  RunFilter moving_;
  std::optional<RunId> moves_;  // the last one seen to move; kept because finding another among many is expensive
  Progress progress_;
};

Json output_of(Opened& opened, const RunRow& row) {
  const Result<std::vector<Event>> last = opened.client->events(row.id, row.head - 1, 1);
  if (!last || last->empty()) return nullptr;
  const RunFinished* finished = std::get_if<RunFinished>(&last->front().body);
  if (finished == nullptr) return nullptr;
  return opened.client->expand_blobs(parse_stored(finished->output), shard_of(row.id, opened.store->shards()));
}

using Counts = std::map<std::string, int>;

// A run that was archived before this batch, or while it waited.
Json archived_line(const BatchRun& run, Counts& counts) {
  ++counts["archived"];
  return {{"line", run.line},     {"run", to_string(run.run)},
          {"status", "archived"}, {"reason", run.archived.empty() ? Json(nullptr) : Json(run.archived)},
          {"cause", nullptr},     {"output", nullptr}};
}

Json result_line(Opened& opened, const BatchRun& run, Counts& counts) {
  const std::optional<RunRow> row = run.archived.empty() ? opened.store->run(run.run) : std::nullopt;
  if (!row) return archived_line(run, counts);
  const std::string status = status_word(*row);
  ++counts[status];
  return {{"line", run.line},
          {"run", to_string(run.run)},
          {"status", status},
          {"reason", row->reason.empty() ? Json(nullptr) : Json(row->reason)},
          {"cause", row->cause ? cause_json(*row->cause) : Json(nullptr)},
          {"output", is_ended(row->status) ? output_of(opened, *row) : Json(nullptr)}};
}

Result<Counts> write_results(Opened& opened, const std::vector<BatchRun>& runs, const BatchOptions& options,
                             bool json) {
  std::ofstream file;
  if (!options.out.empty()) file.open(options.out, std::ios::binary | std::ios::trunc);
  std::ostream& out = options.out.empty() ? std::cout : file;
  Counts counts;
  for (const BatchRun& run : runs) {
    const Json line = result_line(opened, run, counts);
    if (json || !options.out.empty()) out << visible(canonical(line)) << '\n';
  }
  if (out.flush()) return counts;
  return Error{Code::invalid, "Expected to write the results to " + options.out + ", but it cannot be written."};
}

void print_counts(const Starter& starter, const Counts& counts) {
  std::string line = counted(static_cast<std::int64_t>(starter.runs().size()), "run");
  if (starter.existed() > 0) line += " (" + std::to_string(starter.existed()) + " were there already)";
  for (const auto& [status, count] : counts) line += ", " + std::to_string(count) + " " + painted_status(status);
  print_paragraph(line + "; tag batch=" + starter.tag());
}

// Every line is looked at before the first run is started.
Status start_all(Client& client, Starter& starter, const BatchOptions& options) {
  const Status fit = for_each_input(options.inputs.path, [&](std::int64_t line, const Json& input) {
    const Status fits = client.check_input(options.graph, input);
    return fits ? fits : Status(Error{fits.error().code, "Line " + std::to_string(line) + ": " + fits.error().message});
  });
  if (!fit) return fit;
  const Status added = for_each_input(
      options.inputs.path, [&](std::int64_t line, Json input) { return starter.add(line, std::move(input)); });
  return added ? starter.flush() : added;
}

enum class Waited : std::uint8_t { settled, late, interrupted };

Waited wait_for_all(Opened& opened, const Starter& starter, const Waiting& waiting) {
  std::vector<RunId> ids;
  for (const BatchRun& run : starter.runs())
    if (run.archived.empty()) ids.push_back(run.run);
  BatchWatch watch(opened, starter);
  const Deadline deadline(waiting);
  bool is_late = false;
  const bool settled = ids.empty() || wait_until(opened, ids, !waiting.no_work, [&] {
                         if (watch.settled()) return true;
                         is_late = deadline.is_over();
                         return is_late;
                       });
  if (!settled) return Waited::interrupted;
  return is_late ? Waited::late : Waited::settled;
}

Exit start_batch(const Settings& settings, const BatchOptions& options) {
  if (options.tags.contains("batch"))
    return Error{Code::invalid, "Expected tags of the runs, but found batch, which the command gives itself."};
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  if (options.waiting.wait && !options.waiting.no_work)
    if (const Status ready = make_ready_to_work(*opened->catalogue); !ready) return ready.error();
  Starter starter(*opened->client, options);
  if (const Status started = start_all(*opened->client, starter, options); !started) return started.error();
  const Waited waited = options.waiting.wait ? wait_for_all(*opened, starter, options.waiting) : Waited::settled;
  if (waited == Waited::late) print_late(options.waiting, "batch");
  if (waited == Waited::interrupted) std::cerr << "cairn: Interrupted; the same command goes on with the batch.\n";
  const Result<Counts> counts = write_results(*opened, starter.runs(), options, settings.json);
  if (!counts) return counts.error();
  if (!settings.json) print_counts(starter, *counts);
  const bool failed = counts->contains("failed") || counts->contains("aborted");
  return waited != Waited::settled || (options.waiting.wait && failed) ? exit_finding : exit_ok;
}

}  // namespace

void add_batch(CommandLine& line) {
  auto& options = line.keep<BatchOptions>();
  CLI::App& command = add_command(
      line, "batch", "Start a run for each line of a file of inputs; the same file again starts nothing twice",
      "cairn batch order --inputs inputs.jsonl --wait --out results.jsonl",
      [&](const Settings& settings) { return start_batch(settings, options); });
  command.add_option("GRAPH", options.graph, "The graph's name")->required()->type_name("");
  add_text(command, "--inputs", "FILE", "JSON lines, an input object on each; - for stdin",
           [&](const std::string& path) { return assign(options.inputs, inputs_argument(path)); })
      ->required();
  add_text(command, "--out", "FILE", "Where a line for each run goes (default: stdout with --json)",
           [&](const std::string& path) { return assign(options.out, output_argument(path)); });
  add_tags(command, "A searchable tag of each run (repeatable)", options.tags);
  add_waiting(line, command, "Execute the runs here until all have ended, are paused or have only questions left",
              options.waiting);
}

}  // namespace cairn
