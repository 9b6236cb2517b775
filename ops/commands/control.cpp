// What an operator asks of runs: a signal, and pause, resume, retry, cancel and move of one run or of very many.
#include <algorithm>
#include <iostream>

#include "ops/command_line.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/run_asks.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

Command command_of(const ControlOptions& options) {
  switch (options.what) {
    case Control::pause:
      return Pause{};
    case Control::resume:
      return Resume{};
    case Control::retry:
      return Reopen{};
    case Control::cancel:
      return Cancel{options.reason};
    case Control::move:
      return MoveRun{};
  }
  CHECK(false);
}

// Tells what became of each run; a refusal never stops the others.
class Controlling {
 public:
  Controlling(Opened& opened, const Settings& settings, const ControlOptions& options)
      : opened_(opened), settings_(settings), dry_run_(options.dry_run), command_(command_of(options)) {}

  // Refuses `invalid`: the graph's faults. It is stored when the first run moves to it.
  Status move_to(const Json& text) {
    const Result<GraphRef> graph = opened_.client->try_graph(text);
    if (!graph) return graph.error();
    graph_ = *graph;
    std::get<MoveRun>(command_).version = graph_->version;
    return Done{};
  }

  void apply(const std::vector<RunId>& runs) {
    store_graph_for(runs);
    std::vector<Result<std::string>> words =
        dry_run_ ? words_if(runs) : words_after(*opened_.client, *opened_.store, runs, command_);
    for (std::size_t i = 0; i < runs.size(); ++i) tell(to_string(runs[i]), words[i]);
    std::cout.flush();
  }

  void tell(const std::string& run, const Result<std::string>& word) {
    ++told_;
    if (!word) {
      std::cerr << "cairn: " << word.error().message << '\n';
      if (exit_ == 0) exit_ = exit_code(word.error().code);
    }
    if (settings_.json)
      print_json(json_of(run, word));
    else if (word)
      print_line(run + " " + (dry_run_ ? "would be " : "") + painted_status(*word));
  }

  int exit() const { return exit_; }
  bool has_told() const { return told_ > 0; }

 private:
  Json json_of(const std::string& run, const Result<std::string>& word) const {
    Json line = {{"run", run}};
    if (word)
      line["status"] = *word;
    else
      line["refused"] = word.error().message;
    if (dry_run_) line["dry_run"] = true;
    return line;
  }

  void store_graph_for(const std::vector<RunId>& runs) {
    const auto can_move = [this](const RunId& run) { return opened_.client->state_if(run, command_).ok(); };
    if (graph_ == nullptr || dry_run_ || std::none_of(runs.begin(), runs.end(), can_move)) return;
    opened_.client->store_graph(graph_, false);
    graph_ = nullptr;
  }

  // Decided on the state as it is now; nothing is written.
  std::vector<Result<std::string>> words_if(const std::vector<RunId>& runs) {
    std::vector<Result<std::string>> words;
    for (const RunId& run : runs) {
      const Result<RunState> state = opened_.client->state_if(run, command_);
      words.push_back(state ? Result<std::string>(status_word(*state)) : Result<std::string>(state.error()));
    }
    return words;
  }

  Opened& opened_;
  const Settings& settings_;
  const bool dry_run_;
  Command command_;
  GraphRef graph_;  // that is not stored yet
  int exit_ = 0;
  int told_ = 0;
};

void apply_to_named(Controlling& controlling, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (const Result<RunId> run = run_argument(text))
      controlling.apply({*run});
    else
      controlling.tell(text, run.error());
  }
}

}  // namespace

Exit control(const Settings& settings, const ControlOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Controlling controlling(*opened, settings, options);
  if (options.graph)
    if (const Status known = controlling.move_to(*options.graph); !known) return known.error();
  if (!options.where) {
    apply_to_named(controlling, options.runs);
    return controlling.exit();
  }
  for_each_page(*opened->store, unlimited(*options.where), [&](std::span<const RunRow> page) {
    std::vector<RunId> runs;
    for (const RunRow& row : page) runs.push_back(row.id);
    controlling.apply(runs);
  });
  if (!settings.json && !controlling.has_told()) print_line(painted("No run matches.", Paint::dim));
  return controlling.exit();
}

Exit send_signal(const Settings& settings, const SignalOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  const SendSignal command{options.name, options.value, options.id};
  if (const Result<Done> done = found->opened.client->command(found->run, command); !done) return done.error();
  if (settings.json)
    print_json({{"run", options.run},
                {"signal", options.name},
                {"id", options.id.empty() ? Json(nullptr) : Json(options.id)}});
  else
    print_line("Sent the signal " + options.name + " to " + options.run + ".");
  return 0;
}

}  // namespace cairn
