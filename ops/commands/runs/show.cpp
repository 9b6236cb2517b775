#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "engine/run_json.hpp"
#include "ops/answers/answer_room.hpp"
#include "ops/answers/called_runs.hpp"
#include "ops/answers/run_json.hpp"
#include "ops/answers/step_progress.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct ShowOptions {
  std::string run;
  Moment at;
  bool raw = false;
};

Json import_json(const ImportOrigin& origin) {
  return {{"at", time_text(origin.at_us)},
          {"by", origin.by},
          {"database", origin.database},
          {"file_sha256", hex(origin.file_digest)},
          {"key", origin.key ? Json(hex(*origin.key)) : Json(nullptr)}};
}

std::string import_text(const ImportOrigin& origin) {
  return "Imported by " + origin.by + " at " + local_moment(origin.at_us) + " from database " + origin.database +
         " (SHA-256 of the export: " + hex(origin.file_digest) + "); " +
         (origin.key ? "its end was signed there by key " + hex(*origin.key) + "."
                     : "whose signature it has was not checked.");
}

std::vector<RunRow> called_by(Store& store, const RunState& state) {
  const std::optional<RunFilter> filter = called_filter(state);
  return filter ? store.runs(*filter) : std::vector<RunRow>();
}

void print_called(const std::string& run, std::span<const RunRow> called) {
  if (called.empty()) return;
  print_line("");
  print_line(painted("Called runs", Paint::bold));
  Table table({"RUN", "GRAPH", "STATUS", "EVENTS", "REASON"});
  for (const RunRow& row : called.first(std::min<std::size_t>(called.size(), called_runs_max)))
    table.add({to_string(row.id), row.graph, painted_status(status_word(row)), std::to_string(row.head),
               reason_text(row.reason, row.cause)});
  table.print();
  print_line(
      painted((called.size() > called_runs_max ? "And more: " : "") + ("cairn runs --parent " + run), Paint::dim));
}

void print_written(const std::vector<ProgressRow>& progress) {
  print_line("\n" + painted("Progress", Paint::bold));
  for (const ProgressRow& row : progress)
    print_below("  ", "    ",
                "step " + std::to_string(row.place.step) + " (" + row.node + ")  " + progress_sentence(row));
}

Exit show_run(const Settings& settings, const ShowOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  const Result<RunState> state = state_at(*found->opened.client, found->run, options.at);
  if (!state) return state.error();
  Json shown = state_json(*state);
  if (!options.raw) shown = found->opened.client->expand_blobs(std::move(shown), found->shard);
  const std::optional<ImportOrigin> origin = found->opened.store->all_runs().imported(found->run);
  const std::vector<RunRow> called = called_by(*found->opened.store, *state);
  const bool is_now = !options.at.seq && !options.at.at_us;
  const std::vector<ProgressRow> progress =
      is_now ? found->opened.store->progress().of(found->run) : std::vector<ProgressRow>();
  if (settings.json) {
    if (!called.empty()) shown["children"] = called_json(called);
    if (origin) shown["imported"] = import_json(*origin);
    if (!progress.empty()) shown["progress"] = progress_json(progress, answer_bytes_max);
    print_json(shown);
  } else {
    print_state(*state, shown);
    print_called(to_string(found->run), called);
    if (!progress.empty()) print_written(progress);
    if (origin) {
      print_line("");
      print_paragraph(import_text(*origin));
    }
  }
  return exit_ok;
}

}  // namespace

void add_show(CommandLine& line) {
  auto& options = line.keep<ShowOptions>();
  CLI::App& command = add_command(
      line, "show", "A run's state as of any moment: channels, open steps, plan, budgets, questions",
      "cairn show RUN --at 5", paged([&](const Settings& settings) { return show_run(settings, options); }));
  add_run(command, options.run);
  add_moment(command, options.at);
  command.add_flag("--raw", options.raw, "Leave large values as references to their blobs");
}

}  // namespace cairn
