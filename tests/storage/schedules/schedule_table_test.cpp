// The table of schedules, in PostgreSQL and in memory: rows that are decided under their lock, and notes that stay.
#include "storage/schedules/schedule_table.hpp"

#include <gtest/gtest.h>
#include <map>
#include <thread>

#include "storage/schedules/memory_schedules.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::test {
namespace {

ScheduleWrite new_schedule(const std::string& name, TimeUs due_at) {
  ScheduleWrite write;
  write.row = {name, 1, 0, due_at, "mark", R"({"graph":"g"})", R"({"decided":0})"};
  write.zone = "Europe/Berlin";
  ScheduleNote added{.kind = NoteKind::added, .actor = "user:ann", .revision = 1};
  added.definition = write.row.definition;
  write.notes.push_back(added);
  return write;
}

ScheduleWrite started_at(const ScheduleRow& row, TimeUs at, TimeUs due_at) {
  ScheduleWrite write{row, "Europe/Berlin"};
  write.row.due_at = due_at;
  RunId run;
  run.bytes[0] = 7;
  write.notes.push_back({.kind = NoteKind::started,
                         .at = at,
                         .until = at,
                         .count = 1,
                         .run = run,
                         .says = "so",
                         .actor = "schedule",
                         .revision = row.revision});
  return write;
}

class ScheduleTableTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string kind = GetParam();
    if (kind == "memory") {
      memory_ = std::make_unique<MemorySchedules>([] { return TimeUs{1'800'000'000'000'000}; });
      calls_ = memory_->calls();
      return;
    }
    dsn_ = kind == "citus" ? new_distributed_database(2) : new_database(2);
    table_ = std::make_unique<ScheduleTable>(dsn_, store_on(dsn_)->identity());
    calls_ = table_->calls();
  }

  std::vector<KeptNote> notes(const std::string& name) {
    if (memory_) return memory_->notes(name);
    std::vector<KeptNote> kept = table_->notes(name, 1'000'000, 1'000);
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  std::string dsn_;
  std::unique_ptr<MemorySchedules> memory_;
  std::unique_ptr<ScheduleTable> table_;
  ScheduleCalls calls_;
};

TEST_P(ScheduleTableTest, those_whose_time_has_come_are_decided_the_longest_due_first) {
  for (const auto& [name, due_at] :
       std::vector<std::pair<std::string, TimeUs>>{{"b", 20}, {"a", 30}, {"c", never_us}, {"d", 10}})
    ASSERT_TRUE(calls_.add(new_schedule(name, due_at)));
  EXPECT_EQ(calls_.next_due().at_us, 10);
  std::vector<std::string> seen;
  const auto look_never = [&seen](TimeUs, const std::vector<ScheduleRow>& rows) {
    std::vector<ScheduleWrite> writes;
    for (const ScheduleRow& row : rows) {
      seen.push_back(row.name);
      writes.push_back(started_at(row, 5, never_us));
    }
    return writes;
  };
  EXPECT_EQ(calls_.decide_due(2, look_never), 2u);
  EXPECT_EQ(calls_.decide_due(2, look_never), 1u);
  EXPECT_EQ(calls_.decide_due(2, look_never), 0u);
  EXPECT_EQ(seen, (std::vector<std::string>{"d", "b", "a"}));
  EXPECT_EQ(calls_.next_due().at_us, never_us);
}

// A backfill makes up for them.
TEST_P(ScheduleTableTest, an_occurrence_whose_start_was_refused_has_no_run_until_it_is_started_again) {
  ASSERT_TRUE(calls_.add(new_schedule("s", 10)));
  const auto note = [&](NoteKind kind) {
    calls_.decide_named({"s"}, [kind](TimeUs, const std::vector<ScheduleRow>& rows) {
      ScheduleWrite write = started_at(rows.at(0), 5, 40);
      write.notes.back().kind = kind;
      return std::vector<ScheduleWrite>{write};
    });
    return calls_.started("s", 0, 9);
  };
  EXPECT_EQ(note(NoteKind::started), std::vector<TimeUs>{5});
  EXPECT_EQ(note(NoteKind::refused), std::vector<TimeUs>{});
  EXPECT_EQ(note(NoteKind::started), std::vector<TimeUs>{5});
}

TEST_P(ScheduleTableTest, a_write_keeps_the_row_and_numbers_its_notes) {
  ASSERT_TRUE(calls_.add(new_schedule("s", 10)));
  EXPECT_FALSE(calls_.add(new_schedule("s", 10)));
  calls_.decide_named({"s", "none"}, [](TimeUs now_us, const std::vector<ScheduleRow>& rows) {
    EXPECT_EQ(rows.size(), 1u);
    EXPECT_GT(now_us, 0);
    ScheduleWrite write = started_at(rows[0], 5, 40);
    write.row.revision = 2;
    write.row.definition = R"({"graph":"h"})";
    write.row.state = R"({"decided":5})";
    write.notes.push_back({.kind = NoteKind::missed, .at = 6, .until = 9, .count = 3, .says = "why", .revision = 2});
    return std::vector<ScheduleWrite>{write};
  });
  const std::vector<KeptNote> kept = notes("s");
  ASSERT_EQ(kept.size(), 3u);
  for (std::size_t n = 0; n < kept.size(); ++n) EXPECT_EQ(kept[n].number, static_cast<std::int64_t>(n) + 1);
  EXPECT_EQ(kept[1].note.run->bytes[0], 7);
  EXPECT_EQ(kept[2].note.until, 9);
  EXPECT_EQ(kept[2].note.count, 3);
  EXPECT_EQ(calls_.started("s", 0, 5), std::vector<TimeUs>{5});
  EXPECT_EQ(calls_.started("s", 6, 9), std::vector<TimeUs>{});
  EXPECT_EQ(calls_.definition_of("s", 1), R"({"graph":"g"})");
  EXPECT_EQ(calls_.definition_of("s", 9), std::nullopt);
  calls_.decide_named({"s"}, [](TimeUs, const std::vector<ScheduleRow>& rows) {
    EXPECT_EQ(rows.at(0).revision, 2);
    EXPECT_EQ(rows[0].definition, R"({"graph":"h"})");
    EXPECT_EQ(rows[0].state, R"({"decided":5})");
    EXPECT_EQ(rows[0].due_at, 40);
    EXPECT_EQ(rows[0].notes, 3);
    return std::vector<ScheduleWrite>();
  });
}

TEST_P(ScheduleTableTest, the_history_outlives_its_schedule_and_goes_on_with_the_next_of_the_name) {
  ASSERT_TRUE(calls_.add(new_schedule("s", 10)));
  calls_.decide_named({"s"}, [](TimeUs, const std::vector<ScheduleRow>& rows) {
    ScheduleWrite write{rows[0], "UTC", {{.kind = NoteKind::removed, .actor = "user:bob"}}};
    write.is_removed = true;
    return std::vector<ScheduleWrite>{write};
  });
  EXPECT_EQ(calls_.next_due().at_us, std::nullopt);
  ASSERT_TRUE(calls_.add(new_schedule("s", 10)));
  const std::vector<KeptNote> kept = notes("s");
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[1].note.kind, NoteKind::removed);
  EXPECT_EQ(kept[2].number, 3);
}

TEST_P(ScheduleTableTest, nothing_is_written_of_a_decision_that_throws) {
  ASSERT_TRUE(calls_.add(new_schedule("s", 10)));
  const auto fails = [](TimeUs, const std::vector<ScheduleRow>&) -> std::vector<ScheduleWrite> {
    throw StoreUnavailable("on purpose");
  };
  EXPECT_THROW(calls_.decide_due(5, fails), StoreUnavailable);
  EXPECT_EQ(calls_.next_due().at_us, 10);
  EXPECT_EQ(notes("s").size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Tables, ScheduleTableTest,
                         ::testing::ValuesIn(has_citus_cluster()
                                                 ? std::vector<const char*>{"memory", "postgres", "citus"}
                                                 : std::vector<const char*>{"memory", "postgres"}),
                         [](const auto& of) { return std::string(of.param); });

TEST(ScheduleTable, a_row_that_one_process_decides_is_passed_by_others) {
  const std::string dsn = new_database(1);
  const std::string identity = store_on(dsn)->identity();
  ScheduleTable one(dsn, identity), other(dsn, identity);
  ASSERT_TRUE(one.add(new_schedule("a", 10)));
  ASSERT_TRUE(one.add(new_schedule("b", 20)));
  std::string seen;
  const auto look = [&seen](TimeUs, const std::vector<ScheduleRow>& rows) {
    for (const ScheduleRow& row : rows) seen += row.name;
    return std::vector<ScheduleWrite>();
  };
  one.decide_due(1, [&](TimeUs, const std::vector<ScheduleRow>& rows) {
    EXPECT_EQ(rows.at(0).name, "a");
    EXPECT_EQ(other.decide_due(5, look), 1u);
    return std::vector<ScheduleWrite>();
  });
  EXPECT_EQ(seen, "b");
}

TEST(ScheduleTable, schedules_of_a_zone_that_has_changed_are_looked_at_now) {
  const std::string dsn = new_database(1);
  ScheduleTable table(dsn, store_on(dsn)->identity());
  ASSERT_TRUE(table.add(new_schedule("a", never_us)));
  EXPECT_EQ(table.zones(), (std::vector<std::pair<std::string, std::string>>{{"Europe/Berlin", "mark"}}));
  table.check_zones({{"Europe/Berlin", "mark"}, {"UTC", "other"}});
  EXPECT_EQ(table.next_due().at_us, never_us);
  table.check_zones({{"Europe/Berlin", "other"}});
  EXPECT_LE(*table.next_due().at_us, table.next_due().now_us);
}

// All are to be looked at in a year; the yearly one rightly so.
template <class Table>
void expect_recalled(Table& table) {
  const TimeUs now_us = table.next_due().now_us, year_us = 365 * clock_ahead_max_us;
  const std::string soon = std::to_string(now_us / 1'000'000), later = std::to_string((now_us + year_us) / 1'000'000);
  const std::map<std::string, std::string> states = {
      {"ahead", R"({"decided":)" + later + "}"},
      {"starts", R"({"decided":)" + soon + R"(,"starting":[{"at":1,"run":")" + to_string(RunId{}) + R"("}]})"},
      {"waits", R"({"decided":)" + soon + R"(,"waiting":[{"actor":"a","at":1,"cancels":false}]})"},
      {"yearly", R"({"decided":)" + soon + "}"},
  };
  for (const auto& [name, state] : states) {
    ScheduleWrite write = new_schedule(name, now_us + year_us);
    write.row.state = state;
    ASSERT_TRUE(table.add(write));
  }
  table.recall();
  const TimeUs after_us = table.next_due().now_us;
  for (const auto& [name, state] : states) EXPECT_EQ(table.row(name)->due_at <= after_us, name != "yearly") << name;
}

TEST(ScheduleTable, schedules_that_a_clock_which_was_ahead_has_left_are_looked_at_now) {
  const std::string dsn = new_database(1);
  ScheduleTable table(dsn, store_on(dsn)->identity());
  expect_recalled(table);
  MemorySchedules memory([] { return TimeUs{1'800'000'000'000'000}; });
  expect_recalled(memory);
}

// The setting by which the transaction of a call is committed.
template <class Call>
std::string synchronous_commit_of(PgConnection& owner, const Call& call) {
  owner.execute("truncate public.commits");
  call();
  return std::string(owner.query({"commits", "select setting from public.commits"}).text(0, 0));
}

TEST(ScheduleTable, what_a_crash_would_have_decided_again_waits_for_no_disk_and_what_a_person_changes_does) {
  const std::string dsn = new_database(1);
  ScheduleTable table(dsn, store_on(dsn)->identity());
  ASSERT_TRUE(table.add(new_schedule("s", 10)));
  PgConnection owner({.dsn = dsn, .application = "test", .prepared = false});
  owner.execute(R"(
    create table public.commits (setting text);
    grant all on public.commits to public;
    create function public.note_commit() returns trigger language plpgsql as
      $$ begin insert into public.commits values (current_setting('synchronous_commit')); return null; end $$;
    create trigger note_commit after update on cairn.schedule for each row execute function public.note_commit();)");
  const DecideSchedules starts = [](TimeUs, const std::vector<ScheduleRow>& rows) {
    return std::vector<ScheduleWrite>{started_at(rows.front(), 5, 10)};
  };
  EXPECT_EQ(synchronous_commit_of(owner, [&] { table.decide_due(1, starts); }), "off")
      << "a start that is on disk has it there before it";
  EXPECT_EQ(synchronous_commit_of(owner, [&] { table.confirm_named({"s"}, starts); }), "off");
  EXPECT_EQ(synchronous_commit_of(owner, [&] { table.decide_named({"s"}, starts); }), "on");
}

TEST(ScheduleTable, notes_about_a_range_of_time_are_those_that_touch_it) {
  const std::string dsn = new_database(1);
  ScheduleTable table(dsn, store_on(dsn)->identity());
  ASSERT_TRUE(table.add(new_schedule("s", 10)));
  table.decide_named({"s"}, [](TimeUs, const std::vector<ScheduleRow>& rows) {
    ScheduleWrite write = started_at(rows[0], 5, 40);
    write.notes.push_back({.kind = NoteKind::missed, .at = 6, .until = 9, .count = 3});
    return std::vector<ScheduleWrite>{write};
  });
  EXPECT_EQ(table.notes_between("s", 5, 5, 10).size(), 1u);
  EXPECT_EQ(table.notes_between("s", 7, 8, 10).size(), 1u);
  EXPECT_EQ(table.notes_between("s", 0, 100, 10).size(), 2u);
  EXPECT_EQ(table.notes_between("s", 10, 100, 10).size(), 0u);
}

TEST(ScheduleTable, missed_times_stand_until_the_clock_came_back_and_a_person_who_resumes_cuts_nothing) {
  const std::string dsn = new_database(1);
  ScheduleTable table(dsn, store_on(dsn)->identity());
  ASSERT_TRUE(table.add(new_schedule("s", 10)));
  const TimeUs now_us = table.next_due().now_us;
  table.decide_named({"s"}, [now_us](TimeUs, const std::vector<ScheduleRow>& rows) {
    ScheduleWrite write = started_at(rows[0], 5, 40);
    const TimeUs ahead_us = now_us + 1'000'000'000'000;
    write.notes = {{.kind = NoteKind::missed, .at = 6, .until = 9, .count = 3, .actor = "schedule"},
                   {.kind = NoteKind::missed, .at = 10, .until = ahead_us, .count = 7, .actor = "schedule"},
                   {.kind = NoteKind::resumed, .actor = "user:ann"},
                   {.kind = NoteKind::missed, .at = ahead_us, .until = ahead_us, .count = 1, .actor = "schedule"},
                   {.kind = NoteKind::resumed, .actor = "schedule"}};
    return std::vector<ScheduleWrite>{write};
  });
  std::vector<KeptNote> notes = table.notes("s", std::numeric_limits<std::int64_t>::max(), 5);
  std::reverse(notes.begin(), notes.end());
  const std::vector<KeptNote> returns = table.notes_of_return("s", notes.front().number, 10);
  ASSERT_EQ(returns.size(), 1u);
  EXPECT_EQ(returns[0].number, notes.back().number);
  const std::vector<KeptNote> standing = notes_that_stand(notes);
  ASSERT_EQ(standing.size(), 4u) << "that of which no time is left is not among them";
  EXPECT_EQ(standing[0].note, notes[0].note);
  EXPECT_EQ(standing[1].note.until, returns[0].recorded_at);
  EXPECT_EQ(standing[1].note.count, 0);
}

}  // namespace
}  // namespace cairn::test
