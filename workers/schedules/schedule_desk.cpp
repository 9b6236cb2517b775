#include "workers/schedules/schedule_desk.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/bounds.hpp"
#include "engine/nearest.hpp"
#include "workers/starts/keyed_starter.hpp"

namespace cairn {
namespace {

constexpr int backfill_tries_max = 20;

Error stale_edit(const ScheduleRow& row, std::int64_t expected) {
  return {Code::stale, "Expected revision " + std::to_string(expected) + " of schedule " + row.name +
                           " to edit, but it has revision " + std::to_string(row.revision) + " by now."};
}

Error changes_all_the_time(const std::string& name) {
  return {Code::unavailable,
          "Expected schedule " + name + " to stay as it is for a moment, but it changes all the time."};
}

// The fields that are set, over those that are there.
Json edited_fields(const ScheduleDefinition& before, const Json& fields) {
  Json all = schedule_json(before);
  for (auto field = fields.begin(); field != fields.end(); ++field) all[field.key()] = field.value();
  const bool has_no_interval = !all.contains("every_ms") || all["every_ms"].is_null();
  if (has_no_interval && !fields.contains("phase_ms")) all.erase("phase_ms");
  return all;
}

}  // namespace

Status check_backfill(const BackfillRange& range) {
  if (range.from <= range.until) return Done{};
  return Error{Code::invalid, "Expected the last time of a backfill not to be before the first, " +
                                  occurrence_text(range.from) + ", but found " + occurrence_text(range.until) + "."};
}

Status ScheduleDesk::check(const std::string& name, const ScheduleDefinition& definition, TimeUs now_us) {
  if (definition.zone == "localtime" || definition.zone == "posixrules")
    return Error{Code::invalid, "Expected a time zone that is the same on each machine, like Europe/Berlin, but " +
                                    definition.zone + " is what this machine has set."};
  const auto zone = zones_.find(definition.zone);
  if (!zone) return zone.error();
  client_.load_graphs();
  const Result<GraphRef> found = client_.find_graph(definition.graph);
  if (!found) return found.error();
  const GraphRef graph = *found;
  if (graph == nullptr || graph->name != definition.graph) {
    std::vector<std::string> names;
    for (const GraphRow& row : store_.graphs().names())
      if (row.current) names.push_back(row.name);
    return Error{Code::not_found, "Expected a graph to start, but none is named " + definition.graph +
                                      did_you_mean(definition.graph, names) + "."};
  }
  if (graph->starts && graph->starts->singleton() == nullptr)
    return Error{Code::invalid, "Expected a graph of which each start is a run, but several of " + definition.graph +
                                    " become one (" + std::string(graph->starts->word()) + ")."};
  if (Status fits = client_.check_input(definition.graph, definition.input); !fits) return fits;
  if (graph->starts)
    if (const auto key = start_key_of(*graph, tags_of_occurrence(definition, name, now_us), definition.input); !key)
      return key.error();
  if (next_time(definition.times, (*zone)->zone, now_us / 1'000'000)) return Done{};
  return Error{Code::invalid, "Expected times that are still to come, but none is: " + in_words(definition) + "."};
}

Status ScheduleDesk::add(const std::string& name, const ScheduleDefinition& definition, const std::string& actor) {
  if (Status named = check_schedule_name(name); !named) return named;
  const TimeUs now_us = calls_.next_due().now_us;
  if (Status fine = check(name, definition, now_us); !fine) return fine;
  const auto zone = zones_.find(definition.zone);
  CHECK(zone.ok());
  ScheduleState state;
  state.decided = now_us / 1'000'000;
  ScheduleWrite write;
  write.row.name = name;
  write.row.definition = canonical(schedule_json(definition));
  write.row.state = canonical(state_json(state));
  write.row.zone_mark = (*zone)->mark;
  write.zone = definition.zone;
  const auto next = planned_occurrence(name, definition, (*zone)->zone, state.decided + 1);
  write.row.due_at = next ? next->fires_at : never_us;
  ScheduleNote note{.kind = NoteKind::added, .actor = actor, .revision = 1};
  note.definition = write.row.definition;
  write.notes.push_back(std::move(note));
  if (calls_.add(write)) return Done{};
  return Error{Code::conflict, "Expected a new name of a schedule, but " + name + " is one already."};
}

Result<std::int64_t> ScheduleDesk::edit(const std::string& name, const ScheduleEdit& edit, const std::string& actor) {
  std::int64_t revision = 0;
  const auto change = [&](ScheduleInHand& schedule, const ScheduleView& view) -> Result<ScheduleDecision> {
    if (edit.revision && *edit.revision != schedule.row.revision) return stale_edit(schedule.row, *edit.revision);
    const Result<ScheduleDefinition> edited = parse_schedule(edited_fields(schedule.definition, edit.fields));
    if (!edited) return edited.error();
    if (const Status fine = check(name, *edited, view.now_us); !fine) return fine.error();
    ScheduleDecision before = leave_definition(schedule.state, view);
    revision = schedule.row.revision;
    if (*edited == schedule.definition) return before;
    schedule.definition = *edited;
    schedule.zone = *zones_.find(edited->zone);
    revision = ++schedule.row.revision;
    const ScheduleView edited_view = scheduler_.view_of(schedule, view.now_us);
    ScheduleDecision decision = decide_schedule(schedule.state, edited_view);
    ScheduleNote note{.kind = NoteKind::edited, .actor = actor, .revision = revision};
    note.definition = canonical(schedule_json(*edited));
    before.notes.push_back(std::move(note));
    decision.notes.insert(decision.notes.begin(), before.notes.begin(), before.notes.end());
    decision.cancels.insert(decision.cancels.end(), before.cancels.begin(), before.cancels.end());
    return decision;
  };
  const auto changed = scheduler_.change(name, change);
  if (!changed) return changed.error();
  return revision;
}

Status ScheduleDesk::pause(const std::string& name, const std::string& reason, const std::string& actor) {
  if (const Status fits = check_reason(reason); !fits) return fits;
  const auto paused = scheduler_.change(name, [&](ScheduleInHand& schedule, const ScheduleView& view) {
    return pause_schedule(schedule.state, view, reason, actor);
  });
  return paused ? Status(Done{}) : paused.error();
}

Status ScheduleDesk::resume(const std::string& name, const std::string& actor) {
  const auto resumed = scheduler_.change(name, [&](ScheduleInHand& schedule, const ScheduleView& view) {
    return resume_schedule(schedule.state, view, actor);
  });
  return resumed ? Status(Done{}) : resumed.error();
}

// All that was to be started is started first, in rounds.
Status ScheduleDesk::remove(const std::string& name, const std::string& actor) {
  bool is_removed = false;
  const auto removal = [&](ScheduleInHand& schedule, const ScheduleView& view) -> Result<ScheduleDecision> {
    ScheduleDecision decision = remove_schedule(schedule.state, view, actor);
    is_removed = schedule.is_removed = !decision.notes.empty() && decision.notes.back().kind == NoteKind::removed;
    return decision;
  };
  constexpr int tries_max = 20;
  for (int tries = 0; tries < tries_max; ++tries) {
    const auto changed = scheduler_.change(name, removal);
    if (!changed) return changed.error();
    if (is_removed) return Done{};
  }
  return Error{Code::unavailable, "Expected schedule " + name + " to have nothing to start for a moment, but it has."};
}

Result<std::vector<ScheduleNote>> ScheduleDesk::trigger(const std::string& name, std::optional<Overlap> overlap,
                                                        const std::string& actor) {
  return scheduler_.change(name, [&](ScheduleInHand& schedule, const ScheduleView& view) -> Result<ScheduleDecision> {
    return trigger_schedule(schedule.state, view, overlap.value_or(schedule.definition.overlap), actor);
  });
}

// A backfill of the same times by another process starts runs of which this one must know: it decides only if there are
// no notes since it has read which of them have runs.
Result<std::vector<ScheduleNote>> ScheduleDesk::backfill(const std::string& name, const BackfillRange& range,
                                                         const std::string& actor) {
  if (const Status fits = check_backfill(range); !fits) return fits.error();
  std::int64_t seen = -1;  // the last note of before `have_runs` was read
  std::set<TimeUs> have_runs;
  bool is_current = false;
  const auto change = [&](ScheduleInHand& schedule, const ScheduleView& view) -> Result<ScheduleDecision> {
    if (range.from > view.now_us)
      return Error{Code::invalid, "Expected times that have passed, but the first, " + occurrence_text(range.from) +
                                      ", is still to come."};
    is_current = std::exchange(seen, schedule.row.notes) == schedule.row.notes;
    if (!is_current) return changes_all_the_time(name);
    return backfill_schedule(
        schedule.state, view, range, [&have_runs](TimeUs at) { return have_runs.contains(at); }, actor);
  };
  Result<std::vector<ScheduleNote>> filled = scheduler_.change(name, change);
  for (int tries = 0; tries < backfill_tries_max && seen >= 0 && !is_current; ++tries) {
    const std::vector<TimeUs> started = calls_.started(name, range.from, range.until);
    have_runs = {started.begin(), started.end()};
    filled = scheduler_.change(name, change);
  }
  return filled;
}

}  // namespace cairn
