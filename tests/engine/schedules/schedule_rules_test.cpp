// Rules of schedules: given a schedule and its runs, when time passes or a person acts, then these notes.
#include "engine/schedule_rules.hpp"

#include <gtest/gtest.h>
#include <map>
#include <set>

namespace cairn {
namespace {

using Texts = std::vector<std::string>;

TimeUs moment(const std::string& text) { return *parse_time(text); }

// A schedule that is turned by hand. Runs have ids by the order of their keys; they are open until they are ended.
class Timetable {
 public:
  explicit Timetable(const Json& fields, const std::string& now = "2026-11-23T00:00:00Z")
      : definition(*parse_schedule(fields)), zone(TimeZone::utc()), now_us(moment(now)) {
    state.decided = now_us / 1'000'000;
  }

  ScheduleView view() {
    return {"s",
            1,
            definition,
            zone,
            now_us,
            [this](const RunId& run) { return ended.contains(run); },
            [this](const std::string& graph, const std::string& key) { return run_of(graph + " " + key); }};
  }
  RunId run_of(const std::string& key) {
    RunId run;
    run.bytes[15] = static_cast<std::uint8_t>(keys.try_emplace(key, keys.size() + 1).first->second);
    return run;
  }

  Texts at(const std::string& time) {
    now_us = moment(time);
    return took(decide_schedule(state, view()));
  }
  // All that was to be started is there now.
  Texts started() {
    std::vector<StartedOccurrence> done;
    for (const OccurrenceRun& one : state.starting) done.push_back({one.run, Done{}});
    return took(confirm_starts(state, view(), done));
  }
  Texts refused(const std::string& says) {
    return took(confirm_starts(state, view(), {{state.starting.front().run, Error{Code::invalid, says}}}));
  }
  void end_all() {
    for (const OccurrenceRun& one : state.open) ended.insert(one.run);
  }

  Texts took(const ScheduleDecision& decision) {
    due_at = decision.due_at;
    cancels = decision.cancels.size();
    Texts lines;
    for (const ScheduleNote& note : decision.notes) lines.push_back(line_of(note));
    return lines;
  }
  Texts took(const Result<ScheduleDecision>& decision) {
    return decision ? took(*decision) : Texts{decision.error().message};
  }

  static std::string line_of(const ScheduleNote& note) {
    std::string line(to_string(note.kind));
    if (note.at) line += " " + occurrence_text(*note.at).substr(8, 9);
    if (note.count > 1) line += " to " + occurrence_text(*note.until).substr(8, 9) + " x" + std::to_string(note.count);
    if (note.run) line += " run " + std::to_string(note.run->bytes[15]);
    if (note.actor != "schedule") line += " by " + note.actor;
    return line;
  }

  ScheduleDefinition definition;
  TimeZone zone;
  ScheduleState state;
  TimeUs now_us = 0;
  TimeUs due_at = 0;
  std::size_t cancels = 0;
  std::map<std::string, std::size_t> keys;
  std::set<RunId> ended;
};

Json hourly(const std::string& overlap = "skip") {
  return {{"graph", "g"}, {"cron", Json::array({"0 * * * *"})}, {"overlap", overlap}};
}

TEST(ScheduleRules, an_occurrence_starts_a_run_when_its_time_comes) {
  Timetable s(hourly());
  EXPECT_EQ(s.at("2026-11-23T00:59:59Z"), Texts{});
  EXPECT_EQ(s.due_at, moment("2026-11-23T01:00:00Z"));
  EXPECT_EQ(s.at("2026-11-23T01:00:00Z"), (Texts{"started 23T01:00: run 1"}));
  EXPECT_EQ(s.due_at, moment("2026-11-23T01:00:05Z")) << "to start it again if that is not confirmed";
  EXPECT_EQ(s.started(), Texts{});
  EXPECT_EQ(s.due_at, moment("2026-11-23T02:00:00Z"));
  EXPECT_EQ(s.keys.begin()->first, "g schedule/s/2026-11-23T01:00:00Z");
}

TEST(ScheduleRules, a_start_that_is_not_confirmed_stays_to_be_done) {
  Timetable s(hourly());
  s.at("2026-11-23T01:00:00Z");
  EXPECT_EQ(s.at("2026-11-23T01:00:05Z"), Texts{});
  ASSERT_EQ(s.state.starting.size(), 1u);
  EXPECT_EQ(s.started(), Texts{});
  EXPECT_EQ(s.started(), Texts{}) << "another process confirms it too";
  EXPECT_EQ(s.state.open.size(), 1u);
}

TEST(ScheduleRules, what_overlaps_is_skipped_with_the_run_that_was_open) {
  Timetable s(hourly());
  s.at("2026-11-23T01:00:00Z");
  s.started();
  const ScheduleDecision decision = [&] {
    s.now_us = moment("2026-11-23T02:00:00Z");
    return decide_schedule(s.state, s.view());
  }();
  ASSERT_EQ(decision.notes.size(), 1u);
  EXPECT_EQ(decision.notes[0].says,
            "because run 00000000-0000-0000-0000-000000000001 of 2026-11-23T01:00:00Z was still open");
  s.end_all();
  EXPECT_EQ(s.at("2026-11-23T03:00:00Z"), (Texts{"started 23T03:00: run 2"}));
}

TEST(ScheduleRules, one_waits_until_the_open_run_has_ended) {
  Timetable s(hourly("buffer_one"));
  s.at("2026-11-23T01:00:00Z");
  s.started();
  EXPECT_EQ(s.at("2026-11-23T02:00:00Z"), (Texts{"waiting 23T02:00:"}));
  EXPECT_EQ(s.due_at, moment("2026-11-23T02:00:01Z"));
  EXPECT_EQ(s.at("2026-11-23T03:00:00Z"), (Texts{"skipped 23T03:00:"}));
  s.end_all();
  EXPECT_EQ(s.at("2026-11-23T03:10:00Z"), (Texts{"started 23T02:00: run 2"}));
}

TEST(ScheduleRules, all_wait_in_their_order) {
  Timetable s(hourly("buffer_all"));
  s.at("2026-11-23T01:00:00Z");
  s.started();
  EXPECT_EQ(s.at("2026-11-23T03:00:00Z"), (Texts{"waiting 23T02:00:", "waiting 23T03:00:"}));
  s.end_all();
  EXPECT_EQ(s.at("2026-11-23T03:10:00Z"), (Texts{"started 23T02:00: run 2"}));
  s.started();
  s.end_all();
  EXPECT_EQ(s.at("2026-11-23T03:20:00Z"), (Texts{"started 23T03:00: run 3"}));
}

TEST(ScheduleRules, the_open_run_is_cancelled_and_the_next_waits_for_its_end) {
  Timetable s(hourly("cancel_other"));
  s.at("2026-11-23T01:00:00Z");
  s.started();
  EXPECT_EQ(s.at("2026-11-23T02:00:00Z"), (Texts{"waiting 23T02:00:"}));
  EXPECT_EQ(s.cancels, 1u);
  EXPECT_EQ(s.at("2026-11-23T02:00:01Z"), Texts{});
  EXPECT_EQ(s.cancels, 1u) << "again, in case that the process died before";
  EXPECT_EQ(s.at("2026-11-23T03:00:00Z"), (Texts{"skipped 23T02:00:", "waiting 23T03:00:"}));
  s.end_all();
  EXPECT_EQ(s.at("2026-11-23T03:00:01Z"), (Texts{"started 23T03:00: run 2"}));
}

TEST(ScheduleRules, the_open_run_is_ended_at_once) {
  Timetable s(hourly("terminate_other"));
  s.at("2026-11-23T01:00:00Z");
  s.started();
  EXPECT_EQ(s.at("2026-11-23T02:00:00Z"), (Texts{"started 23T02:00: run 2"}));
  ASSERT_EQ(s.state.starting.size(), 1u);
  EXPECT_EQ(s.state.starting[0].ending, std::vector<RunId>{s.state.open[0].run});
}

TEST(ScheduleRules, all_are_allowed) {
  Timetable s(hourly("allow_all"));
  EXPECT_EQ(s.at("2026-11-23T01:30:00Z"), (Texts{"started 23T01:00: run 1"}));
  s.started();
  EXPECT_EQ(s.at("2026-11-23T02:00:00Z"), (Texts{"started 23T02:00: run 2"}));
}

TEST(ScheduleRules, what_is_too_late_is_missed_as_one_note) {
  Timetable s(hourly("allow_all"));
  EXPECT_EQ(s.at("2026-11-23T06:30:00Z"), (Texts{"missed 23T01:00: to 23T05:00: x5", "started 23T06:00: run 1"}))
      << "a laptop that slept";
  EXPECT_EQ(s.due_at, moment("2026-11-23T06:30:05Z"));
}

TEST(ScheduleRules, within_the_time_to_catch_up_all_are_decided) {
  Json fields = hourly();
  fields["catch_up_ms"] = 4 * 3'600'000;
  Timetable s(fields);
  EXPECT_EQ(s.at("2026-11-23T04:00:00Z"),
            (Texts{"started 23T01:00: run 1", "skipped 23T02:00:", "skipped 23T03:00:", "skipped 23T04:00:"}))
      << "old times obey the overlap too";
}

TEST(ScheduleRules, years_that_passed_take_a_moment) {
  Timetable s({{"graph", "g"}, {"every_ms", 1'000}, {"overlap", "skip"}});
  const Texts lines = s.at("2036-11-23T00:00:00Z");
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(0, 6), "missed");
  EXPECT_EQ(s.due_at, s.now_us) << "the rest is decided in further turns";
}

TEST(ScheduleRules, a_clock_that_goes_back_starts_nothing_twice) {
  Timetable s(hourly("allow_all"));
  s.at("2026-11-23T02:00:00Z");
  s.started();
  EXPECT_EQ(s.at("2026-11-23T01:30:00Z"), Texts{});
  EXPECT_EQ(s.at("2026-11-23T02:00:00Z"), Texts{});
  EXPECT_EQ(s.at("2026-11-23T03:00:00Z"), (Texts{"started 23T03:00: run 3"}));
}

// It stood still for a year: all times up to then had been decided.
TEST(ScheduleRules, a_clock_that_was_a_year_ahead_for_a_moment_leaves_the_times_that_come) {
  Timetable s(hourly("allow_all"));
  s.at("2026-11-23T01:00:00Z");
  s.started();
  EXPECT_EQ(s.at("2027-11-23T01:30:00Z"), (Texts{"missed 23T02:00: to 23T00:00: x8759", "started 23T01:00: run 2"}));
  s.started();
  EXPECT_TRUE(is_ahead(s.state, moment("2026-11-23T01:30:00Z")));
  EXPECT_EQ(s.at("2026-11-23T01:30:00Z"), Texts{"resumed"});
  EXPECT_FALSE(is_ahead(s.state, s.now_us));
  EXPECT_EQ(s.due_at, moment("2026-11-23T02:00:00Z"));
  EXPECT_EQ(s.at("2026-11-23T02:00:00Z"), Texts{"started 23T02:00: run 3"});
  EXPECT_EQ(s.at("2027-11-23T01:00:00Z").back(), "started 23T01:00: run 2") << "the same run";
}

TEST(ScheduleRules, a_person_who_acts_after_a_clock_was_ahead_finds_it_come_back) {
  Timetable s(hourly());
  s.at("2027-11-23T01:30:00Z");
  s.started();
  s.now_us = moment("2026-11-23T01:30:00Z");
  EXPECT_EQ(s.took(pause_schedule(s.state, s.view(), "", "ann")), (Texts{"resumed", "paused by ann"}));
  s.now_us = moment("2026-11-23T02:30:00Z");
  EXPECT_EQ(s.took(resume_schedule(s.state, s.view(), "ann")), (Texts{"missed 23T02:00:", "resumed by ann"}));
}

TEST(ScheduleRules, a_paused_schedule_says_what_it_missed_when_it_goes_on) {
  Timetable s(hourly());
  s.now_us = moment("2026-11-23T00:30:00Z");
  EXPECT_EQ(s.took(pause_schedule(s.state, s.view(), "closed", "user:ann")), (Texts{"paused by user:ann"}));
  EXPECT_EQ(s.due_at, never_us);
  EXPECT_EQ(s.at("2026-11-23T03:30:00Z"), Texts{});
  const Result<ScheduleDecision> again = pause_schedule(s.state, s.view(), "", "user:bob");
  EXPECT_EQ(again.error().message, "Expected schedule s to be at work, but it is paused by user:ann already.");
  EXPECT_EQ(s.took(resume_schedule(s.state, s.view(), "user:bob")),
            (Texts{"missed 23T01:00: to 23T03:00: x3", "resumed by user:bob"}));
  EXPECT_EQ(s.at("2026-11-23T04:00:00Z"), (Texts{"started 23T04:00: run 1"}));
}

TEST(ScheduleRules, a_trigger_is_an_occurrence_of_its_own_moment) {
  Timetable s(hourly());
  s.now_us = moment("2026-11-23T00:30:00.5Z");
  EXPECT_EQ(s.took(trigger_schedule(s.state, s.view(), Overlap::skip, "user:ann")),
            (Texts{"started 23T00:30: run 1 by user:ann"}));
  s.started();
  EXPECT_EQ(s.took(trigger_schedule(s.state, s.view(), Overlap::skip, "user:ann")),
            (Texts{"skipped 23T00:30: by user:ann"}));
  s.now_us = moment("2026-11-23T01:00:00Z");
  EXPECT_EQ(s.took(trigger_schedule(s.state, s.view(), Overlap::allow_all, "user:ann")),
            (Texts{"started 23T01:00: run 2 by user:ann", "skipped 23T01:00:"}))
      << "and the regular one is another";
}

TEST(ScheduleRules, a_backfill_runs_what_has_passed_without_a_run) {
  Timetable s(hourly("allow_all"));
  s.at("2026-11-23T05:30:00Z");
  s.started();
  BackfillRange range{moment("2026-11-23T02:00:00Z"), never_us, Overlap::allow_all};
  const auto has_run = [](TimeUs at) { return at >= moment("2026-11-23T05:00:00Z"); };
  EXPECT_EQ(s.took(backfill_schedule(s.state, s.view(), range, has_run, "user:ann")),
            (Texts{"started 23T02:00: run 2 by user:ann", "started 23T03:00: run 3 by user:ann",
                   "started 23T04:00: run 4 by user:ann"}));
  range = {moment("2020-01-01T00:00:00Z"), never_us, Overlap::allow_all};
  EXPECT_EQ(backfill_schedule(s.state, s.view(), range, has_run, "user:ann").error().message,
            "Expected at most 1000 occurrences to run later, but there are more: ask for a shorter time.");
}

TEST(ScheduleRules, a_refused_start_is_on_record_and_the_next_one_is_tried) {
  Timetable s(hourly());
  s.at("2026-11-23T01:00:00Z");
  EXPECT_EQ(s.refused("Expected a graph."), (Texts{"refused 23T01:00:"}));
  EXPECT_EQ(s.at("2026-11-23T02:00:00Z"), (Texts{"started 23T02:00: run 2"}));
}

TEST(ScheduleRules, an_edited_schedule_begins_now) {
  Timetable s(hourly());
  s.now_us = moment("2026-11-23T01:30:00Z");
  EXPECT_EQ(s.took(leave_definition(s.state, s.view())), (Texts{"started 23T01:00: run 1"})) << "by the old times";
  s.definition.times.cron[0] = *parse_cron_line("*/10 * * * *");
  EXPECT_EQ(s.at("2026-11-23T01:30:00Z"), Texts{}) << "01:10 and 01:20 are not of this one";
}

TEST(ScheduleRules, an_edit_loses_no_time_that_jitter_holds_back) {
  Json fields = hourly();
  fields["jitter_ms"] = 3'000'000;
  Timetable s(fields);
  s.now_us = moment("2026-11-23T01:00:01Z");
  EXPECT_GT(planned_occurrence("s", s.definition, s.zone, s.state.decided + 1)->fires_at, s.now_us);
  EXPECT_EQ(s.took(leave_definition(s.state, s.view())), (Texts{"started 23T01:00: run 1"}));
}

// Those beyond one decision were dropped without a word.
TEST(ScheduleRules, an_edit_says_which_of_too_many_times_it_missed) {
  Json fields = {{"graph", "g"}, {"every_ms", 60'000}, {"overlap", "allow_all"}, {"catch_up_ms", 24 * 3'600'000}};
  Timetable s(fields);
  s.now_us = moment("2026-11-23T10:00:00Z");
  const ScheduleDecision decision = leave_definition(s.state, s.view());
  ASSERT_EQ(decision.notes.size(), decided_at_once_max + 1);
  const ScheduleNote& missed = decision.notes.back();
  EXPECT_EQ(missed.kind, NoteKind::missed);
  EXPECT_EQ(missed.at, moment("2026-11-23T03:21:00Z"));
  EXPECT_EQ(missed.until, moment("2026-11-23T10:00:00Z"));
  EXPECT_EQ(missed.count, 400);
  EXPECT_EQ(missed.says, "it was edited, which decides at most 200 that are due");
  EXPECT_EQ(s.state.decided, s.now_us / 1'000'000);
}

TEST(ScheduleRules, an_edit_of_a_paused_schedule_says_what_its_jitter_held_back) {
  Json fields = hourly();
  fields["jitter_ms"] = 3'000'000;
  Timetable s(fields);
  ASSERT_TRUE(pause_schedule(s.state, s.view(), "closed", "user:ann"));
  s.now_us = moment("2026-11-23T01:00:01Z");
  ASSERT_GT(planned_occurrence("s", s.definition, s.zone, s.state.decided + 1)->fires_at, s.now_us);
  EXPECT_EQ(s.took(leave_definition(s.state, s.view())), (Texts{"missed 23T01:00:"}));
}

TEST(ScheduleRules, a_removal_of_a_paused_schedule_says_what_it_missed) {
  Timetable s(hourly());
  s.now_us = moment("2026-11-23T00:30:00Z");
  s.took(pause_schedule(s.state, s.view(), "", "ada"));
  s.now_us = moment("2026-11-23T03:30:00Z");
  EXPECT_EQ(s.took(remove_schedule(s.state, s.view(), "ada")),
            (Texts{"missed 23T01:00: to 23T03:00: x3", "removed by ada"}));
}

TEST(ScheduleRules, a_removal_says_which_of_too_many_times_it_missed_and_waits_for_what_it_starts) {
  Json fields = hourly("buffer_all");
  fields["cron"] = Json::array({"* * * * *"});
  fields["catch_up_ms"] = 86'400'000;
  Timetable s(fields);
  s.now_us = moment("2026-11-23T05:00:00Z");
  const Texts first = s.took(remove_schedule(s.state, s.view(), "ada"));
  ASSERT_EQ(first.size(), decided_at_once_max + 1);
  EXPECT_EQ(first.front(), "started 23T00:01: run 1");
  EXPECT_EQ(first.back(), "missed 23T03:21: to 23T05:00: x100") << "and not removed: its start is not confirmed";
  s.started();
  const Texts second = s.took(remove_schedule(s.state, s.view(), "ada"));
  ASSERT_EQ(second.size(), decided_at_once_max);
  EXPECT_EQ(second.front(), "skipped 23T00:02:");
  EXPECT_EQ(second.back(), "removed by ada");
}

TEST(ScheduleRules, open_runs_that_never_end_do_not_pile_up_in_the_state) {
  Timetable s(hourly("allow_all"));
  for (int hour = 1; hour <= 150; ++hour) {
    s.now_us += 3'600'000'000;
    EXPECT_EQ(decide_schedule(s.state, s.view()).notes.size(), 1u);
    s.started();
  }
  EXPECT_EQ(s.state.open.size(), open_max);
  EXPECT_EQ(s.state.open.back().at, moment("2026-11-29T06:00:00Z"));
}

TEST(ScheduleRules, jitter_depends_on_name_and_time_and_keeps_the_order) {
  Json fields = hourly();
  fields["jitter_ms"] = 7'200'000;
  const ScheduleDefinition definition = *parse_schedule(fields);
  const TimeZone utc = TimeZone::utc();
  TimeUs last = 0;
  std::set<TimeUs> parts;
  for (UtcSeconds from = moment("2026-11-23T00:00:01Z") / 1'000'000; parts.size() < 20;) {
    const auto planned = planned_occurrence("s", definition, utc, from);
    ASSERT_TRUE(planned);
    EXPECT_EQ(planned, planned_occurrence("s", definition, utc, from));
    EXPECT_NE(planned, planned_occurrence("t", definition, utc, from));
    EXPECT_GT(planned->fires_at, last);
    EXPECT_LT(planned->fires_at - planned->at, 3'600'000'000);
    last = planned->fires_at;
    parts.insert(planned->fires_at - planned->at);
    from = planned->at / 1'000'000 + 1;
  }
}

TEST(ScheduleRules, a_state_is_read_as_it_was_kept) {
  Timetable s(hourly("buffer_all"));
  s.at("2026-11-23T01:00:00Z");
  s.started();
  s.at("2026-11-23T02:00:00Z");
  s.took(trigger_schedule(s.state, s.view(), Overlap::terminate_other, "user:ann"));
  s.state.paused = Pausing{5, "user:ann", "why"};
  ASSERT_FALSE(s.state.starting.empty() || s.state.open.empty() || s.state.waiting.empty());
  EXPECT_EQ(read_state(state_json(s.state)), s.state);
}

// --- definitions
// -----------------------------------------------------------------------------------------------------------

std::string fault_of(Json fields) {
  const Result<ScheduleDefinition> read = parse_schedule(fields);
  return read ? "" : read.error().message;
}

TEST(Schedule, says_what_is_wrong_with_it) {
  Json fields = hourly();
  fields["crn"] = 1;
  EXPECT_EQ(fault_of(fields), "Expected the fields of a schedule, but found \"crn\" (did you mean cron?).");
  EXPECT_EQ(fault_of({{"graph", "g"}}), "Expected a cron line or an interval of a schedule, but found neither.");
  EXPECT_EQ(fault_of({{"every_ms", 1'000}}), "Expected the graph of a schedule, but found none.");
  EXPECT_EQ(fault_of({{"graph", "g"}, {"every_ms", 1'500}}),
            "Expected whole seconds as every_ms of a schedule, but found 1500.");
  EXPECT_EQ(fault_of({{"graph", "g"}, {"every_ms", 60'000}, {"phase_ms", 60'000}}),
            "Expected a phase shorter than the interval, but found 60 s of 60 s.");
  for (const Json& bad :
       {Json{{"every_ms", 0}}, Json{{"every_ms", -1'000}}, Json{{"cron", "0 * * * *"}}, Json{{"zone", ""}},
        Json{{"overlap", "never"}}, Json{{"catch_up_ms", 1}}, Json{{"jitter_ms", -1}}, Json{{"dst", "first"}},
        Json{{"exclude", Json::array({"2026-02-30"})}}, Json{{"input", 5}}, Json{{"tags", {{"schedule", "x"}}}},
        Json{{"from", "soon"}}, Json{{"input", {{"x", std::string(70'000, 'x')}}}}}) {
    Json spoiled = hourly();
    spoiled.update(bad);
    EXPECT_NE(fault_of(spoiled), "") << bad;
  }
  for (const std::string name : {"", "a b", "-a", "a/b", "ä"}) EXPECT_FALSE(check_schedule_name(name).ok()) << name;
  EXPECT_TRUE(check_schedule_name("weekly-report.2").ok());
}

TEST(Schedule, a_cron_line_outside_of_a_list_is_told_that_a_list_is_expected) {
  EXPECT_EQ(fault_of({{"graph", "g"}, {"cron", "0 9 * * 1"}}),
            "Expected a list of texts as cron of a schedule, but found \"0 9 * * 1\".");
}

TEST(Schedule, a_time_of_a_year_of_five_digits_has_all_its_seconds) {
  const TimeUs at = 253'402'300'800'000'000;
  EXPECT_EQ(occurrence_text(at), "10000-01-01T00:00:00Z");
  EXPECT_EQ(occurrence_text(at - 1'000'000), "9999-12-31T23:59:59Z");
  EXPECT_EQ(occurrence_text(at + 5), "10000-01-01T00:00:00.000005Z");
}

TEST(Schedule, a_refusal_is_text_wherever_it_cuts_what_was_found) {
  for (std::size_t before = 0; before < 8; ++before) {
    const std::string text = std::string(before, 'x') + "ä€𝄞ä€𝄞ä€𝄞ä€𝄞ä€𝄞ä€𝄞ä€𝄞ä€𝄞ä€𝄞ä€𝄞";
    for (const char* field : {"cron", "exclude"}) {
      Json fields = hourly();
      fields[field] = Json::array({text});
      EXPECT_NO_THROW(static_cast<void>(Json(fault_of(fields)).dump())) << field;
    }
    for (const std::string& field : {std::string("overlap"), std::string("dst"), text}) {
      Json fields = hourly();
      fields[field] = text;
      EXPECT_NO_THROW(static_cast<void>(Json(fault_of(fields)).dump())) << field;
    }
    EXPECT_NO_THROW(static_cast<void>(Json(check_schedule_name(text).error().message).dump()));
  }
}

TEST(Schedule, is_read_as_it_is_shown) {
  Json fields = hourly("cancel_other");
  fields.update({{"every_ms", 60'000},
                 {"phase_ms", 1'000},
                 {"zone", "Europe/Berlin"},
                 {"dst", "both,skip"},
                 {"exclude", Json::array({"SAT,SUN", "12-25"})},
                 {"jitter_ms", 5},
                 {"catch_up_ms", 10'000},
                 {"input", {{"a", 1}}},
                 {"tags", {{"team", "a"}}},
                 {"from", "2026-01-01T00:00:00Z"},
                 {"until", "2027-01-01T00:00:00Z"}});
  const ScheduleDefinition read = *parse_schedule(fields);
  EXPECT_EQ(*parse_schedule(schedule_json(read)), read);
}

std::string words_of(const std::string& line, const std::string& zone = "UTC") {
  return in_words(*parse_schedule({{"graph", "g"}, {"cron", Json::array({line})}, {"zone", zone}}));
}

TEST(Schedule, is_said_in_words) {
  EXPECT_EQ(words_of("0 9 * * 1", "Europe/Berlin"), "Mondays at 09:00 in Europe/Berlin");
  EXPECT_EQ(words_of("30 8,17 * * MON-FRI"), "Mondays to Fridays at 08:30 and 17:30 in UTC");
  EXPECT_EQ(words_of("0 0 L * *"), "the last day of the month at 00:00 in UTC");
  EXPECT_EQ(words_of("0 6 1,15 * *"), "days 1 and 15 of the month at 06:00 in UTC");
  EXPECT_EQ(words_of("0 6 ? * 5L"), "the last Friday of the month at 06:00 in UTC");
  EXPECT_EQ(words_of("0 6 13 * FRI"), "day 13 of the month, and Fridays at 06:00 in UTC");
  EXPECT_EQ(words_of("*/15 * * * *"), "every 15 minutes in UTC");
  EXPECT_EQ(words_of("*/15 9-17 * * *"), "every 15 minutes of the hours 9 to 17 in UTC");
  EXPECT_EQ(words_of("30 * * * *"), "every day at minute 30 of every hour in UTC");
  EXPECT_EQ(words_of("* * * * *"), "every minute in UTC");
  EXPECT_EQ(words_of("0 0 25 12 *"), "day 25 of the month at 00:00 in December in UTC");
  EXPECT_EQ(words_of("@daily"), "every day at 00:00 in UTC");
  Json fields = {{"graph", "g"}, {"every_ms", 5'400'000}, {"exclude", Json::array({"SUN"})}};
  EXPECT_EQ(in_words(*parse_schedule(fields)), "every 90 minutes in UTC, but not on SUN");
  fields = {{"graph", "g"}, {"every_ms", 60'000}, {"from", "2026-12-01T08:00:00Z"}, {"until", "2037-01-01T00:00:00Z"}};
  EXPECT_EQ(in_words(*parse_schedule(fields)), "every minute, from 2026-12-01T08:00:00Z, until 2037-01-01T00:00:00Z");
}

}  // namespace
}  // namespace cairn
