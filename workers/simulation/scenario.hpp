// A scenario: all that one seed decides in advance, as lists from which a shrinker may drop parts. Draws during the run
// depend on the seed too. Plain values; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/id.hpp"
#include "engine/json.hpp"
#include "storage/limits/queue_limits.hpp"

namespace cairn::simulation {

struct SessionPlan {
  TimeUs starts_us = 0;
  TimeUs clock_us = 0;         // its monotonic clock began so much earlier
  std::int64_t drift_ppm = 0;  // and goes faster
  std::int32_t concurrency = 16;
  std::int32_t lanes = 2;
  std::int32_t fuse_steps = 32;
  std::size_t runs_max = 1'000;          // folded states kept
  std::int64_t snapshot_events = 2'000;  // between two snapshots
  bool keep = true;
  bool is_for_first_run = false;   // it executes that one, and those it calls, alone
  bool lacks_other_queue = false;  // it does not serve the queue "other"
  std::int64_t default_timeout_ms = 100'000;
  std::int64_t slowness = 1;  // how many times slower than usual it polls and beats, for long times
};

struct RunPlan {
  TimeUs starts_us = 0;
  std::string graph;
  Json input = Json::object();
  std::int32_t priority = 0;
};

// A command from outside, besides the answers and signals that are waited for.
struct OutsideCommand {
  enum class Kind : std::uint8_t { pause, resume, cancel, reopen, stray_answer, stray_signal };
  Kind kind = Kind::pause;
  TimeUs at_us = 0;
  std::size_t run = 0;  // of the scenario's runs
  std::size_t client = 0;
  std::string name = {};  // of a cancel its reason; "": one of its own
};

// A change of the limits of the queue "other" by an operator, while all goes on.
struct LimitsPlan {
  TimeUs at_us = 0;
  QueueLimits limits;
};

struct Fault {
  enum class Kind : std::uint8_t {
    lost_request,  // a store call fails and does not land
    lost_answer,   // it lands, and after a while fails for the session
    late_landing,  // it fails at once, and lands so much later
    slow,          // it lands, and is answered, so much later
    crash,         // the session dies at this call; another begins so much later
    drain,         // the session is asked to end; another begins so much later
    stall,         // the session stands still for so long, and goes on
    outage,        // every store call fails for so long; some land
    deafness,      // no notification arrives for so long
    deploy,        // all sessions die at once, while one executes if it can be; as many begin so much later
  };
  Kind kind = Kind::crash;
  std::size_t session = 0;  // of the scenario's; not of outage, deafness and deploy
  std::int64_t call = 0;    // the session's n-th store call; 0: by time
  TimeUs at_us = 0;
  TimeUs lasts_us = 0;
};

struct Scenario {
  std::uint64_t seed = 0;
  std::int32_t shards = 1;
  std::vector<Json> graphs;
  std::vector<RunPlan> runs;
  std::vector<SessionPlan> sessions;
  std::vector<OutsideCommand> commands;
  std::vector<Fault> faults;
  TimeUs faults_end_us = 0;  // then everything heals
  std::size_t clients = 2;
  std::int64_t reopens_max = 0;               // of each failed run
  QueueLimits other_limits{.name = "other"};  // across all sessions, at first
  std::vector<LimitsPlan> other_changes;      // in their order
  bool is_bulky = false;                      // some outcomes are too large for an event
  bool may_rest = false;                      // a run may wait for what never comes; its history is kept
  bool is_comparable = false;                 // comes to the same end without its faults
};

std::string_view to_string(Fault::Kind kind);
std::string_view to_string(OutsideCommand::Kind kind);

// Graphs, runs, sessions, commands and faults from one seed.
Scenario random_scenario(std::uint64_t seed);

// The same around given graphs, of which the first is run. Long waits, timeouts and pauses become short ones.
Scenario scenario_for(std::uint64_t seed, const std::vector<Json>& graphs, const Json& input);

// One line for each part.
std::vector<std::string> lines_of(const Scenario& scenario);

}  // namespace cairn::simulation
