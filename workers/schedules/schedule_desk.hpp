// The desk for changes of schedules by people: add, edit, pause, resume, trigger, backfill, remove, for the command
// line and the API. Each goes on record with its actor. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workers/schedules/scheduler.hpp"

namespace cairn {

struct ScheduleEdit {
  Json fields = Json::object();               // of schedule_json, to set; null: as if it had not been given
  std::optional<std::int64_t> revision = {};  // that is edited; none: whichever it is
};

// Refuses `invalid`: it ends before it begins.
Status check_backfill(const BackfillRange& range);

class ScheduleDesk {
 public:
  // REQUIRES: all outlive this.
  ScheduleDesk(ScheduleCalls calls, Store& store, Client& client, ZoneFiles& zones)
      : calls_(calls),
        store_(store),
        client_(client),
        zones_(zones),
        scheduler_(std::move(calls), store, client, zones) {}

  // All functions throw StoreUnavailable; what was asked may then have happened or not.

  // Refuses `invalid` (the name, a graph of which several starts become one run, an input that it does not take or that
  // lacks the key of its starts, times that never come, a zone that each machine has its own of), `not_found` (the
  // graph, the zone), `conflict` (there is one of that name).
  Status add(const std::string& name, const ScheduleDefinition& definition, const std::string& actor);
  // Returns the new revision; nothing changed: the one that is. Refuses `not_found`, `stale` (it has another revision
  // by now), and as add().
  Result<std::int64_t> edit(const std::string& name, const ScheduleEdit& edit, const std::string& actor);
  // Refuse `not_found`, `conflict` (it is paused already, or not).
  Status pause(const std::string& name, const std::string& reason, const std::string& actor);
  Status resume(const std::string& name, const std::string& actor);
  // All that is due is decided or missed, occurrences that wait are skipped; runs go on. Refuses `not_found`.
  Status remove(const std::string& name, const std::string& actor);

  // The notes of the occurrence of now. Refuses `not_found`.
  Result<std::vector<ScheduleNote>> trigger(const std::string& name, std::optional<Overlap> overlap,
                                            const std::string& actor);
  // The notes of each time in the range that has passed and has no run yet. Refuses `not_found`, `invalid` (as
  // check_backfill(), or the range is still to come), `limit`, `unavailable` (others change it all the time).
  Result<std::vector<ScheduleNote>> backfill(const std::string& name, const BackfillRange& range,
                                             const std::string& actor);

 private:
  // Refuses as add() a definition that no schedule may have.
  Status check(const std::string& name, const ScheduleDefinition& definition, TimeUs now_us);

  const ScheduleCalls calls_;
  Store& store_;
  Client& client_;
  ZoneFiles& zones_;
  Scheduler scheduler_;
};

}  // namespace cairn
