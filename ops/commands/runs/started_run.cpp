#include "ops/commands/runs/started_run.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "engine/run_json.hpp"
#include "ops/answers/words.hpp"
#include "ops/service/wait_for_runs.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

Json outcome_json(const RunState& state) {
  const bool ended = is_ended(state.status);
  return {{"run", to_string(state.id)},
          {"status", status_word(state)},
          {"reason", state.reason.empty() ? Json(nullptr) : Json(state.reason)},
          {"output", ended ? state.output : Json(nullptr)},
          {"events", state.seq},
          {"questions", state_json(state)["questions"]}};
}

void print_outcome(const RunState& state, const Json& outcome) {
  if (is_ended(state.status)) print_value(outcome["output"]);
  print_questions(state, outcome["questions"]);
  std::string last = "\n" + painted_status(status_word(state)) + ", " + std::to_string(state.seq) + " events, " +
                     duration_text(state.last_at - state.started_at);
  if (!state.reason.empty()) last += ": " + state.reason;
  print_line(last);
}

Exit wait_and_print(Opened& opened, const Settings& settings, const RunId& run, bool execute) {
  const bool settled = wait_until(opened, {run}, execute, [&] {
    const std::optional<RunRow> row = opened.store->run(run);
    return !row || is_settled(*opened.client, *row);
  });
  const Result<RunState> state = opened.client->state(run);
  if (!state) return state.error();
  const Json outcome = opened.client->expand_blobs(outcome_json(*state), shard_of(run, opened.store->shards()));
  if (settings.json)
    print_json(outcome);
  else
    print_outcome(*state, outcome);
  if (!settled) std::cerr << "cairn: Interrupted; `cairn work` executes what is left of the run.\n";
  return !settled || state->status == RunStatus::failed || state->status == RunStatus::aborted ? exit_finding : exit_ok;
}

}  // namespace

void add_waiting(CommandLine& line, CLI::App& command, const std::string& wait_says, Waiting& waiting) {
  command.add_flag("--wait", waiting.wait, wait_says);
  command.add_flag("--no-work", waiting.no_work, "With --wait: leave the execution to other workers");
  add_tools(line, command);
}

Exit print_started(Opened& opened, const Settings& settings, const RunId& run, const Waiting& waiting) {
  if (!settings.json) print_line(to_string(run));
  std::cout.flush();
  if (waiting.wait) return wait_and_print(opened, settings, run, !waiting.no_work);
  if (settings.json) print_json({{"run", to_string(run)}});
  return exit_ok;
}

}  // namespace cairn
