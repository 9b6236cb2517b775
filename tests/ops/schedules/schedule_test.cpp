// Schedules as a user has them: commands, processes that fire and are killed, a graph that is gone, overlapping edits.
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "storage/postgres/connection.hpp"
#include "tests/ops/planners/planner_runs.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

const std::string no_goals = R"({"goal": "g", "sub_goals": []})";

Ran add_schedule(const std::string& name, const Arguments& more) {
  Arguments all = {"schedule", "add", name, "--graph", "plan_runner", "--input", no_goals, "--json"};
  all.insert(all.end(), more.begin(), more.end());
  return cairn(all);
}

std::vector<Json> history(const std::string& name) {
  return cairn_ok({"schedule", "history", name, "--limit", "10000", "--json"}).lines();
}

std::size_t count_of(const std::vector<Json>& notes, const std::string& kind) {
  return static_cast<std::size_t>(
      std::count_if(notes.begin(), notes.end(), [&kind](const Json& note) { return note["kind"] == kind; }));
}

// Each start on record has its run, and there is no other run.
void expect_runs_as_noted(const std::string& name) {
  std::map<std::string, std::string> noted;
  for (const Json& note : history(name)) {
    if (note["kind"] != "started") continue;
    EXPECT_TRUE(noted.emplace(note["at"].get<std::string>(), note["run"].get<std::string>()).second) << note;
  }
  std::map<std::string, std::string> there;
  for (const Json& run : cairn_ok({"runs", "--tag", "schedule=" + name, "--limit", "1000", "--json"}).lines())
    EXPECT_TRUE(there.emplace(run["tags"]["occurrence"].get<std::string>(), run["run"].get<std::string>()).second);
  EXPECT_EQ(noted, there);
}

TEST(Schedules, a_worker_fires_them_and_what_became_of_each_time_is_on_record) {
  ASSERT_EQ(add_schedule("often", {"--every", "1s"}).exit, 0);
  const Beside worker({"work"});
  ASSERT_TRUE(wait_until([] { return count_of(history("often"), "started") >= 3; }));
  cairn_ok({"schedule", "remove", "often"});
  const std::vector<Json> notes = history("often");
  EXPECT_EQ(notes.front()["kind"], "added");
  EXPECT_EQ(notes.back()["kind"], "removed");
  expect_runs_as_noted("often");
  expect_refused(cairn({"schedule", "show", "often"}), 3, "none is named often");
}

TEST(Schedules, processes_that_fire_are_killed_and_no_time_is_lost_or_has_two_runs) {
  ASSERT_EQ(add_schedule("killed", {"--every", "1s", "--overlap", "allow_all"}).exit, 0);
  ASSERT_EQ(add_schedule("other", {"--cron", "* * * * * *", "--overlap", "allow_all"}).exit, 0);
  std::vector<Beside> workers;
  for (int n = 0; n < 2; ++n) workers.emplace_back(Arguments{"work"});
  for (std::size_t killed = 0; killed < 8; ++killed) {
    const std::size_t before = count_of(history("killed"), "started");
    ASSERT_TRUE(wait_until([&] { return count_of(history("killed"), "started") > before; }));
    workers[killed % 2].signal(SIGKILL);
    workers[killed % 2] = Beside({"work"});
  }
  for (const std::string name : {"killed", "other"}) {
    cairn_ok({"schedule", "pause", name, "--reason", "enough"});
    ASSERT_TRUE(wait_until([&] { return cairn_ok({"schedule", "show", name, "--json"}).json()["open"].empty(); }));
    expect_runs_as_noted(name);
    std::string expected;
    for (const Json& note : history(name)) {
      if (note["kind"] != "started") continue;
      const std::string at = note["at"];
      EXPECT_EQ(at, expected.empty() ? at : expected) << "each second has its run";
      expected = cairn_ok({"schedule", "next", name, "--from", at, "--count", "2", "--json"}).lines()[1]["at"];
    }
    EXPECT_EQ(count_of(history(name), "missed"), 0u);
    cairn_ok({"schedule", "remove", name});
  }
}

TEST(Schedules, a_process_that_slept_misses_what_is_too_late_and_goes_on) {
  ASSERT_EQ(add_schedule("slept", {"--every", "1s", "--overlap", "allow_all", "--catch-up", "10s"}).exit, 0);
  Beside worker({"work"});
  ASSERT_TRUE(wait_until([] { return count_of(history("slept"), "started") > 0; }));
  worker.signal(SIGSTOP);
  const std::string asleep = cairn_ok({"schedule", "next", "slept", "--count", "15", "--json"}).lines()[14]["at"];
  ASSERT_TRUE(wait_until([&] {
    return cairn_ok({"schedule", "next", "slept", "--count", "1", "--json"}).lines()[0]["at"].get<std::string>() >
           asleep;
  }));
  worker.signal(SIGCONT);
  ASSERT_TRUE(wait_until([] { return count_of(history("slept"), "missed") > 0; }));
  ASSERT_TRUE(wait_until([&] {
    const std::vector<Json> notes = history("slept");
    return notes.back()["kind"] == "started" && notes.back()["at"].get<std::string>() > asleep;
  }));
  cairn_ok({"schedule", "remove", "slept"});
  EXPECT_EQ(count_of(history("slept"), "missed"), 1u) << "one note for all of them";
  expect_runs_as_noted("slept");
}

TEST(Schedules, a_pause_is_on_record_with_what_it_missed) {
  ASSERT_EQ(add_schedule("rests", {"--every", "1s"}).exit, 0);
  cairn_ok({"schedule", "pause", "rests", "--reason", "closed"});
  expect_refused(cairn({"schedule", "pause", "rests"}), 4, "is paused by");
  const std::string added = history("rests").front()["recorded_at"];
  ASSERT_TRUE(wait_until([&] {
    const Json later = cairn_ok({"schedule", "next", "rests", "--count", "1", "--json"}).lines()[0];
    return later["at"].get<std::string>().substr(0, 19) > added.substr(0, 19);
  }));
  ASSERT_TRUE(wait_until([&] {
    cairn({"schedule", "resume", "rests"});
    const bool has_missed = count_of(history("rests"), "missed") > 0;
    if (!has_missed) cairn({"schedule", "pause", "rests", "--reason", "closed"});
    return has_missed;
  }));
  Json missed;
  for (const Json& note : history("rests"))
    if (note["kind"] == "missed") missed = note;
  EXPECT_NE(missed["says"].get<std::string>().find("it was paused by user:"), std::string::npos) << missed;
  const std::string says = cairn_ok({"schedule", "explain", "rests", "--at", missed["at"]}).out;
  EXPECT_NE(says.find("missed: it was paused by user:"), std::string::npos) << says;
  cairn_ok({"schedule", "remove", "rests"});
}

TEST(Schedules, a_removal_while_paused_is_on_record_with_what_it_missed_and_explain_answers_from_the_notes) {
  ASSERT_EQ(add_schedule("closed", {"--every", "1s"}).exit, 0);
  cairn_ok({"schedule", "pause", "closed", "--reason", "moved"});
  const std::string third = cairn_ok({"schedule", "next", "closed", "--count", "3", "--json"}).lines()[2]["at"];
  ASSERT_TRUE(wait_until([&] {
    return cairn_ok({"schedule", "next", "closed", "--count", "1", "--json"}).lines()[0]["at"].get<std::string>() >
           third;
  }));
  cairn_ok({"schedule", "remove", "closed"});
  const std::vector<Json> notes = history("closed");
  ASSERT_GE(notes.size(), 2u);
  EXPECT_EQ(notes.back()["kind"], "removed");
  ASSERT_EQ(notes[notes.size() - 2]["kind"], "missed");
  const Json says = cairn_ok({"schedule", "explain", "closed", "--at", third, "--json"}).json()["says"];
  ASSERT_EQ(says.size(), 2u) << says;
  EXPECT_NE(says[0].get<std::string>().find("missed: it was paused by user:"), std::string::npos) << says;
  EXPECT_EQ(says[1], "The schedule was removed: see `cairn schedule history closed`.");
  const Json never = cairn_ok({"schedule", "explain", "closed", "--at", "2020-01-01", "--json"}).json()["says"];
  EXPECT_EQ(never[0], "Nothing is on record there, and the schedule was removed: see `cairn schedule history closed`.");
  expect_refused(cairn({"schedule", "explain", "never_there", "--at", "2020-01-01"}), 3, "none is or was named");
}

TEST(Schedules, an_edit_of_an_older_revision_is_refused_and_other_fields_stay) {
  ASSERT_EQ(add_schedule("edited", {"--cron", "0 0 1 1 *", "--zone", "Asia/Kathmandu", "--jitter", "5s"}).exit, 0);
  const Ran first = cairn_ok({"schedule", "edit", "edited", "--cron", "0 1 1 1 *", "--revision", "1", "--json"});
  EXPECT_EQ(first.json(), (Json{{"name", "edited"}, {"revision", 2}}));
  expect_refused(cairn({"schedule", "edit", "edited", "--overlap", "skip", "--revision", "1"}), 4,
                 "Expected revision 1 of schedule edited to edit, but it has revision 2 by now.");
  expect_refused(cairn({"schedule", "edit", "edited", "--zone", "Nowhere"}), 3, "Expected a time zone");
  cairn_ok({"schedule", "edit", "edited", "--clear", "jitter"});
  const Json shown = cairn_ok({"schedule", "show", "edited", "--json"}).json();
  EXPECT_EQ(shown["revision"], 3);
  EXPECT_EQ(shown["zone"], "Asia/Kathmandu");
  EXPECT_EQ(shown["cron"], Json::array({"0 1 1 1 *"}));
  EXPECT_EQ(shown["jitter_ms"], 0);
  EXPECT_EQ(count_of(history("edited"), "edited"), 2u);
}

TEST(Schedules, what_cannot_be_is_refused_in_one_sentence_and_leaves_nothing) {
  const std::vector<std::pair<Arguments, std::pair<int, std::string>>> refused = {
      {{"--cron", "0 9 30 2 *"}, {2, "no day ever fits"}},
      {{"--cron", "1--100000000 * * * *"}, {2, "as the minute of a cron line, but found 1--100000000"}},
      {{"--every", "1s", "--zone", "Europe/Berln"}, {3, "did you mean Europe/Berlin?"}},
      {{"--every", "1500ms"}, {2, "Expected whole seconds"}},
      {{"--cron", "0 9 * * *", "--exclude", "SUN,MON,TUE,WED,THU,FRI,SAT"},
       {4, "Expected times that are still to come"}},
      {{"--every", "1h", "--ends", "2020-01-01"}, {4, "Expected times that are still to come"}},
      {{}, {2, "Expected a cron line or an interval"}},
      {{"--every", "1s", "--dst", "first"}, {2, "Expected first, second or both"}},
      {{"--every", "1s", "--overlap", "sometimes"}, {2, "Expected skip, buffer_one"}},
      {{"--cron", "0 9 * * *", "--zone", "localtime"}, {4, "Expected a time zone that is the same on each machine"}},
  };
  for (const auto& [options, expected] : refused)
    expect_refused(add_schedule("bad", options), expected.first, expected.second);
  expect_refused(cairn({"schedule", "add", "bad", "--graph", "plan_runer", "--every", "1s"}), 3,
                 "did you mean plan_runner?");
  Json graph = Json::parse(ask_graph("strict"));
  graph["input"] = {{"type", "object"}, {"required", Json::array({"name"})}};
  cairn_ok({"graph", "add", write_file("strict.json", graph.dump()).string()});
  expect_refused(cairn({"schedule", "add", "bad", "--graph", "strict", "--every", "1s", "--input", "{}"}), 4,
                 "In the input of graph strict");
  expect_refused(cairn({"schedule", "add", "a b", "--graph", "plan_runner", "--every", "1s"}), 2, "Expected a name");
  expect_refused(cairn({"schedule", "show", "bad"}), 3, "none is named bad");
  EXPECT_EQ(cairn({"schedule", "history", "bad"}).exit, 3);
  EXPECT_EQ(cairn({"schedule", "history", "bad", "--before", "0"}).exit, 2);
  ASSERT_EQ(add_schedule("twice", {"--every", "1h"}).exit, 0);
  expect_refused(add_schedule("twice", {"--every", "1h"}), 4, "but twice is one already");
}

TEST(Schedules, a_graph_that_is_gone_is_on_record_and_the_schedule_goes_on) {
  const std::string graph = write_file("gone.json", ask_graph("gone")).string();
  cairn_ok({"graph", "add", graph});
  cairn_ok({"schedule", "add", "orphan", "--graph", "gone", "--every", "1h"});
  PgConnection owner({dsn(), "test", false});
  owner.execute("UPDATE cairn.graph SET current = false WHERE name = 'gone'");
  const Ran ran = cairn({"schedule", "trigger", "orphan", "--json"});
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_EQ(ran.lines().back()["kind"], "refused") << ran.out;
  EXPECT_EQ(history("orphan").back()["kind"], "refused");
  cairn_ok({"graph", "add", graph});
  EXPECT_EQ(cairn_ok({"schedule", "trigger", "orphan", "--json"}).lines()[0]["kind"], "started");
}

TEST(Schedules, a_start_that_was_refused_is_told_once_and_no_sentence_says_that_it_started) {
  const std::string graph = write_file("vanished.json", ask_graph("vanished")).string();
  cairn_ok({"graph", "add", graph});
  cairn_ok({"schedule", "add", "refused", "--graph", "vanished", "--every", "1h"});
  PgConnection owner({dsn(), "test", false});
  owner.execute("UPDATE cairn.graph SET current = false WHERE name = 'vanished'");
  const Ran ran = cairn({"schedule", "trigger", "refused"});
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_EQ(ran.out.find("started run"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("It could not start: "), std::string::npos) << ran.out;
  ASSERT_EQ(count_of(history("refused"), "started"), 1u) << "it is on record";
  const std::string told = cairn_ok({"schedule", "history", "refused"}).out;
  EXPECT_EQ(told.find("started run"), std::string::npos) << told;
  EXPECT_NE(told.find("could not start: "), std::string::npos) << told;
  const std::string at = history("refused").back()["at"];
  const Json says = cairn_ok({"schedule", "explain", "refused", "--at", at, "--json"}).json()["says"];
  ASSERT_EQ(says.size(), 1u) << says;
  EXPECT_NE(says[0].get<std::string>().find("could not start: "), std::string::npos) << says;
  cairn_ok({"schedule", "remove", "refused"});
}

TEST(Schedules, an_edit_that_gives_and_takes_away_one_field_and_a_backfill_of_no_time_are_refused) {
  ASSERT_EQ(add_schedule("asked", {"--cron", "0 0 * * *"}).exit, 0);
  expect_refused(cairn({"schedule", "edit", "asked", "--every", "1h", "--clear", "every"}), 2,
                 "Expected a value of every or --clear every, but got both.");
  const auto fill = [](const std::string& from, const std::string& until) {
    return cairn({"schedule", "backfill", "asked", "--from", from, "--until", until});
  };
  expect_refused(fill("2026-01-03", "2026-01-01"), 2,
                 "Expected the last time of a backfill not to be before the first, 2026-01-03T00:00:00Z, but found "
                 "2026-01-01T00:00:00Z.");
  expect_refused(fill("2200-01-01", "2200-01-03"), 4,
                 "Expected times that have passed, but the first, 2200-01-01T00:00:00Z, is still to come.");
  EXPECT_EQ(count_of(history("asked"), "started"), 0u);
  cairn_ok({"schedule", "remove", "asked"});
}

TEST(Schedules, a_backfill_runs_each_time_once) {
  ASSERT_EQ(add_schedule("filled", {"--cron", "0 0 * * *"}).exit, 0);
  const Arguments fill = {"schedule", "backfill",   "filled",    "--from",    "2026-01-01",
                          "--until",  "2026-01-03", "--overlap", "allow_all", "--json"};
  EXPECT_EQ(count_of(cairn_ok(fill).lines(), "started"), 3u);
  EXPECT_EQ(cairn_ok(fill).out, "");
  expect_runs_as_noted("filled");
}

TEST(Schedules, explain_tells_no_time_missed_that_a_clock_which_was_ahead_has_missed_and_that_came_later) {
  ASSERT_EQ(add_schedule("leapt", {"--cron", "0 9 * * MON"}).exit, 0);
  // A clock that was a thousand years ahead has missed all Mondays from 2026 to 2036, and came back in 2027.
  PgConnection owner({owner_dsn(), "test", false});
  owner.execute(R"(
    insert into cairn.schedule_note (schedule, number, recorded_at, kind, at, until, count, says, actor, revision)
    select 'leapt', number, recorded_at, kind, at, until, count, says, 'schedule', 1
    from (values
      (2, extract(epoch from timestamptz '3026-01-01 00:00Z') * 1000000, 'missed',
       extract(epoch from timestamptz '2026-01-05 09:00Z') * 1000000,
       extract(epoch from timestamptz '2036-12-29 09:00Z') * 1000000, 574, 'more than 0s late'),
      (3, extract(epoch from timestamptz '2027-01-01 00:00Z') * 1000000, 'resumed', null, null, 0, 'it was ahead'))
      as note (number, recorded_at, kind, at, until, count, says);
    update cairn.schedule set notes = 3 where name = 'leapt')");
  const auto says = [](const std::string& at) {
    return cairn_ok({"schedule", "explain", "leapt", "--at", at, "--json"}).json()["says"].dump();
  };
  EXPECT_NE(says("2026-01-12").find("occurrences from 2026-01-05 09:00 UTC to 2027-01-01 00:00 UTC were missed"),
            std::string::npos)
      << says("2026-01-12");
  for (const char* still_to_come : {"2035-01-01", "2036-12-29"})
    EXPECT_EQ(says(still_to_come),
              R"(["The occurrence of )" + std::string(still_to_come) + R"( 09:00 UTC is still to come."])");
  cairn_ok({"schedule", "remove", "leapt"});
}

// As when a package of zones is upgraded: the times that are still to come follow the new rules.
TEST(Schedules, a_zone_whose_file_changes_moves_the_next_time_of_its_schedules) {
  const std::filesystem::path zones = directory() / "zones", system = "/usr/share/zoneinfo";
  std::filesystem::create_directories(zones);
  std::filesystem::copy_file(system / "Europe/Berlin", zones / "Home");
  cairn_ok({"schedule", "list"});  // the database has begun with the zones of the system
  setenv("TZDIR", zones.c_str(), 1);
  EXPECT_EQ(add_schedule("moved", {"--cron", "0 0 15 1 *", "--zone", "Home"}).exit, 0);
  PgConnection owner({owner_dsn(), "test", false});
  const PgStatement hour{"hour", "select look_at / 3600000000 % 24 from cairn.schedule where name = 'moved'"};
  EXPECT_EQ(owner.query(hour).int8(0, 0), 23) << "midnight in Berlin";
  std::filesystem::copy_file(system / "America/New_York", zones / "New");
  std::filesystem::rename(zones / "New", zones / "Home");
  {
    const Beside worker({"work"});
    EXPECT_TRUE(wait_until([&] { return owner.query(hour).int8(0, 0) == 5; })) << worker.err();
  }
  EXPECT_EQ(cairn({"schedule", "remove", "moved"}).exit, 0);
  unsetenv("TZDIR");
}

TEST(Schedules, one_whose_zone_this_machine_lacks_is_listed_with_its_fault_beside_the_others) {
  ASSERT_EQ(add_schedule("far", {"--every", "1h", "--zone", "Asia/Kathmandu"}).exit, 0);
  ASSERT_EQ(add_schedule("near", {"--every", "1h"}).exit, 0);
  setenv("TZDIR", directory().c_str(), 1);
  const Ran listed = cairn({"schedule", "list", "--json"});
  const Ran shown = cairn({"schedule", "list"});
  unsetenv("TZDIR");
  EXPECT_EQ(listed.exit, 0) << listed.err;
  std::map<std::string, Json> lines;
  for (const Json& line : listed.lines()) lines[line["name"]] = line;
  const Json& far = lines["far"];
  EXPECT_NE(far.value("fault", "").find("Expected a time zone"), std::string::npos) << far;
  EXPECT_EQ(far["next_at"], nullptr);
  EXPECT_TRUE(lines["near"]["next_at"].is_string()) << lines["near"];
  EXPECT_FALSE(lines["near"].contains("fault"));
  EXPECT_NE(shown.out.find("fault"), std::string::npos) << shown.out;
  for (const char* name : {"far", "near"}) cairn_ok({"schedule", "remove", name});
}

TEST(Schedules, an_explanation_of_more_times_than_it_tells_says_that_there_is_more) {
  ASSERT_EQ(add_schedule("dense", {"--every", "10m", "--begins", "2036-12-31"}).exit, 0);
  const auto says = [](const std::string& at) {
    return cairn_ok({"schedule", "explain", "dense", "--at", at, "--json"}).json()["says"];
  };
  const Json coming = says("2037-01-01");
  ASSERT_EQ(coming.size(), 51u);
  EXPECT_NE(coming[49].get<std::string>().find("is still to come"), std::string::npos) << coming[49];
  EXPECT_EQ(coming[50],
            "There is more, but at most 200 notes and 50 other times are told at once: ask about one time, or see "
            "`cairn schedule history dense`.");
  EXPECT_EQ(says("2037-01-01T00:10:00Z").size(), 1u);
  cairn_ok({"schedule", "edit", "dense", "--every", "1m", "--begins", "2026-01-01"});
  cairn_ok({"schedule", "backfill", "dense", "--from", "2026-01-01T00:00:00Z", "--until", "2026-01-01T03:29:00Z",
            "--overlap", "skip", "--json"});
  const Json noted = says("2026-01-01");
  ASSERT_EQ(noted.size(), 201u) << "of 210 notes; what it did not read, it does not deny";
  EXPECT_NE(noted[200].get<std::string>().find("There is more"), std::string::npos) << noted[200];
  cairn_ok({"schedule", "remove", "dense"});
}

TEST(Schedules, the_coming_times_need_no_database) {
  const Ran ran = cairn_ok({"schedule", "next", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--from",
                            "2026-03-28T12:00:00Z", "--count", "2", "--json", "--dsn", "host=/nowhere"});
  EXPECT_EQ(ran.lines()[0]["at"], "2026-03-29T01:00:00Z");
  EXPECT_EQ(ran.lines()[1]["at"], "2026-03-30T00:30:00Z");
  expect_refused(cairn({"schedule", "next"}), 2, "Expected the name of a schedule");
}

TEST(Schedules, a_history_says_that_it_goes_on_and_before_shows_the_older_ones) {
  ASSERT_EQ(add_schedule("paged", {"--every", "1h"}).exit, 0);
  for (const char* change : {"pause", "resume", "pause"}) cairn_ok({"schedule", change, "paged"});
  const std::size_t all = history("paged").size();
  ASSERT_GE(all, 4u);
  const std::string newest = cairn_ok({"schedule", "history", "paged", "--limit", "2"}).out;
  const std::string goes_on = "2 shown. Older ones: --before ";
  const std::size_t at = newest.find(goes_on);
  ASSERT_NE(at, std::string::npos) << newest;
  const std::string before = newest.substr(at + goes_on.size(), newest.size() - at - goes_on.size() - 1);
  EXPECT_EQ(cairn_ok({"schedule", "history", "paged", "--before", before, "--json"}).lines().size(), all - 2);
  EXPECT_EQ(cairn_ok({"schedule", "history", "paged", "--before", before}).out.find("shown"), std::string::npos);
  cairn_ok({"schedule", "remove", "paged"});
}

}  // namespace
}  // namespace cairn::program
