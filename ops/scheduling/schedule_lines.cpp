#include "ops/scheduling/schedule_lines.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "engine/civil_time.hpp"

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr std::int32_t notes_explained_max = 200;
constexpr std::int64_t times_explained_max = 50;
constexpr std::int32_t returns_read_max = 1'000;

std::string local_moment_of(TimeUs at, const TimeZone& zone) {
  const UtcSeconds seconds = at / second_us;
  const ZonePiece piece = zone.piece_at(seconds);
  return local_text(seconds + piece.offset) + " " + piece.name;
}

// The times of a schedule that is or was.
struct KnownTimes {
  std::optional<ScheduleRow> row;  // nothing: it was removed
  ScheduleDefinition definition;   // the last one
  std::shared_ptr<const KnownZone> zone;
};

Result<KnownTimes> known_times(ScheduleTable& table, ZoneFiles& zones, const std::string& name) {
  KnownTimes known{table.row(name), {}, nullptr};
  std::optional<std::string> text;
  if (known.row) {
    text = known.row->definition;
  } else {
    const std::vector<KeptNote> last = table.notes(name, std::numeric_limits<std::int64_t>::max(), 1);
    if (!last.empty()) text = table.definition_of(name, last.front().note.revision);
  }
  if (!text)
    return Error{Code::not_found, "Expected a schedule, but none is or was named " + excerpt(Json(name), 100) + "."};
  Result<ScheduleDefinition> definition = parse_schedule(parse_stored(*text));
  if (!definition) return definition.error();
  known.definition = *std::move(definition);
  const auto zone = zones.find(known.definition.zone);
  if (!zone) return zone.error();
  known.zone = *zone;
  return known;
}

std::string by(const ScheduleNote& note) {
  return note.actor == "schedule" ? "" : " (asked for by " + note.actor + ")";
}

// A span whose times were not counted, see notes_that_stand(), may have several.
bool is_of_several(const ScheduleNote& note) { return note.count > 1 || (note.count == 0 && note.until > note.at); }

std::string about_occurrence(const ScheduleNote& note, const TimeZone& zone) {
  if (!note.at) return "";
  if (!is_of_several(note)) return "The occurrence of " + local_moment_of(*note.at, zone);
  const std::string count = note.count == 0 ? "" : std::to_string(note.count) + " ";
  return "The " + count + (note.count >= missed_count_max ? "or more " : "") + "occurrences from " +
         local_moment_of(*note.at, zone) + " to " + local_moment_of(note.until.value_or(*note.at), zone);
}

// Those of the state that are open by now: it is looked at only when the schedule is turned.
Json open_runs(const ScheduleState& state, Store& store) {
  Json shown = Json::array();
  std::vector<RunId> runs;
  for (const OccurrenceRun& one : state.open) runs.push_back(one.run);
  const std::vector<std::optional<RunHead>> heads =
      runs.empty() ? std::vector<std::optional<RunHead>>() : store.all_runs().heads(runs);
  for (std::size_t n = 0; n < heads.size(); ++n)
    if (heads[n] && !is_ended(heads[n]->status))
      shown.push_back({{"run", to_string(runs[n])}, {"at", occurrence_text(state.open[n].at)}});
  for (const OccurrenceRun& one : state.starting)
    shown.push_back({{"run", to_string(one.run)}, {"at", occurrence_text(one.at)}});
  return shown;
}

struct ScheduleQuestion {
  TimeUs from = 0;
  TimeUs until = 0;  // both included
};

Result<ScheduleQuestion> schedule_question(const std::string& text, const TimeZone& zone) {
  if (const std::optional<TimeUs> at = parse_time(text)) return ScheduleQuestion{*at, *at};
  const std::optional<TimeUs> day = parse_time(text + "T00:00:00Z");
  if (!day || text.size() != 10)
    return Error{Code::invalid, "Expected a day like 2026-11-23 or a time like 2026-11-23T09:00:00Z, but found " +
                                    excerpt(Json(text), 60) + "."};
  // The instants at which the zone's wall clock shows that day: its offset may change within it.
  const LocalSeconds begin = *day / second_us;
  const auto instant = [&zone](LocalSeconds local) {
    const UtcSeconds guess = local - zone.piece_at(local).offset;
    return local - zone.piece_at(guess).offset;
  };
  return ScheduleQuestion{instant(begin) * second_us, instant(begin + day_seconds) * second_us - 1};
}

// The notes about the times of the question, the first of them; a clock that was ahead has missed times that were still
// to come, and these are not among them.
std::vector<KeptNote> notes_about(ScheduleTable& table, const std::string& name, const ScheduleQuestion& question,
                                  bool& is_whole) {
  std::vector<KeptNote> notes = table.notes_between(name, question.from, question.until, notes_explained_max + 1);
  is_whole = std::ssize(notes) <= notes_explained_max;
  if (!is_whole) notes.pop_back();
  const auto missed =
      std::find_if(notes.begin(), notes.end(), [](const KeptNote& kept) { return kept.note.kind == NoteKind::missed; });
  if (missed == notes.end()) return notes;
  for (KeptNote& kept : table.notes_of_return(name, missed->number, returns_read_max)) notes.push_back(std::move(kept));
  std::stable_sort(notes.begin(), notes.end(),
                   [](const KeptNote& one, const KeptNote& other) { return one.number < other.number; });
  notes = notes_that_stand(std::move(notes));
  std::erase_if(notes, [&question](const KeptNote& kept) {
    return !kept.note.at || kept.note.until.value_or(*kept.note.at) < question.from;
  });
  return notes;
}

// Those times of the question that no note is about; false: there are more of them.
bool explain_unnoted(const ScheduleRow& row, const KnownTimes& known, const ScheduleQuestion& question, TimeUs now_us,
                     const std::vector<KeptNote>& notes, std::vector<std::string>& says) {
  const ScheduleDefinition& definition = known.definition;
  const TimeZone& zone = known.zone->zone;
  const ScheduleState state = read_state(parse_stored(row.state));
  UtcSeconds from = (question.from + second_us - 1) / second_us;
  for (std::int64_t count = 0;;) {
    const auto next = planned_occurrence(row.name, definition, zone, from);
    if (!next || next->at > question.until) return true;
    from = next->at / second_us + 1;
    const bool is_noted = std::any_of(notes.begin(), notes.end(), [&next](const KeptNote& kept) {
      return kept.note.at && *kept.note.at <= next->at && kept.note.until.value_or(*kept.note.at) >= next->at;
    });
    if (is_noted) continue;
    if (++count > times_explained_max) return false;
    const std::string which = "The occurrence of " + local_moment_of(next->at, zone);
    if (next->at <= state.decided * second_us)
      says.push_back(local_moment_of(next->at, zone) +
                     " had passed when the schedule was added or last edited: see `cairn schedule history " + row.name +
                     "`.");
    else if (state.paused)
      says.push_back(which + " does not start: the schedule is paused by " + state.paused->by + " since " +
                     local_moment_of(state.paused->at_us, zone) +
                     (state.paused->reason.empty() ? "." : ": " + state.paused->reason));
    else if (next->fires_at > now_us)
      says.push_back(which + " is still to come.");
    else
      says.push_back(which + " is due, and no process has fired it: `cairn work` and `cairn serve` fire schedules.");
  }
}

}  // namespace

Json schedule_line(const ScheduleRow& row, ZoneFiles& zones, Store& store) {
  const Result<ScheduleDefinition> read = parse_schedule(parse_stored(row.definition));
  const ScheduleDefinition definition = read ? *read : ScheduleDefinition{};
  const ScheduleState state = read_state(parse_stored(row.state));
  const auto zone = zones.find(definition.zone);
  Json line = schedule_json(definition);
  line["name"] = row.name;
  line["revision"] = row.revision;
  line["words"] = in_words(definition);
  line["next_at"] = nullptr;
  if (!read || !zone)
    line["fault"] = read ? zone.error().message : read.error().message;
  else if (const auto next = planned_occurrence(row.name, definition, (*zone)->zone, state.decided + 1);
           next && !state.paused)
    line["next_at"] = occurrence_text(next->at);
  line["paused"] = nullptr;
  if (state.paused)
    line["paused"] = {
        {"at", time_text(state.paused->at_us)}, {"by", state.paused->by}, {"reason", state.paused->reason}};
  line["open"] = open_runs(state, store);
  line["waiting"] = Json::array();
  for (const WaitingOccurrence& one : state.waiting) line["waiting"].push_back(occurrence_text(one.at));
  return line;
}

std::vector<Json> next_lines(const std::string& name, const ScheduleDefinition& definition, const TimeZone& zone,
                             TimeUs from, std::int64_t count) {
  std::vector<Json> lines;
  UtcSeconds at = from >= 0 ? (from + second_us - 1) / second_us : from / second_us;
  while (static_cast<std::int64_t>(lines.size()) < count) {
    const auto next = planned_occurrence(name, definition, zone, at);
    if (!next) break;
    const UtcSeconds seconds = next->at / second_us;
    const ZonePiece piece = zone.piece_at(seconds);
    Json line = {
        {"at", occurrence_text(next->at)}, {"local", local_text(seconds + piece.offset)}, {"zone", piece.name}};
    if (definition.jitter_ms > 0) line["fires_at"] = occurrence_text(next->fires_at);
    lines.push_back(std::move(line));
    at = seconds + 1;
  }
  return lines;
}

Json note_line(const KeptNote& kept) {
  const ScheduleNote& note = kept.note;
  Json line = {{"number", kept.number},
               {"recorded_at", time_text(kept.recorded_at)},
               {"kind", to_string(note.kind)},
               {"actor", note.actor},
               {"revision", note.revision}};
  if (note.at) line["at"] = occurrence_text(*note.at);
  if (note.until) line["until"] = occurrence_text(*note.until);
  if (note.count > 0) line["count"] = note.count;
  if (note.run) line["run"] = to_string(*note.run);
  if (!note.says.empty()) line["says"] = note.says;
  if (!note.definition.empty()) line["definition"] = parse_stored(note.definition);
  return line;
}

// A refusal names its occurrence in a history, and its run as an answer.
std::vector<KeptNote> notes_to_say(std::vector<KeptNote> notes) {
  std::set<TimeUs> refused_times;
  std::set<RunId> refused_runs;
  std::vector<KeptNote> said;
  for (auto kept = notes.rbegin(); kept != notes.rend(); ++kept) {
    const ScheduleNote& note = kept->note;
    const bool is_refused = note.kind == NoteKind::refused;
    if (is_refused && note.at) refused_times.insert(*note.at);
    if (is_refused && note.run) refused_runs.insert(*note.run);
    const bool is_start = note.kind == NoteKind::started;
    if (is_start && note.at && refused_times.erase(*note.at) > 0) continue;
    if (is_start && note.run && refused_runs.contains(*note.run)) continue;
    said.push_back(std::move(*kept));
  }
  std::reverse(said.begin(), said.end());
  return said;
}

std::string note_sentence(const KeptNote& kept, const TimeZone& zone) {
  const ScheduleNote& note = kept.note;
  const std::string which = about_occurrence(note, zone);
  const std::string says = note.says.empty() ? "" : ": " + note.says;
  switch (note.kind) {
    case NoteKind::added:
      return "Added by " + note.actor + ".";
    case NoteKind::edited:
      return "Edited by " + note.actor + ", revision " + std::to_string(note.revision) + ".";
    case NoteKind::removed:
      return "Removed by " + note.actor + ".";
    case NoteKind::paused:
      return "Paused by " + note.actor + (says.empty() ? "." : says);
    case NoteKind::resumed:
      return "Resumed by " + note.actor + says + ".";
    case NoteKind::started:
      return which + " started run " + to_string(note.run.value_or(RunId{})) + by(note) + ".";
    case NoteKind::waiting:
      return which + " waited, " + note.says + by(note) + ".";
    case NoteKind::skipped:
      return which + " was skipped, " + note.says + by(note) + ".";
    case NoteKind::missed:
      return which + (is_of_several(note) ? " were" : " was") + " missed" + says + ".";
    case NoteKind::refused:
      return which + " could not start" + says;
  }
  return "";
}

Result<std::vector<std::string>> explain_schedule(ScheduleTable& table, ZoneFiles& zones, const std::string& name,
                                                  const std::string& at) {
  const Result<KnownTimes> known = known_times(table, zones, name);
  if (!known) return known.error();
  const TimeZone& zone = known->zone->zone;
  const Result<ScheduleQuestion> question = schedule_question(at, zone);
  if (!question) return question.error();
  std::vector<std::string> says;
  bool is_whole = true;
  const std::vector<KeptNote> notes = notes_about(table, name, *question, is_whole);
  for (const KeptNote& kept : notes_to_say(notes)) says.push_back(note_sentence(kept, zone));
  if (known->row) {
    // A time whose notes were not read may have some.
    is_whole = is_whole && explain_unnoted(*known->row, *known, *question, table.next_due().now_us, notes, says);
    if (says.empty()) says.push_back("No time of the schedule falls there: " + in_words(known->definition) + ".");
  } else {
    says.push_back((says.empty() ? "Nothing is on record there, and the schedule" : "The schedule") +
                   std::string(" was removed: see `cairn schedule history ") + name + "`.");
  }
  if (!is_whole)
    says.push_back("There is more, but at most " + std::to_string(notes_explained_max) + " notes and " +
                   std::to_string(times_explained_max) +
                   " other times are told at once: ask about one time, or see `cairn schedule history " + name + "`.");
  return says;
}

}  // namespace cairn
