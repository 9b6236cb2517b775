#include "ops/run_asks.hpp"

#include "ops/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {

Result<StartRun> start_command(const StartOptions& options) {
  StartRun command;
  command.graph = options.graph;
  command.input = options.input;
  command.options = options.options;
  command.tags = options.tags;
  if (options.continues.empty()) return command;
  const Result<RunId> earlier = run_argument(options.continues);
  if (!earlier) return earlier.error();
  command.continues = *earlier;
  return command;
}

Result<ForkOptions> fork_options(Client& client, const ForkRunOptions& options) {
  ForkOptions fork;
  fork.seq = options.at;
  if (!options.edit.empty()) fork.edit = options.edit;
  fork.answers = options.answers;
  fork.tags = options.tags;
  fork.recorded = options.recorded;
  if (!options.graph) return fork;
  const Result<GraphRef> graph = client.try_graph(*options.graph);
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

std::vector<Result<std::string>> words_after(Client& client, Store& store, const std::vector<RunId>& runs,
                                             const Command& command) {
  std::vector<Result<std::string>> words;
  const std::vector<Status> done = client.command_many(runs, command);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!done[i]) {
      words.emplace_back(done[i].error());
      continue;
    }
    const std::optional<RunRow> row = store.run(runs[i]);
    CHECK(row.has_value());
    words.emplace_back(status_word(*row));
  }
  return words;
}

}  // namespace cairn
