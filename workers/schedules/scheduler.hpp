// The scheduler: decides schedules whose time has come, and starts what follows. Any number of processes may have
// one: a schedule is decided under its row's lock, and a run's id follows from the schedule and the time of the
// occurrence, so that each occurrence has one run, whichever process starts it or dies at whatever point. All
// times are the database's. Not thread-safe.
//
// Order: 1. decide, with the notes, in one transaction; 2. end and cancel runs, start runs; 3. confirm, in another one.
// A start that 1. decided and 3. did not confirm is made again by the next pass, five seconds later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/schedule_rules.hpp"
#include "storage/schedules/schedule_rows.hpp"
#include "storage/store.hpp"
#include "workers/client.hpp"
#include "workers/schedules/zone_files.hpp"

namespace cairn {

// A schedule whose row is locked. A change may change definition and state, or remove it.
struct ScheduleInHand {
  ScheduleRow row;
  ScheduleDefinition definition;
  ScheduleState state;
  std::shared_ptr<const KnownZone> zone;
  bool is_removed = false;
};

using ScheduleChange = std::function<Result<ScheduleDecision>(ScheduleInHand& schedule, const ScheduleView& view)>;

// The tags of the run that starts at that time: those of the definition, `schedule` and `occurrence`.
Tags tags_of_occurrence(const ScheduleDefinition& definition, const std::string& schedule, TimeUs at);

class Scheduler {
 public:
  // `client` acts as the schedules. REQUIRES: all outlive this.
  Scheduler(ScheduleCalls calls, Store& store, Client& client, ZoneFiles& zones);

  // At most `portion` schedules; returns how many there were. Throws StoreUnavailable, PostgresError.
  std::size_t pass(int portion = 500);

  // Changes one schedule, and does what comes of it. Returns the notes, also those of runs that could not start.
  // Refuses `not_found`, and as the change does, which then has changed nothing. Throws as pass().
  Result<std::vector<ScheduleNote>> change(const std::string& name, const ScheduleChange& change);

  ScheduleView view_of(const ScheduleInHand& schedule, TimeUs now_us) const;

 private:
  using NamedRun = std::pair<std::string, OccurrenceRun>;  // with its schedule
  // The work that is to be done after decisions are kept.
  struct Doings {
    std::vector<RunId> cancels;
    std::vector<NamedRun> starts;
    std::map<std::string, std::shared_ptr<const ScheduleDefinition>> definitions;  // of the schedules
    std::map<std::string, std::int64_t> revisions;
    bool is_empty() const { return cancels.empty() && starts.empty(); }
  };
  using Decide = std::function<ScheduleDecision(ScheduleInHand& schedule, const ScheduleView& view)>;
  struct ParsedDefinition {
    std::string text;
    std::shared_ptr<const ScheduleDefinition> definition;
  };

  std::vector<ScheduleWrite> decide_rows(TimeUs now_us, const std::vector<ScheduleRow>& rows, const Decide& decide,
                                         Doings& doings);
  Result<ScheduleInHand> in_hand(const ScheduleRow& row);
  void check_open_runs(const std::vector<ScheduleInHand>& schedules);
  std::vector<RunId> read_ends(const std::vector<RunId>& runs);
  bool waits_for_its_turn(const RunId& run);
  ScheduleWrite write_of(ScheduleInHand schedule, ScheduleDecision decision, Doings& doings);
  void cancel(const std::vector<RunId>& runs);
  std::vector<ScheduleNote> carry_out(Doings doings);  // the notes of what was refused
  std::map<std::string, std::vector<StartedOccurrence>> start(const Doings& doings);
  void start_together(const Doings& doings, const std::vector<NamedRun>& starts,
                      std::map<std::string, std::vector<StartedOccurrence>>& done);
  std::shared_ptr<const ScheduleDefinition> definition_of(const Doings& doings, const std::string& name,
                                                          std::int64_t revision);

  const ScheduleCalls calls_;
  Store& store_;
  Client& client_;
  ZoneFiles& zones_;
  std::map<std::string, ParsedDefinition> parsed_;
  std::map<RunId, bool> ended_;  // of the runs that the schedules in hand have open
};

}  // namespace cairn
