#include "engine/schedule_state.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 10> note_words = {"added",   "edited",  "removed", "paused", "resumed",
                                                         "started", "waiting", "skipped", "missed", "refused"};

Json run_json(const OccurrenceRun& one) {
  Json shown = {{"at", one.at}, {"run", to_string(one.run)}};
  if (!one.graph.empty()) shown["graph"] = one.graph;
  if (one.revision != 0) shown["revision"] = one.revision;
  if (one.ending.empty()) return shown;
  shown["ending"] = Json::array();
  for (const RunId& run : one.ending) shown["ending"].push_back(to_string(run));
  return shown;
}

RunId stored_run(const Json& text) {
  const std::optional<RunId> run = parse_run_id(text.get<std::string>());
  CHECK(run.has_value());
  return *run;
}

OccurrenceRun read_run(const Json& stored) {
  OccurrenceRun one{stored.at("at"), stored_run(stored.at("run"))};
  one.graph = stored.value("graph", "");
  one.revision = stored.value("revision", std::int64_t{0});
  if (stored.contains("ending"))
    for (const Json& run : stored["ending"]) one.ending.push_back(stored_run(run));
  return one;
}

Json runs_json(const std::vector<OccurrenceRun>& runs) {
  Json all = Json::array();
  for (const OccurrenceRun& one : runs) all.push_back(run_json(one));
  return all;
}

std::vector<OccurrenceRun> read_runs(const Json& stored, const char* name) {
  std::vector<OccurrenceRun> all;
  if (stored.contains(name))
    for (const Json& one : stored[name]) all.push_back(read_run(one));
  return all;
}

}  // namespace

Json state_json(const ScheduleState& state) {
  Json shown = {{"decided", state.decided}};
  if (!state.starting.empty()) shown["starting"] = runs_json(state.starting);
  if (!state.open.empty()) shown["open"] = runs_json(state.open);
  for (const WaitingOccurrence& one : state.waiting)
    shown["waiting"].push_back({{"at", one.at}, {"cancels", one.cancels}, {"actor", one.actor}});
  if (state.paused)
    shown["paused"] = {{"at", state.paused->at_us}, {"by", state.paused->by}, {"reason", state.paused->reason}};
  return shown;
}

ScheduleState read_state(const Json& stored) {
  ScheduleState state;
  state.decided = stored.at("decided");
  state.starting = read_runs(stored, "starting");
  state.open = read_runs(stored, "open");
  if (stored.contains("waiting"))
    for (const Json& one : stored["waiting"])
      state.waiting.push_back({one.at("at"), one.at("cancels"), one.at("actor")});
  if (stored.contains("paused"))
    state.paused = Pausing{stored["paused"].at("at"), stored["paused"].at("by"), stored["paused"].at("reason")};
  return state;
}

std::string_view to_string(NoteKind kind) { return note_words[static_cast<std::size_t>(kind)]; }

std::optional<NoteKind> parse_note_kind(std::string_view text) {
  const auto found = std::find(note_words.begin(), note_words.end(), text);
  if (found == note_words.end()) return std::nullopt;
  return static_cast<NoteKind>(found - note_words.begin());
}

std::string occurrence_text(TimeUs at) {
  const std::string text = time_text(at);
  return at % 1'000'000 == 0 ? text.substr(0, text.find('.')) + "Z" : text;
}

std::string occurrence_key(const std::string& schedule, TimeUs at) {
  return "schedule/" + schedule + "/" + occurrence_text(at);
}

}  // namespace cairn
