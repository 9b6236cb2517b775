#include "workers/simulation/ledger.hpp"

#include "workers/simulation/checker.hpp"

namespace cairn::simulation {
namespace {

struct Named {
  std::string operator()(const Answer& answer) const { return answer.by; }
  std::string operator()(const SendSignal& signal) const { return signal.id; }
  std::string operator()(const Cancel& cancel) const { return cancel.reason; }
  std::string operator()(const QuestionAnswered& event) const { return event.by; }
  std::string operator()(const SignalReceived& event) const { return event.id; }
  std::string operator()(const RunEnding& event) const { return event.reason; }
  std::string operator()(const RunFinished& event) const { return event.reason; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

struct EventOf {
  std::string_view operator()(const StartRun&) const { return "run_started"; }
  std::string_view operator()(const Answer&) const { return "question_answered"; }
  std::string_view operator()(const SendSignal&) const { return "signal_received"; }
  std::string_view operator()(const Cancel&) const { return "run_finished"; }
  std::string_view operator()(const Pause&) const { return "run_paused"; }
  std::string_view operator()(const Resume&) const { return "run_resumed"; }
  std::string_view operator()(const Reopen&) const { return "run_reopened"; }
  template <class Other>
  std::string_view operator()(const Other&) const {
    return "";
  }
};

}  // namespace

Ledger::Entry Ledger::entry_of(const RunId& run, const Command& command) {
  return {run, std::visit(EventOf{}, command), std::visit(Named{}, command)};
}

void Ledger::answered(const Entry& entry, Response what) {
  Line& line = lines_.at(entry);
  --line.under_way;
  ++(what == Response::done ? line.done : what == Response::refused ? line.refused : line.in_doubt);
}

bool Ledger::is_under_way(const Entry& entry) const {
  const auto line = lines_.find(entry);
  return line != lines_.end() && line->second.under_way > 0;
}

// A run that cleans up is cancelled when that begins; its end only repeats the reason.
void Ledger::record(const RunId& run, const Event& event) {
  const std::string name = std::visit(Named{}, event.body);
  const bool is_ending = std::holds_alternative<RunEnding>(event.body);
  if (is_ending) endings_.emplace(run, name);
  if (std::holds_alternative<RunFinished>(event.body) && endings_.contains({run, name})) return;
  const auto line = lines_.find({run, is_ending ? EventOf{}(Cancel{}) : type_of(event.body), name});
  if (line != lines_.end()) ++line->second.in_log;
}

void Ledger::check() const {
  for (const auto& [entry, line] : lines_) {
    const std::string of = std::string(entry.event) + " " + entry.name + " of run " + to_string(entry.run).substr(0, 8);
    const std::string times = std::to_string(line.in_log) + " times in the log";
    if (line.in_log < line.done)
      found(of + " was acknowledged " + std::to_string(line.done) + " times, but is " + times + ".");
    if (line.in_log > line.done + line.in_doubt + line.under_way)
      found(of + " was refused " + std::to_string(line.refused) + " times and acknowledged " +
            std::to_string(line.done) + " times, but is " + times + ".");
  }
}

}  // namespace cairn::simulation
