// Entries that the database will never take: each is refused alone, and harms no other entry of its batch.
#include <array>
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "storage/another_database.hpp"
#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

// Random letters do not compress, so that the index really gets as many bytes.
std::string letters(std::size_t count) {
  std::string text;
  std::uint64_t state = 88172645463325252u;
  while (text.size() < count) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    text += static_cast<char>('a' + state % 26);
  }
  return text;
}

Job job_in_a_queue_too_long_for_the_index() { return job_of(1, 1, noon, letters(6'000)); }

class RefusedEntry : public ::testing::Test {
 protected:
  RefusedEntry() : dsn_(new_database(1)), store_(store_on(dsn_)) {}

  // One entry for each run; that of `bad` offers a job that no index takes.
  std::vector<Entry> batch_with(std::size_t count, const std::vector<std::size_t>& bad) {
    std::vector<Entry> batch;
    for (std::size_t n = 0; n < count; ++n) {
      batch.push_back(TestRun(*store_).entry());
      batch.back().jobs = {offer(job_of(1, 1))};
    }
    for (const std::size_t at : bad) batch[at].jobs = {offer(job_in_a_queue_too_long_for_the_index())};
    return batch;
  }
  std::int64_t events() { return ask_number(dsn_, "select count(*) from cairn.event"); }

  std::string dsn_;
  std::unique_ptr<Store> store_;
};

TEST_F(RefusedEntry, is_found_among_many_and_the_others_are_committed) {
  const std::vector<Entry> batch = batch_with(9, {3, 8});
  const std::vector<Verdict> verdicts = store_->commit(0, batch, {.notify = true});
  ASSERT_EQ(verdicts.size(), 9u);
  for (std::size_t at = 0; at < 9; ++at) {
    const bool is_bad = at == 3 || at == 8;
    EXPECT_EQ(verdicts[at].kind, is_bad ? Kind::refused : Kind::committed) << at;
    EXPECT_EQ(store_->run(batch[at].run.id).has_value(), !is_bad) << at;
  }
  EXPECT_NE(verdicts[3].fault.find("index row size"), std::string::npos) << verdicts[3].fault;
  EXPECT_EQ(events(), 7);
  for (const Verdict& verdict : store_->commit(0, batch_with(3, {}), {})) EXPECT_EQ(verdict.kind, Kind::committed);
}

TEST_F(RefusedEntry, takes_those_along_that_are_linked_to_it_and_no_others) {
  std::vector<Entry> batch = batch_with(4, {2});
  batch[0].link = batch[2].link = 7;
  batch[1].link = batch[3].link = 8;
  const std::vector<Verdict> verdicts = store_->commit(0, batch, {});
  EXPECT_EQ(verdicts[0].kind, Kind::refused);
  EXPECT_EQ(verdicts[1].kind, Kind::committed);
  EXPECT_EQ(verdicts[2].kind, Kind::refused);
  EXPECT_EQ(verdicts[3].kind, Kind::committed);
  EXPECT_EQ(events(), 2);
}

TEST_F(RefusedEntry, may_stand_alone_in_its_batch) {
  EXPECT_EQ(store_->commit(0, batch_with(1, {0}), {})[0].kind, Kind::refused);
  EXPECT_EQ(events(), 0);
}

TEST_F(RefusedEntry, given_again_in_doubt_is_refused_again_and_what_had_landed_is_committed) {
  std::vector<Entry> batch = batch_with(4, {1});
  for (Entry& entry : batch) entry.commit = 42;
  ASSERT_EQ(store_->commit(0, batch, {})[0].kind, Kind::committed);
  for (Entry& entry : batch) entry.in_doubt = true;
  const std::vector<Verdict> again = store_->commit(0, batch, {});
  for (std::size_t at = 0; at < 4; ++at) EXPECT_EQ(again[at].kind, at == 1 ? Kind::refused : Kind::committed) << at;
  EXPECT_EQ(events(), 3);
}

TEST_F(RefusedEntry, may_be_one_whose_events_are_in_the_log_although_its_row_does_not_say_so) {
  TestRun run(*store_);
  const Entry first = run.entry();
  ASSERT_EQ(run.commit(first).kind, Kind::committed);
  const Entry second = run.entry();
  ASSERT_EQ(store_->commit(0, {&second, 1}, {})[0].kind, Kind::committed);
  ask(dsn_,
      "update cairn.run r set head = 1, chain_hash = (select chain_hash from cairn.event e where e.run_id = "
      "r.run_id and seq = 1)");
  std::vector<Entry> batch = batch_with(2, {});
  batch.push_back(run.entry());
  const std::vector<Verdict> verdicts = store_->commit(0, batch, {});
  EXPECT_EQ(verdicts[0].kind, Kind::committed);
  EXPECT_EQ(verdicts[1].kind, Kind::committed);
  EXPECT_EQ(verdicts[2].kind, Kind::refused);
}

// A right that is missing for one table: the entries that do not need it pass. Without any right it is no entry's
// fault.
TEST_F(RefusedEntry, may_need_a_right_that_the_login_has_lost) {
  ask(dsn_, "create role bob login in role cairn_app");
  const auto store = store_on(with_user(dsn_, "bob"));
  ask(dsn_, "revoke insert on cairn.question from cairn_app");
  std::vector<Entry> batch = batch_with(3, {});
  QuestionRow question;
  question.id = "q1";
  batch[1].asked.push_back(question);
  const std::vector<Verdict> verdicts = store->commit(0, batch, {});
  EXPECT_EQ(verdicts[0].kind, Kind::committed);
  EXPECT_EQ(verdicts[1].kind, Kind::refused);
  EXPECT_EQ(verdicts[2].kind, Kind::committed);
  ask(dsn_, "revoke insert on cairn.event from cairn_app");
  EXPECT_THROW(store->commit(0, batch_with(2, {}), {}), PostgresError);
  ask(dsn_, "grant insert on cairn.event, cairn.question to cairn_app");
  ask(dsn_, "drop role bob");
}

// Inserts of events of these runs fail with the code, at most so many times.
void refuse_events_of(const std::string& dsn, const std::vector<RunId>& runs, const std::string& code,
                      int times = 1'000) {
  std::string list;
  for (const RunId& run : runs) list += (list.empty() ? "'" : ", '") + to_string(run) + "'";
  ask(dsn, "drop sequence if exists public.refused");
  ask(dsn, "create sequence public.refused");
  ask(dsn,
      "create or replace function public.refuse() returns trigger language plpgsql as $$ begin if new.run_id in (" +
          list + ") and nextval('public.refused') <= " + std::to_string(times) +
          " then raise exception 'refused in block 7' using errcode = '" + code + "'; end if; return new; end $$");
  ask(dsn,
      "create or replace trigger refuse before insert on cairn.event for each row execute function "
      "public.refuse()");
}

// A damaged page, a page that cannot be read, a trigger's plain `raise exception`, a function of a trigger.
TEST_F(RefusedEntry, A1_may_fail_with_any_code_that_does_not_pass) {
  int committed = 0;
  for (const char* code : {"XX001", "58030", "P0001", "38001"}) {
    SCOPED_TRACE(code);
    std::vector<Entry> batch = batch_with(5, {});
    refuse_events_of(dsn_, {batch[3].run.id}, code);
    const std::vector<Verdict> verdicts = store_->commit(0, batch, {});
    ASSERT_EQ(verdicts.size(), 5u);
    for (std::size_t at = 0; at < 5; ++at)
      EXPECT_EQ(verdicts[at].kind, at == 3 ? Kind::refused : Kind::committed) << at;
    EXPECT_NE(verdicts[3].fault.find("refused in block 7"), std::string::npos) << verdicts[3].fault;
    EXPECT_EQ(store_->commit(0, {&batch[3], 1}, {})[0].kind, Kind::refused) << "alone in its batch";
    EXPECT_EQ(events(), committed += 4);
  }
}

constexpr const char* timed_out = "57014";

TEST_F(RefusedEntry, A1_is_one_that_times_out_alone_each_time_and_the_others_are_committed) {
  std::vector<Entry> batch = batch_with(6, {});
  refuse_events_of(dsn_, {batch[4].run.id}, timed_out);
  const std::vector<Verdict> verdicts = store_->commit(0, batch, {});
  ASSERT_EQ(verdicts.size(), 6u);
  for (std::size_t at = 0; at < 6; ++at) EXPECT_EQ(verdicts[at].kind, at == 4 ? Kind::refused : Kind::committed) << at;
  EXPECT_EQ(events(), 5);
}

// However many they are: more than ten were taken for load.
TEST_F(RefusedEntry, A1_are_twelve_that_time_out_alone_each_time_beside_others) {
  std::vector<Entry> batch = batch_with(20, {});
  std::vector<RunId> slow;
  for (std::size_t at = 0; at < 12; ++at) slow.push_back(batch[at].run.id);
  refuse_events_of(dsn_, slow, timed_out);
  const std::vector<Verdict> verdicts = store_->commit(0, batch, {});
  ASSERT_EQ(verdicts.size(), 20u);
  for (std::size_t at = 0; at < 20; ++at) EXPECT_EQ(verdicts[at].kind, at < 12 ? Kind::refused : Kind::committed) << at;
  EXPECT_EQ(events(), 8);
}

TEST_F(RefusedEntry, A1_are_twelve_that_time_out_alone_each_time_with_none_beside_them) {
  const std::vector<Entry> batch = batch_with(12, {});
  std::vector<RunId> slow;
  for (const Entry& entry : batch) slow.push_back(entry.run.id);
  refuse_events_of(dsn_, slow, timed_out);
  for (const Verdict& verdict : store_->commit(0, batch, {})) EXPECT_EQ(verdict.kind, Kind::refused);
  EXPECT_EQ(events(), 0);
}

// Load, or an operator who cancels what runs for long.
TEST_F(RefusedEntry, A1_is_none_that_times_out_for_a_while_or_while_nothing_else_passes) {
  std::vector<Entry> batch = batch_with(1, {});
  refuse_events_of(dsn_, {batch[0].run.id}, timed_out, 1);
  EXPECT_EQ(store_->commit(0, batch, {})[0].kind, Kind::committed);
  batch = batch_with(1, {});
  refuse_events_of(dsn_, {batch[0].run.id}, timed_out, 4);
  EXPECT_EQ(store_->commit(0, batch, {})[0].kind, Kind::committed) << "the load went";
  batch = batch_with(100, {});
  for (Entry& entry : batch) entry.commit = 91;
  ask(dsn_,
      "create or replace function public.refuse() returns trigger language plpgsql as $$ begin raise exception "
      "'canceling statement due to statement timeout' using errcode = '57014'; end $$");
  EXPECT_THROW(store_->commit(0, batch, {}), StoreUnavailable);
  EXPECT_THROW(store_->commit(0, batch_with(1, {}), {}), StoreUnavailable) << "alone";
  ask(dsn_, "drop trigger refuse on cairn.event");
  for (Entry& entry : batch) entry.in_doubt = true;
  for (const Verdict& verdict : store_->commit(0, batch, {})) EXPECT_EQ(verdict.kind, Kind::committed);
  EXPECT_EQ(events(), 102);
}

TEST_F(RefusedEntry, A1_is_none_while_another_has_the_lock_that_it_may_not_wait_for) {
  std::vector<Entry> batch = batch_with(2, {});
  refuse_events_of(dsn_, {batch[0].run.id}, "55P03");
  EXPECT_THROW(store_->commit(0, batch, {}), StoreUnavailable);
}

// Its runs are locked first, and the entries decided under the locks: those of the others are not lost with it.
TEST_F(RefusedEntry, A1_is_found_among_those_that_were_decided_under_locks) {
  std::vector<TestRun> runs(5, TestRun(*store_));
  std::vector<KnownRun> known;
  for (TestRun& run : runs) {
    run.row.id = run_on(0, 1);
    ASSERT_EQ(run.commit(run.entry()).kind, Kind::committed);
    known.push_back({run.id(), run.head});
  }
  std::vector<Entry> entries;
  int decided = 0;
  const auto decide = [&](const std::vector<LockedRun>& locked) {
    ++decided;
    EXPECT_EQ(locked.size(), 5u);
    for (std::size_t at = 0; at < runs.size(); ++at) {
      entries.push_back(runs[at].entry());
      entries.back().commit = 77;
      entries.back().jobs = {offer(at == 1 || at == 4 ? job_in_a_queue_too_long_for_the_index() : job_of(1, 1))};
    }
    return LockedDecision{entries, {.notify = true}};
  };
  const std::vector<Verdict> verdicts = store_->commit_locked(0, known, decide).verdicts;
  ASSERT_EQ(verdicts.size(), 5u);
  EXPECT_EQ(decided, 1);
  for (std::size_t at = 0; at < 5; ++at) {
    const bool is_bad = at == 1 || at == 4;
    EXPECT_EQ(verdicts[at].kind, is_bad ? Kind::refused : Kind::committed) << at;
    EXPECT_EQ(store_->run(runs[at].id())->head, is_bad ? 1 : 2) << at;
    EXPECT_EQ(chain_fault(*store_, runs[at].id()), "");
  }
  EXPECT_EQ(runs[1].commit(runs[1].entry()).kind, Kind::committed) << "its lock is gone";
}

// Reading the events of one run fails as a damaged page does; its policy holds for all but owners.
TEST_F(RefusedEntry, A1_may_be_of_a_run_whose_missed_events_cannot_be_read_and_the_others_are_decided_under_locks) {
  std::vector<TestRun> runs(5, TestRun(*store_));
  std::vector<KnownRun> known;
  for (TestRun& run : runs) {
    run.row.id = run_on(0, 1);
    ASSERT_EQ(run.commit(run.entry()).kind, Kind::committed);
    known.push_back({run.id(), 0});
  }
  ask(dsn_, "create role carol login in role cairn_app");
  ask(dsn_, "create function public.readable(run uuid) returns boolean language plpgsql as $$ begin if run = '" +
                to_string(runs[2].id()) +
                "' then raise exception 'could not read block 7' using errcode = '58030'; end if; return true; end $$");
  ask(dsn_, "create policy readable on cairn.event using (public.readable(run_id)) with check (true)");
  ask(dsn_, "alter table cairn.event enable row level security");
  {
    const auto store = store_on(with_user(dsn_, "carol"));
    std::vector<Entry> entries;
    int decided = 0;
    const auto decide = [&](const std::vector<LockedRun>& locked) {
      ++decided;
      EXPECT_EQ(locked.size(), 5u);
      for (std::size_t at = 0; at < locked.size(); ++at) {
        EXPECT_EQ(locked[at].head, at == 2 ? -1 : 1) << at;
        EXPECT_EQ(locked[at].missed.size(), at == 2 ? 0u : 1u) << at;
        if (at != 2) entries.push_back(runs[at].entry());
      }
      return LockedDecision{entries, {.notify = true}};
    };
    const std::vector<Verdict> verdicts = store->commit_locked(0, known, decide).verdicts;
    ASSERT_EQ(verdicts.size(), 4u);
    for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.kind, Kind::committed);
    EXPECT_EQ(decided, 1);
    std::int64_t head = 0;
    const auto look = [&](const std::vector<LockedRun>& locked) {
      head = locked.at(0).head;
      return LockedDecision{};
    };
    EXPECT_TRUE(store->commit_locked(0, {&known[2], 1}, look).verdicts.empty());
    EXPECT_EQ(head, -1) << "alone";
    EXPECT_EQ(store->run(runs[2].id())->head, 1);
  }
  ask(dsn_, "revoke select on cairn.event from cairn_app");
  {
    const auto store = store_on(with_user(dsn_, "carol"));
    const auto nothing = [](const std::vector<LockedRun>&) { return LockedDecision{}; };
    EXPECT_THROW(store->commit_locked(0, known, nothing), PostgresError) << "a right that is missing is no run's fault";
  }
  ask(dsn_, "grant select on cairn.event to cairn_app");
  ask(dsn_, "drop role carol");
}

// An insert that waited for the archive's transaction has a snapshot from before it.
TEST(PostgresStore, A4_a_start_that_waits_for_an_archive_sees_it) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn);
  TestRun run(*store);
  run.row.id.bytes[6] = 0x80;
  TestRun again = run;
  run.row.status = RunStatus::done;
  run.commit(run.entry());
  PgConnection archive({dsn, "an archive", false});
  archive.execute("begin");
  archive.execute(
      "insert into cairn.tombstone (shard, run_id, seq, at, chain_hash, file_digest, key, signature, file) select 0, "
      "run_id, 1, 1, chain_hash, sha256(''), '', '', 'old.jsonl' from cairn.run");
  archive.execute("delete from cairn.event; delete from cairn.run");
  Verdict verdict;
  std::thread start([&] { verdict = again.commit(again.entry()); });
  const std::string waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
  for (int looks = 0; ask_number(dsn, waiting) == 0 && looks < 3'000; ++looks)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(ask_number(dsn, waiting), 1);
  archive.execute("commit");
  start.join();
  EXPECT_EQ(verdict.kind, Kind::archived) << verdict.fault;
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.run"), 0);
}

// A trigger that raises the code so many times, and then no more.
void fail_times(const std::string& dsn, const std::string& code, int times) {
  ask(dsn, "create sequence public.tries");
  ask(dsn, "create function public.fail() returns trigger language plpgsql as $$ begin if nextval('public.tries') <= " +
               std::to_string(times) + " then raise exception 'again' using errcode = '" + code +
               "'; end if; return new; end $$");
  ask(dsn, "create trigger fail before insert on cairn.event for each row execute function public.fail()");
}

// The first refusal comes in one implicit transaction, the second in one with an explicit BEGIN, whose COMMIT is
// skipped.
TEST(PostgresStore, D3_refusals_in_a_row_that_pass_are_tried_again_inside_a_commit) {
  constexpr auto codes = std::to_array<const char*>({"40001", "40P01", "53100", "53200", "53300"});
  for (const char* code : codes) {
    for (const int times : {1, 2, 3}) {
      for (const bool is_locked : {false, true}) {
        SCOPED_TRACE(std::string(code) + ", " + std::to_string(times) + " times" + (is_locked ? ", under a lock" : ""));
        const std::string dsn = new_database(1);
        const auto store = store_on(dsn, true);
        TestRun run(*store);
        if (is_locked) run.commit(run.entry());
        fail_times(dsn, code, times);
        const Entry entry = run.entry();
        const auto decide = [&](const std::vector<LockedRun>&) { return LockedDecision{{&entry, 1}, {}}; };
        const std::vector<KnownRun> known = {{run.id(), run.head}};
        const Verdict verdict = is_locked ? store->commit_locked(0, known, decide).verdicts.at(0)
                                          : store->commit(0, {&entry, 1}, {.notify = true}).at(0);
        EXPECT_EQ(verdict.kind, Kind::committed) << verdict.fault;
        EXPECT_EQ(ask_number(dsn, "select nextval('public.tries')"), times + 2);
        EXPECT_EQ(chain_fault(*store, run.id()), "");
        EXPECT_EQ(store->run(run.id())->head, is_locked ? 2 : 1);
      }
    }
  }
}

// Its data were removed, and the next command made it again: connections that are opened later lead to another one.
TEST(PostgresStore, D10_one_whose_database_is_another_now_asks_nothing_more_of_it) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn, true);
  TestRun run(*store);
  ASSERT_EQ(run.commit(run.entry()).kind, Kind::committed);
  const auto replace = [&](const std::string& by) {
    ask(dsn, by);
    ask(dsn,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> "
        "pg_backend_pid()");
  };
  const auto says = [&] {
    try {
      (void)store->run(run.id());
    } catch (const AnotherDatabase& refusal) {
      return std::string(refusal.what());
    }
    return std::string("nothing");
  };
  replace("select 1");
  EXPECT_EQ(says(), "nothing") << "it is the same one";
  replace("update cairn.identity set id = '00000000-0000-4000-8000-000000000000'");
  EXPECT_EQ(says(), "Expected to find database " + store->identity() +
                        " again, but there is database 00000000-0000-4000-8000-000000000000 at its address now; "
                        "nothing more is asked of it");
  const Entry entry = run.entry();
  EXPECT_THROW((void)store->commit(0, {&entry, 1}, {}), AnotherDatabase);
  replace("drop schema cairn cascade");
  EXPECT_NE(says().find("but there is one without the schema cairn at its address now"), std::string::npos);
}

}  // namespace
}  // namespace cairn
