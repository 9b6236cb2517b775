#include "ops/commands/runs/started_run.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>
#include <unistd.h>
#include <utility>

#include "engine/run_json.hpp"
#include "ops/answers/explain_facts.hpp"
#include "ops/answers/sessions.hpp"
#include "ops/answers/words.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/wait_for_runs.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "storage/starts/start_book.hpp"
#include "workers/ports/local_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

Json outcome_json(const RunState& state) {
  const bool ended = is_ended(state.status);
  return {{"run", to_string(state.id)},
          {"status", status_word(state)},
          {"reason", state.reason.empty() ? Json(nullptr) : Json(state.reason)},
          {"cause", state.cause ? cause_json(*state.cause) : Json(nullptr)},
          {"output", ended ? state.output : Json(nullptr)},
          {"events", state.seq},
          {"questions", state_json(state)["questions"]}};
}

void print_outcome(const RunState& state, const Json& outcome) {
  if (is_ended(state.status)) print_value(outcome["output"]);
  print_questions(state, outcome["questions"]);
  std::string last = "\n" + painted_status(status_word(state)) + ", " + counted(state.seq, "event") + ", " +
                     duration_text(state.last_at - state.started_at);
  if (const std::string why = reason_text(state.reason, state.cause); !why.empty()) last += ": " + why;
  print_paragraph(last);
}

using Clock = std::chrono::steady_clock;

// Says on stderr what a run waits for: first after a few seconds, then when that has changed, a few seconds apart, and
// again every ten seconds, with how long that has been.
class WaitingLines {
 public:
  WaitingLines(Opened& opened, const RunId& run) : opened_(opened), run_(run) {}

  void poll() {
    constexpr std::chrono::seconds pause{5};
    if (Clock::now() - polled_at_ < pause) return;
    say();
  }

  // Nothing if that was said less than ten seconds ago.
  void say() {
    polled_at_ = Clock::now();
    Result<Explained> explained = read_explained(*opened_.client, *opened_.store, opened_.dsn, run_);
    if (!explained || is_ended(explained->state.status)) return;
    explained->situation.time_said = local_moment;
    for (const SessionRow& row : explained->situation.sessions)  // the worker of this process is there for the run
      if (row.pid == getpid() && row.machine == machine_id()) explained->situation.own.insert(row.id);
    const std::vector<Reason> reasons = explain(explained->state, explained->situation);
    if (reasons.empty()) return;
    const Reason& reason = reasons.front();
    std::string says = readable_line((reason.node.empty() ? "" : reason.node + ": ") + reason.says, 400);
    if (reasons.size() > 1) says += " (and " + std::to_string(reasons.size() - 1) + " more)";
    constexpr std::chrono::seconds again{10};
    const bool is_known = says == std::exchange(said_, says);
    if (is_known && polled_at_ - said_at_ < again) return;
    said_at_ = polled_at_;
    const TimeUs waited_us = std::chrono::duration_cast<std::chrono::microseconds>(said_at_ - began_at_).count();
    std::cerr << "cairn: Waiting" << (is_known ? ", for " + duration_text(waited_us) + " so far. " : ". ") << says
              << std::endl;
  }

 private:
  Opened& opened_;
  const RunId run_;
  const Clock::time_point began_at_ = Clock::now();
  Clock::time_point polled_at_ = began_at_;
  std::string said_;
  Clock::time_point said_at_{};
};

}  // namespace

void print_late(const Waiting& waiting, std::string_view what) {
  std::cerr << "cairn: Expected the " << what << " to end within " << duration_text(*waiting.timeout_us)
            << ", but it did not; it goes on where a worker is.\n";
}

Exit wait_and_print(Opened& opened, const Settings& settings, const RunId& run, const Waiting& waiting) {
  if (!waiting.no_work)
    if (const Status ready = make_ready_to_work(*opened.catalogue); !ready) return ready.error();
  const Deadline deadline(waiting);
  bool is_late = false;
  WaitingLines lines(opened, run);
  const bool settled = wait_until(opened, {run}, !waiting.no_work, [&] {
    const std::optional<RunRow> row = opened.store->run(run);
    if (!row && !start_to_come(*opened.store, run)) return true;
    if (row && is_settled(*opened.client, *row)) return true;
    lines.poll();
    is_late = deadline.is_over();
    return is_late;
  });
  const Result<RunState> state = opened.client->state(run);
  if (!state) return state.error();
  const Json outcome = opened.client->expand_blobs(outcome_json(*state), shard_of(run, opened.store->shards()));
  if (settings.json)
    print_json(outcome);
  else
    print_outcome(*state, outcome);
  if (is_late) lines.say();
  if (is_late) print_late(waiting, "run");
  if (!settled) std::cerr << "cairn: Interrupted; `cairn work` executes what is left of the run.\n";
  return !settled || is_late || state->status == RunStatus::failed || state->status == RunStatus::aborted ? exit_finding
                                                                                                          : exit_ok;
}

// One that was started a moment ago has time to open its session.
void hint_at_workers(Store& store) {
  if (isatty(STDERR_FILENO) == 0) return;
  constexpr std::chrono::milliseconds patience{700};
  for (const auto began = Clock::now(); Clock::now() - began < patience;) {
    const TimeUs now = store.database_time();
    for (const SessionRow& session : store.sessions().all())
      if (!is_silent(session, now) && !session.only_own) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::cerr << "cairn: No worker is there to go on; `cairn work` starts one, or wait with --wait.\n";
}

CLI::Option* add_timeout(CLI::App& command, Waiting& waiting) {
  return add_text(
      command, "--timeout", "TIME", "Wait so long at most (90s, 10m); exit 1 if the run has not ended by then",
      [&waiting](const std::string& text) -> Status {
        const Result<Age> age = age_argument(text);
        if (!age || age->at_us || age->age_us == 0)
          return Error{Code::invalid, "Expected a duration like 90s or 10m in --timeout, but found \"" + text + "\"."};
        waiting.timeout_us = age->age_us;
        return Done{};
      });
}

void add_waiting(CommandLine& line, CLI::App& command, const std::string& wait_says, Waiting& waiting) {
  CLI::Option* const wait = command.add_flag("--wait", waiting.wait, wait_says);
  command.add_flag("--no-work", waiting.no_work, "With --wait: leave the execution to other workers");
  add_timeout(command, waiting)->needs(wait);
  add_tools(line, command);
}

Exit print_started(Opened& opened, const Settings& settings, const Started& started, const Waiting& waiting) {
  const RunId& run = started.run;
  if (!settings.json) print_line(to_string(run));
  std::cout.flush();
  if (started.standing == StartStanding::skipped)
    std::cerr << "cairn: Nothing was started: this run has the key, and its graph skips other starts meanwhile.\n";
  if (started.standing == StartStanding::waits)
    std::cerr << "cairn: The run begins later, as its graph says; `cairn starts` shows what waits.\n";
  if (waiting.wait) return wait_and_print(opened, settings, run, waiting);
  if (settings.json) print_json({{"run", to_string(run)}, {"start", to_string(started.standing)}});
  if (!settings.json) hint_at_workers(*opened.store);
  return exit_ok;
}

}  // namespace cairn
