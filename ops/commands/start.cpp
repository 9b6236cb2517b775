#include <iostream>

#include "engine/run_json.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/execution.hpp"
#include "ops/run_asks.hpp"
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

Exit wait_for(Opened& opened, const Settings& settings, const RunId& run, bool execute) {
  const bool settled = execute_until(opened, {run}, execute, [&] {
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
  return !settled || state->status == RunStatus::failed || state->status == RunStatus::aborted ? 1 : 0;
}

// Prints the new run's id, and with `wait` what becomes of it.
Exit tell_started(Opened& opened, const Settings& settings, const RunId& run, bool wait, bool execute) {
  if (!settings.json) print_line(to_string(run));
  std::cout.flush();
  if (wait) return wait_for(opened, settings, run, execute);
  if (settings.json) print_json({{"run", to_string(run)}});
  return 0;
}

}  // namespace

Exit start(const Settings& settings, const StartOptions& options) {
  Result<StartRun> command = start_command(options);
  if (!command) return command.error();
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<Started> started = opened->client->start(*std::move(command), options.key);
  if (!started) return started.error();
  return tell_started(*opened, settings, started->run, options.wait, !options.no_work);
}

Exit fork_run(const Settings& settings, const ForkRunOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  Client& client = *found->opened.client;
  Result<ForkOptions> fork = fork_options(client, options);
  if (!fork) return fork.error();
  const Result<Started> started = client.fork(found->run, *std::move(fork));
  if (!started) return started.error();
  return tell_started(found->opened, settings, started->run, options.wait, !options.no_work);
}

}  // namespace cairn
