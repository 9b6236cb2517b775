#include "ops/service/run_commands.hpp"

#include <algorithm>

#include "ops/answers/words.hpp"
#include "ops/requests/arguments.hpp"
#include "storage/starts/start_book.hpp"

namespace cairn {
namespace {

Result<Controlled> would_be(Client& client, Store& store, const RunId& run, const Command& command) {
  const Result<RunState> state = client.state_if(run, command);
  if (state) return Controlled{status_word(*state), is_ending(*state)};
  if (std::holds_alternative<Cancel>(command) && start_to_come(store, run)) return Controlled{"withdrawn"};
  return state.error();
}

// Decided on the current state if it is dry.
std::vector<Result<Controlled>> commanded(Client& client, Store& store, const std::vector<RunId>& runs,
                                          const Command& command, bool is_dry) {
  std::vector<Status> done;
  if (!is_dry) done = client.command_many(runs, command);
  std::vector<Result<Controlled>> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (is_dry) {
      all.push_back(would_be(client, store, runs[i], command));
      continue;
    }
    if (!done[i]) {
      all.emplace_back(done[i].error());
      continue;
    }
    const std::optional<RunRow> row = store.run(runs[i]);
    all.emplace_back(row ? Controlled{status_word(*row), is_ending(*row)} : Controlled{"withdrawn"});
  }
  return all;
}

// The version is stored once a run can move to it: if all refuse, nothing of it is left.
std::vector<Result<Controlled>> moved(Client& client, Store& store, const std::vector<RunId>& runs,
                                      const ControlRequest& request) {
  const MoveRun move{request.graph->version, request.reason};
  const auto can_move = [&](const RunId& run) { return client.state_if(run, move).ok(); };
  if (!request.dry_run && std::any_of(runs.begin(), runs.end(), can_move)) client.store_graph(request.graph, false);
  return commanded(client, store, runs, move, request.dry_run);
}

Result<Controlled> controlled(Store& store, const Result<SecondTry>& second) {
  if (!second) return second.error();
  if (second->forked_at) return Controlled{"forked", false, *second};
  const std::optional<RunRow> row = store.run(second->run);
  const bool is_open = row && !is_ended(row->status);
  return Controlled{is_open ? status_word(*row) : std::string(to_string(RunStatus::running))};
}

}  // namespace

Result<StartRun> start_command(const StartRequest& request) {
  StartRun command;
  command.graph = request.graph;
  command.input = request.input;
  command.options = request.options;
  command.tags = request.tags;
  if (request.continues.empty()) return command;
  const Result<RunId> earlier = run_argument(request.continues);
  if (!earlier) return earlier.error();
  command.continues = *earlier;
  return command;
}

Result<ForkOptions> fork_options(Client& client, const ForkRequest& request) {
  ForkOptions fork;
  fork.seq = request.at;
  if (!request.edit.empty()) fork.edit = request.edit;
  fork.answers = request.answers;
  fork.tags = request.tags;
  fork.recorded = request.recorded;
  fork.reason = request.reason;
  if (!request.graph) return fork;
  const Result<GraphRef> graph = client.try_graph(*request.graph);
  if (!graph) return graph.error();
  fork.graph = *graph;
  return fork;
}

Result<std::string> question_meant(Client& client, const RunId& run, const std::string& question) {
  if (!question.empty()) return question;
  const Result<RunState> state = client.state(run);
  if (!state) return state.error();
  return state->questions.size() == 1 ? state->questions.begin()->first : std::string();
}

std::vector<Result<Controlled>> control_runs(Client& client, Store& store, const std::vector<RunId>& runs,
                                             const ControlRequest& request, const MayFork& may_fork) {
  const SecondTryOptions second_try{request.reason, request.dry_run, may_fork};
  switch (request.kind) {
    case ControlRequest::Kind::pause:
      return commanded(client, store, runs, Pause{request.reason}, request.dry_run);
    case ControlRequest::Kind::resume:
      return commanded(client, store, runs, Resume{request.reason}, request.dry_run);
    case ControlRequest::Kind::cancel:
      return commanded(client, store, runs, Cancel{request.reason, request.now}, request.dry_run);
    case ControlRequest::Kind::move:
      return moved(client, store, runs, request);
    case ControlRequest::Kind::retry: {
      std::vector<Result<Controlled>> all;
      for (const Result<SecondTry>& second : try_again(client, store, runs, second_try))
        all.push_back(controlled(store, second));
      return all;
    }
    case ControlRequest::Kind::reset: {
      std::vector<Result<Controlled>> all;
      for (const RunId& run : runs)
        all.push_back(controlled(store, reset_run(client, store, run, request.to, second_try)));
      return all;
    }
  }
  CHECK(false);
}

}  // namespace cairn
