#include "ops/service/run_commands.hpp"

#include "ops/answers/words.hpp"
#include "ops/requests/arguments.hpp"

namespace cairn {

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

std::vector<Result<std::string>> statuses_after(Client& client, Store& store, const std::vector<RunId>& runs,
                                                const Command& command) {
  std::vector<Result<std::string>> statuses;
  const std::vector<Status> done = client.command_many(runs, command);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!done[i]) {
      statuses.emplace_back(done[i].error());
      continue;
    }
    const std::optional<RunRow> row = store.run(runs[i]);
    CHECK(row.has_value());
    statuses.emplace_back(status_word(*row));
  }
  return statuses;
}

}  // namespace cairn
