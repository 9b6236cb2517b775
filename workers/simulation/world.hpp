// The world of one simulation: virtual time, the store and the way to it, draws, handlers, the checks and the story.
// Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"
#include "workers/session/store_calls.hpp"
#include "workers/simulation/agenda.hpp"
#include "workers/simulation/chance.hpp"
#include "workers/simulation/checker.hpp"
#include "workers/simulation/ledger.hpp"
#include "workers/simulation/scenario.hpp"
#include "workers/simulation/script.hpp"

namespace cairn::simulation {

// The handlers and tools of a simulation.
struct Cast {
  HandlerTable handlers;  // their names, labels and whether they are pure; what others than data.* do is scripted
  ToolTable tools;
  Json says;  // what the user wants of the script; null: random graphs, by fate
  std::function<Conduct(const std::vector<GraphRef>& graphs)> conduct = {};  // in place of either
};

inline constexpr TimeUs epoch_us = 1'700'000'000'000'000;  // the database's time when a simulation begins

// The faults of one store call.
struct Trouble {
  bool is_lost = false;        // it does not land
  bool is_answerless = false;  // it lands, but the answer does not arrive
  TimeUs silence_us = 0;       // so long is the answer waited for
  TimeUs lands_late_us = 0;    // not 0: it fails at once, and lands so much later
  TimeUs slow_us = 0;
};

class World {
 public:
  World(const Scenario& scenario, const Cast& cast, bool keeps_story);

  using Then = std::function<void(StoreCall&, bool is_answered)>;  // false: it failed
  using DecideUnderLock = std::function<LockedDecision(std::uint64_t batch, std::vector<LockedRun> runs)>;
  // Sends a call: it lands after a while, its answer arrives after another. If the sender is gone, half of its calls
  // under way land, and none is answered. `steady`: the sender's clock. A decision under locks lands at once or
  // never, as its locks are lost with the connection.
  void send(StoreCall call, Trouble trouble, std::function<TimeUs()> steady, DecideUnderLock decide,
            std::shared_ptr<const bool> gone, Then then);

  TimeUs now() const { return epoch_us + agenda.now(); }  // the database's
  RunId new_run();
  GraphRef graph(std::string_view name) const { return graphs.current(name); }
  void change_limits(QueueLimits limits);  // whatever revision they are of
  Act act(const StepInput& input, std::int64_t timeout_ms);
  void write(const std::string& who, const std::string& what);
  bool is_out() const { return agenda.now() < outage_until; }
  bool is_deaf() const { return agenda.now() < deaf_until; }

  const Scenario& scenario;
  const bool keeps_story;
  Chance chance;
  Agenda agenda;
  std::unique_ptr<Store> store;
  Graphs graphs;
  Checker checker;
  Ledger ledger;
  HandlerTable handlers;
  ToolTable tools;
  Conduct conduct;
  std::vector<RunId> runs;                // of the scenario
  std::function<void()> on_notification;  // a job may be ready
  TimeUs outage_until = 0;
  TimeUs deaf_until = 0;
  std::int64_t last_commit = 0;
  TimeUs moved_us = 0;                                              // when the log last grew
  std::map<std::string, std::int64_t> faults;                       // that happened, by kind
  std::set<std::tuple<RunId, StepId, std::int32_t, TimeUs>> begun;  // attempts that may not be lost, since a reopening
  std::map<std::string, std::int64_t> reached;                      // points that not every course reaches, by name
  std::vector<std::string> story;                                   // if it is kept

 private:
  TimeUs delay();
  bool land(StoreCall& call, const CallSite& at);
  void note(const StoreCall& call);
  void commit(Commit& call, const CallSite& at);
  void commit_locked(CommitLocked& call, const CallSite& at);
  void note(std::span<const Entry> entries, std::span<const Verdict> verdicts);
  void add_handlers(const Cast& cast);
};

}  // namespace cairn::simulation
