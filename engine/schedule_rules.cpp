#include "engine/schedule_rules.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr const char* by_itself = "schedule";
constexpr int missed_notes_max = 10;  // by one edit or removal

UtcSeconds whole_seconds(TimeUs at) { return at >= 0 ? at / second_us : -((-at + second_us - 1) / second_us); }

// A number that the name and the time give, evenly spread.
std::uint64_t spread(const std::string& name, TimeUs at) {
  std::uint64_t mixed = 14695981039346656037ull ^ static_cast<std::uint64_t>(at);
  for (const char c : name) mixed = (mixed ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  return mixed ^ (mixed >> 31);
}

class ScheduleDecider {
 public:
  ScheduleDecider(ScheduleState& state, const ScheduleView& view) : state_(state), view_(view) { come_back(); }

  void forget_ended() {
    std::erase_if(state_.open, [this](const OccurrenceRun& one) { return view_.has_ended(one.run); });
  }

  // Those that wait, as long as nothing is open; what is open for one that cancels is cancelled, again
  // at each decision.
  void begin_waiting() {
    if (state_.paused || state_.waiting.empty()) return;
    if (is_busy()) {
      if (state_.waiting.front().cancels)
        for (const OccurrenceRun& one : state_.open) decision_.cancels.push_back(one.run);
      return;
    }
    const WaitingOccurrence next = state_.waiting.front();
    state_.waiting.erase(state_.waiting.begin());
    start(next.at, next.actor, {});
  }

  // One occurrence whose time has come.
  void decide(TimeUs at, Overlap overlap, const std::string& actor) {
    const bool is_free = !is_busy() && (state_.waiting.empty() || state_.paused);
    if (is_free || overlap == Overlap::allow_all) return start(at, actor, {});
    if (overlap == Overlap::terminate_other) return start(at, actor, all_open());
    const bool cancels = overlap == Overlap::cancel_other;
    if (overlap == Overlap::skip) return skip(at, actor, "because " + what_is_open());
    if (overlap == Overlap::buffer_one && !state_.waiting.empty())
      return skip(at, actor,
                  "because " + what_is_open() + ", and that of " + occurrence_text(state_.waiting.front().at) +
                      " waited already");
    if (state_.waiting.size() >= waiting_max)
      return skip(at, actor, "because " + std::to_string(waiting_max) + " occurrences waited already");
    if (cancels) {
      for (const WaitingOccurrence& one : std::exchange(state_.waiting, {}))
        skip(one.at, one.actor, "because it waited until that of " + occurrence_text(at) + " took its place");
      for (const OccurrenceRun& one : state_.open) decision_.cancels.push_back(one.run);
    }
    state_.waiting.push_back({at, cancels, actor});
    note({.kind = NoteKind::waiting,
          .at = at,
          .until = at,
          .count = 1,
          .says = (cancels ? "until what it cancels has ended: " : "because ") + what_is_open(),
          .actor = actor});
  }

  void decide_due() {
    for (std::size_t count = 0; count < decided_at_once_max; ++count) {
      const std::optional<PlannedOccurrence> next = planned(state_.decided + 1);
      if (!next || next->fires_at > view_.now_us) return be_due(next ? next->fires_at : never_us);
      if (view_.now_us - next->fires_at > view_.definition.catch_up_ms * 1'000) {
        miss_until(
            view_.now_us - view_.definition.catch_up_ms * 1'000,
            "nothing fired in time, within " + std::to_string(view_.definition.catch_up_ms / 1'000) + " s of it");
        continue;
      }
      decide(next->at, view_.definition.overlap, by_itself);
      state_.decided = whole_seconds(next->at);
    }
    be_due(view_.now_us);
  }

  // Decides all that is due of a definition that ends now by `change`: "it was edited".
  void leave(const std::string& change) {
    state_.paused ? miss_paused() : decide_due();
    miss_left(change);
    decide_held_back();
  }

  // The times of before are forgotten: those that are due and still not decided, and while it is paused also the one
  // that the jitter holds back, go on record now.
  void miss_left(const std::string& change) {
    const std::string says =
        state_.paused ? why_paused()
                      : change + ", which decides at most " + std::to_string(decided_at_once_max) + " that are due";
    const auto is_left = [this](const std::optional<PlannedOccurrence>& next) {
      return next && (state_.paused ? next->at : next->fires_at) <= view_.now_us;
    };
    auto next = planned(state_.decided + 1);
    for (int notes = 0; notes < missed_notes_max && is_left(next); ++notes, next = planned(state_.decided + 1))
      miss_until(std::max(view_.now_us, next->fires_at) + 1, says);
    if (!is_left(next)) return;
    state_.decided = std::max(state_.decided, whole_seconds(view_.now_us));
    decision_.notes.back().until = state_.decided * second_us;  // its count is the most that one says
  }

  // The time that has passed and that the jitter holds back; it is one at most.
  void decide_held_back() {
    const std::optional<PlannedOccurrence> next = planned(state_.decided + 1);
    if (state_.paused || !next || next->at > view_.now_us) return;
    decide(next->at, view_.definition.overlap, by_itself);
    state_.decided = whole_seconds(next->at);
  }

  // All times that fired before `before`, as one note.
  void miss_until(TimeUs before, const std::string& says) {
    ScheduleNote missed{.kind = NoteKind::missed, .says = says, .actor = by_itself};
    std::optional<PlannedOccurrence> next = planned(state_.decided + 1);
    for (; next && next->fires_at < before && missed.count < missed_count_max; next = planned(state_.decided + 1)) {
      if (!missed.at) missed.at = next->at;
      missed.until = next->at;
      ++missed.count;
      state_.decided = whole_seconds(next->at);
    }
    if (missed.count == missed_count_max && next && next->fires_at < before) {
      state_.decided = std::max(state_.decided, whole_seconds(before) - 1 - view_.definition.jitter_ms / 1'000);
      missed.until = std::max(*missed.until, state_.decided * second_us);
    }
    if (missed.count > 0) note(std::move(missed));
  }

  // All times that have passed since it was paused. REQUIRES: it is.
  void miss_paused() { miss_until(view_.now_us, why_paused()); }

  void confirm(const std::vector<StartedOccurrence>& done) {
    for (const StartedOccurrence& one : done) {
      const auto found = std::find_if(state_.starting.begin(), state_.starting.end(),
                                      [&one](const OccurrenceRun& starting) { return starting.run == one.run; });
      if (found == state_.starting.end()) continue;  // another process has confirmed it
      if (!one.start)
        note({.kind = NoteKind::refused,
              .at = found->at,
              .until = found->at,
              .count = 1,
              .says = one.start.error().message,
              .actor = by_itself});
      else
        state_.open.push_back({found->at, found->run});
      state_.starting.erase(found);
      if (state_.open.size() > open_max) state_.open.erase(state_.open.begin());
    }
  }

  void note(ScheduleNote note) {
    note.revision = view_.revision;
    decision_.notes.push_back(std::move(note));
  }

  // Decides all that is due, and when it is due again. A paused schedule only looks after what was to be started.
  ScheduleDecision finish() {
    if (!state_.paused) decide_due();
    if (!state_.waiting.empty() && !state_.paused) be_due(view_.now_us + waiting_check_us);
    if (!state_.starting.empty()) be_due(view_.now_us + starting_check_us);
    return std::move(decision_);
  }

  std::optional<PlannedOccurrence> planned(UtcSeconds from) const {
    return planned_occurrence(view_.name, view_.definition, view_.zone, from);
  }

 private:
  // REQUIRES: it is paused.
  std::string why_paused() const {
    const Pausing& paused = *state_.paused;
    return "it was paused by " + paused.by + " at " + occurrence_text(paused.at_us) +
           (paused.reason.empty() ? "" : ": " + paused.reason);
  }

  // From a clock that was ahead: what was decided then is still to come. One that has its run keeps it, by its key.
  void come_back() {
    if (!is_ahead(state_, view_.now_us)) return;
    note({.kind = NoteKind::resumed,
          .says = "the database's clock had been ahead, and times up to " +
                  occurrence_text(state_.decided * second_us) + " had been decided by it",
          .actor = by_itself});
    state_.decided = whole_seconds(view_.now_us);
  }

  bool is_busy() const { return !state_.open.empty() || !state_.starting.empty(); }

  void be_due(TimeUs at) { decision_.due_at = std::min(decision_.due_at, at); }

  void start(TimeUs at, const std::string& actor, std::vector<RunId> ending) {
    const RunId run = view_.run_of(view_.definition.graph, occurrence_key(view_.name, at));
    state_.starting.push_back({at, run, view_.definition.graph, view_.revision, std::move(ending)});
    note({.kind = NoteKind::started, .at = at, .until = at, .count = 1, .run = run, .actor = actor});
  }

  void skip(TimeUs at, const std::string& actor, const std::string& says) {
    note({.kind = NoteKind::skipped, .at = at, .until = at, .count = 1, .says = says, .actor = actor});
  }

  std::string what_is_open() const {
    if (!is_busy()) return "another occurrence waited";
    const OccurrenceRun& last = state_.starting.empty() ? state_.open.back() : state_.starting.back();
    return "run " + to_string(last.run) + " of " + occurrence_text(last.at) + " was still open";
  }

  std::vector<RunId> all_open() const {
    std::vector<RunId> runs;
    for (const auto* list : {&state_.open, &state_.starting})
      for (const OccurrenceRun& one : *list) runs.push_back(one.run);
    return runs;
  }

  ScheduleState& state_;
  const ScheduleView& view_;
  ScheduleDecision decision_;
};

Error not_in_state(const std::string& name, const std::string& expected, const std::string& found) {
  return {Code::conflict, "Expected schedule " + name + " to be " + expected + ", but it is " + found + "."};
}

}  // namespace

bool is_ahead(const ScheduleState& state, TimeUs now_us) {
  return state.decided > whole_seconds(now_us + clock_ahead_max_us);
}

std::optional<PlannedOccurrence> planned_occurrence(const std::string& name, const ScheduleDefinition& definition,
                                                    const TimeZone& zone, UtcSeconds from) {
  const std::optional<UtcSeconds> at = next_time(definition.times, zone, from);
  if (!at) return std::nullopt;
  PlannedOccurrence planned{*at * second_us, *at * second_us};
  if (definition.jitter_ms == 0) return planned;
  TimeUs room = definition.jitter_ms * 1'000;
  if (const std::optional<UtcSeconds> after = next_time(definition.times, zone, *at + 1))
    room = std::min(room, (*after - *at) * second_us);
  planned.fires_at += static_cast<TimeUs>(spread(name, planned.at) % static_cast<std::uint64_t>(room));
  return planned;
}

ScheduleDecision decide_schedule(ScheduleState& state, const ScheduleView& view) {
  ScheduleDecider decider(state, view);
  decider.forget_ended();
  decider.begin_waiting();
  return decider.finish();
}

ScheduleDecision confirm_starts(ScheduleState& state, const ScheduleView& view,
                                const std::vector<StartedOccurrence>& done) {
  ScheduleDecider decider(state, view);
  decider.confirm(done);
  decider.forget_ended();
  decider.begin_waiting();
  return decider.finish();
}

ScheduleDecision trigger_schedule(ScheduleState& state, const ScheduleView& view, Overlap overlap,
                                  const std::string& actor) {
  ScheduleDecider decider(state, view);
  decider.forget_ended();
  // Never a time that the schedule itself may have.
  const TimeUs at = view.now_us % second_us == 0 ? view.now_us + 1 : view.now_us;
  decider.decide(at, overlap, actor);
  return decider.finish();
}

Result<ScheduleDecision> backfill_schedule(ScheduleState& state, const ScheduleView& view, const BackfillRange& range,
                                           const std::function<bool(TimeUs at)>& has_run, const std::string& actor) {
  ScheduleDecider decider(state, view);
  decider.forget_ended();
  std::vector<TimeUs> times;
  const TimeUs last = std::min(range.until, state.decided * second_us);
  for (std::optional<UtcSeconds> at =
           next_time(view.definition.times, view.zone, whole_seconds(range.from + second_us - 1));
       at && *at * second_us <= last; at = next_time(view.definition.times, view.zone, *at + 1)) {
    if (times.size() == backfilled_at_once_max)
      return Error{Code::limit, "Expected at most " + std::to_string(backfilled_at_once_max) +
                                    " occurrences to run later, but there are more: ask for a shorter time."};
    times.push_back(*at * second_us);
  }
  const auto waits = [&state](TimeUs at) {
    return std::any_of(state.waiting.begin(), state.waiting.end(),
                       [at](const WaitingOccurrence& one) { return one.at == at; });
  };
  for (const TimeUs at : times)
    if (!has_run(at) && !waits(at)) decider.decide(at, range.overlap, actor);
  return decider.finish();
}

Result<ScheduleDecision> pause_schedule(ScheduleState& state, const ScheduleView& view, const std::string& reason,
                                        const std::string& actor) {
  if (state.paused) return not_in_state(view.name, "at work", "paused by " + state.paused->by + " already");
  ScheduleDecider decider(state, view);
  decider.forget_ended();
  decider.decide_due();
  state.paused = Pausing{view.now_us, actor, reason};
  decider.note({.kind = NoteKind::paused, .says = reason, .actor = actor});
  ScheduleDecision decision = decider.finish();
  decision.due_at = state.starting.empty() ? never_us : view.now_us + starting_check_us;
  return decision;
}

Result<ScheduleDecision> resume_schedule(ScheduleState& state, const ScheduleView& view, const std::string& actor) {
  if (!state.paused) return not_in_state(view.name, "paused", "at work");
  ScheduleDecider decider(state, view);
  decider.miss_paused();
  state.paused.reset();
  decider.note({.kind = NoteKind::resumed, .actor = actor});
  decider.forget_ended();
  decider.begin_waiting();
  return decider.finish();
}

ScheduleDecision leave_definition(ScheduleState& state, const ScheduleView& view) {
  ScheduleDecider decider(state, view);
  decider.forget_ended();
  decider.leave("it was edited");
  ScheduleDecision decision = decider.finish();
  state.decided = std::max(state.decided, whole_seconds(view.now_us));
  return decision;
}

ScheduleDecision remove_schedule(ScheduleState& state, const ScheduleView& view, const std::string& actor) {
  ScheduleDecider decider(state, view);
  decider.forget_ended();
  decider.begin_waiting();
  decider.leave("it was removed");
  ScheduleDecision decision = decider.finish();
  if (!state.starting.empty()) return decision;
  for (const WaitingOccurrence& one : state.waiting)
    decision.notes.push_back({.kind = NoteKind::skipped,
                              .at = one.at,
                              .until = one.at,
                              .count = 1,
                              .says = "because the schedule was removed while it waited",
                              .actor = one.actor,
                              .revision = view.revision});
  decision.notes.push_back({.kind = NoteKind::removed, .actor = actor, .revision = view.revision});
  return decision;
}

}  // namespace cairn
