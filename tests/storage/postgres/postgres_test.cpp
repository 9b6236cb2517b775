// The Postgres store beyond the contract: races, lost connections, HOT updates, roles, notifications.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"
#include "tests/storage/silent_host.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"
#include "tests/waiting.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

// Activity reaches the statistics when a backend goes idle or ends.
std::int64_t statistic(const std::string& dsn, const std::string& column, const std::string& table) {
  return ask_number(dsn, "select " + column + " from pg_stat_user_tables where relname = '" + table + "'");
}

// --- races -----------------------------------------------------------------------------------------------------------

// It found the run open, and came after its snapshots had been dropped.
TEST(PostgresStore, A15_a_snapshot_that_comes_while_its_run_ends_is_not_kept) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn);
  TestRun run(*store);
  run.start(job_of(1, 1));
  PgConnection ending({dsn, "an end", false});
  ending.execute("begin");
  ending.execute("update cairn.run set status = 'done'");
  std::atomic<bool> is_put{false};
  std::thread put([&] {
    store->snapshots().put(run.id(), {1, 4, Hash{}, "s"});
    is_put = true;
  });
  const std::string waiting =
      "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  EXPECT_TRUE(wait_until([&] { return is_put || ask_number(dsn, waiting) > 0; }));
  ending.execute("commit");
  put.join();
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.snapshot"), 0);
}

TEST(PostgresStore, overlapping_batches_in_random_order_never_deadlock) {
  const std::string dsn = new_database(1);
  std::vector<RunId> ids;
  {
    const auto store = store_on(dsn);
    for (int n = 0; n < 12; ++n) {
      TestRun run(*store);
      Entry entry = run.entry();
      for (BranchId branch = 1; branch <= 3; ++branch) entry.jobs.push_back(offer(job_of(branch, branch)));
      ASSERT_EQ(run.commit(entry).kind, Kind::committed);
      ids.push_back(run.id());
    }
  }
  std::atomic<int> committed{0};
  const auto write = [&](SessionId session) {
    const auto store = store_on(dsn);
    std::mt19937_64 random(static_cast<std::uint64_t>(session));
    for (int round = 0; round < 60; ++round) {
      std::vector<HeldJob> held = store->claim(claim_request(session, 4)).jobs;
      std::vector<RunId> order = ids;
      std::shuffle(order.begin(), order.end(), random);
      std::vector<Entry> batch;
      for (std::size_t n = 0; n < 8; ++n) {
        TestRun run(*store);
        run.row = *store->run(order[n]);
        run.head = run.row.head;
        run.chain_hash = run.row.chain_hash;
        batch.push_back(run.entry());
        std::vector<BranchId> branches{1, 2, 3};
        std::shuffle(branches.begin(), branches.end(), random);
        for (const BranchId branch : branches) batch.back().jobs.push_back(offer(job_of(branch, branch)));
      }
      for (const Verdict& verdict : store->commit(0, batch, {})) committed += verdict.kind == Kind::committed ? 1 : 0;
      std::vector<std::pair<RunId, Fence>> holds;
      for (const HeldJob& job : held) holds.emplace_back(job.run, fence_of(job));
      std::shuffle(holds.begin(), holds.end(), random);
      store->jobs().release(holds, noon);
    }
  };
  std::vector<std::thread> threads;
  for (SessionId session = 1; session <= 4; ++session) threads.emplace_back(write, session);
  for (std::thread& thread : threads) thread.join();

  const auto store = store_on(dsn);
  for (const RunId& id : ids) EXPECT_EQ(chain_fault(*store, id), "");
  EXPECT_GT(committed, 100);
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.event"), committed + static_cast<int>(ids.size()));
  EXPECT_EQ(ask_number(dsn, "select deadlocks from pg_stat_database where datname = current_database()"), 0);
}

TEST(PostgresStore, of_racing_starts_of_one_run_exactly_one_is_committed) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn);
  for (int round = 0; round < 20; ++round) {
    TestRun contested(*store);
    std::atomic<int> waiting{3};
    std::vector<Verdict> verdicts(3);
    std::vector<std::vector<Verdict>> others(3);
    std::vector<std::thread> threads;
    for (std::size_t n = 0; n < verdicts.size(); ++n) {
      threads.emplace_back([&, n] {
        TestRun own(*store);
        const std::vector<Entry> batch{own.entry(), contested.entry(), TestRun(*store).entry()};
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        others[n] = store->commit(0, batch, {});
        verdicts[n] = others[n][1];
      });
    }
    for (std::thread& thread : threads) thread.join();
    int committed = 0;
    for (std::size_t n = 0; n < verdicts.size(); ++n) {
      committed += verdicts[n].kind == Kind::committed ? 1 : 0;
      EXPECT_TRUE(verdicts[n].kind == Kind::committed || verdicts[n].kind == Kind::conflict);
      EXPECT_EQ(verdicts[n].head, 1);
      EXPECT_EQ(others[n][0].kind, Kind::committed);
      EXPECT_EQ(others[n][2].kind, Kind::committed);
    }
    EXPECT_EQ(committed, 1);
    EXPECT_EQ(chain_fault(*store, contested.id()), "");
  }
}

// --- lost connections ------------------------------------------------------------------------------------------------

TEST(PostgresStore, a_commit_whose_answer_was_lost_is_not_written_twice) {
  const std::string dsn = new_database(1);
  CuttingProxy proxy(dsn);
  const auto store = store_on(proxy.dsn());
  TestRun run(*store);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
  const HeldJob held = store->claim(claim_request(7)).jobs.at(0);
  TestRun fresh(*store);
  TestRun refused(*store);
  std::vector<Entry> batch{run.entry(2), fresh.entry(2), refused.entry()};
  batch[0].fences.push_back(fence_of(held));
  batch[0].jobs.push_back(keep(job_of(1, 2)));
  batch[2].head_before = 4;
  batch[2].events[0].seq = 5;
  proxy.cut_next_commit(CuttingProxy::Cut::after_it_landed);
  const std::vector<Verdict> verdicts = store->commit(0, batch, {});
  EXPECT_EQ(proxy.cuts(), 1);
  EXPECT_EQ(verdicts[0].kind, Kind::committed);
  EXPECT_EQ(verdicts[0].head, 3);
  EXPECT_EQ(verdicts[1].kind, Kind::committed);
  EXPECT_EQ(verdicts[2].kind, Kind::conflict);
  EXPECT_EQ(store->events(run.id(), 0, 10).size(), 3u);
  EXPECT_EQ(chain_fault(*store, run.id()), "");
  EXPECT_EQ(chain_fault(*store, fresh.id()), "");
  EXPECT_EQ(store->run(run.id())->chain_hash, verdicts[0].chain_hash);
}

TEST(PostgresStore, a_commit_that_never_arrived_is_sent_again) {
  const std::string dsn = new_database(1);
  CuttingProxy proxy(dsn);
  const auto store = store_on(proxy.dsn());
  TestRun run(*store);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
  TestRun fresh(*store);
  proxy.cut_next_commit(CuttingProxy::Cut::before_it_arrives);
  const std::vector<Verdict> verdicts = store->commit(0, std::vector<Entry>{run.entry(2), fresh.entry()}, {});
  EXPECT_EQ(proxy.cuts(), 1);
  EXPECT_EQ(verdicts[0].kind, Kind::committed);
  EXPECT_EQ(verdicts[1].kind, Kind::committed);
  EXPECT_EQ(chain_fault(*store, run.id()), "");
  EXPECT_EQ(store->events(run.id(), 0, 10).size(), 3u);
}

TEST(PostgresStore, a_claim_whose_answer_was_lost_leaves_no_job_held_by_nobody_knows_whom) {
  const std::string dsn = new_database(1);
  CuttingProxy proxy(dsn);
  const auto store = store_on(proxy.dsn());
  for (int n = 0; n < 4; ++n) {
    TestRun run(*store);
    ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
  }
  for (const auto cut : {CuttingProxy::Cut::after_it_landed, CuttingProxy::Cut::before_it_arrives}) {
    const int cuts_before = proxy.cuts();
    proxy.cut_next_commit(cut);
    const std::vector<HeldJob> claimed = store->claim(claim_request(7, 2)).jobs;
    EXPECT_EQ(proxy.cuts(), cuts_before + 1);
    EXPECT_EQ(claimed.size(), 2u);
    for (const HeldJob& job : claimed) {
      EXPECT_EQ(job.run_head, 1);
      EXPECT_EQ(store->jobs().of(job.run).at(0).epoch, job.epoch);
    }
    EXPECT_EQ(store->sessions().held_by(7, 10, {}).size(), cut == CuttingProxy::Cut::after_it_landed ? 2u : 4u);
  }
}

// By the session and the epoch alone both claims are the same: then one worker would execute the step twice.
TEST(PostgresStore, a_claim_that_was_rolled_back_is_not_taken_for_the_next_one_of_its_session) {
  const std::string dsn = new_database(1);
  CuttingProxy proxy(dsn);
  const auto store = store_on(proxy.dsn()), direct = store_on(dsn);
  TestRun run(*store);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
  std::promise<std::vector<HeldJob>> claimed_next;
  ClaimRequest later = claim_request(7, 1);
  ++later.now_us;
  proxy.on_cut([&] {
    std::vector<HeldJob> jobs;
    wait_until([&] { return !(jobs = direct->claim(later).jobs).empty(); });
    claimed_next.set_value(std::move(jobs));
  });
  proxy.cut_next_commit(CuttingProxy::Cut::before_it_arrives);
  EXPECT_TRUE(store->claim(claim_request(7, 1)).jobs.empty());
  EXPECT_EQ(proxy.cuts(), 1);
  const std::vector<HeldJob> next = claimed_next.get_future().get();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(store->jobs().of(run.id()).at(0).epoch, next[0].epoch);
}

TEST(PostgresStore, terminated_connections_are_replaced) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn);
  TestRun run(*store);
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(run.commit(run.entry()).kind, Kind::committed);
    ask(dsn,
        "select pg_terminate_backend(pid, 1000) from pg_stat_activity where datname = current_database() "
        "and pid <> pg_backend_pid() and application_name = 'cairn'");
  }
  EXPECT_EQ(store->run(run.id())->head, 5);
}

// A process that is stopped inside a transaction leaves its locks to others.
class StoppedInside : public ::testing::Test {
 protected:
  static PgStatement lock() { return {"lock_graph", "LOCK TABLE cairn.graph IN EXCLUSIVE MODE"}; }

  void expect_others_can_lock() {
    PgConnection other({dsn, "other", true});
    other.execute("SET lock_timeout = '20s'");
    EXPECT_NO_THROW(other.execute("BEGIN; LOCK TABLE cairn.graph IN EXCLUSIVE MODE; COMMIT"));
  }
  static void commit(PgConnection& connection) {
    connection.send(commit_statement());
    connection.sync();
    connection.finish();
  }
  // When the stopped process continues, it must find its transaction ended.
  static void expect_ended(const std::function<void()>& go_on) {
    try {
      go_on();
      ADD_FAILURE() << "it kept its transaction";
    } catch (const PostgresError& ended) {
      EXPECT_TRUE(ended.is_transient()) << ended.sqlstate() << " " << ended.what();
    }
  }

  std::string dsn = new_database(1);
  PostgresPool pool{{dsn, "cairn", true}, 1};
};

// A stopped worker held a run's row for ever: no other worker could continue the run.
TEST_F(StoppedInside, a_transaction) {
  pool.run([&](PgConnection& asleep) {
    asleep.execute("BEGIN");
    asleep.execute(lock().text);
    expect_others_can_lock();
    expect_ended([&] { asleep.execute("COMMIT"); });
    return 0;
  });
}

// The server took a pipeline between two of its parts for a statement under way and waited for ever.
TEST_F(StoppedInside, a_pipeline) {
  pool.run([&](PgConnection& asleep) {
    asleep.begin_pipeline();
    asleep.send(begin_statement());
    asleep.send(lock());
    asleep.sync();
    asleep.receive();
    asleep.receive();
    expect_others_can_lock();
    expect_ended([&] { commit(asleep); });
    return 0;
  });
}

// libpq sends a long part in several pieces; the server does not end who stops between them.
TEST_F(StoppedInside, half_a_part_of_a_pipeline) {
  const auto store = store_on(dsn);
  pool.run([&](PgConnection& asleep) {
    asleep.begin_pipeline();
    asleep.send(begin_statement());
    asleep.send(lock());
    const std::string long_text(100'000, 'x');
    asleep.send({"long", "SELECT $1::text"}, PgParameters().add(long_text));
    const auto is_held = [&] {
      return ask(dsn,
                 "select exists (select from pg_locks where granted and mode = 'ExclusiveLock' and "
                 "relation = 'cairn.graph'::regclass)")
          .boolean(0, 0);
    };
    EXPECT_TRUE(wait_until(is_held));
    store->sessions().end_stalled(60'000);
    EXPECT_TRUE(is_held()) << "not for so long";
    store->sessions().end_stalled(0);
    expect_others_can_lock();
    expect_ended([&] { commit(asleep); });
    return 0;
  });
}

// The server ends the connection of an open transaction; what is still sent then finds it lost, not broken.
void expect_lost(const std::function<void(PgConnection&)>& send_more) {
  const std::string dsn = new_database(1);
  PgConnection connection({dsn, "test", true});
  connection.begin_pipeline();
  connection.send(begin_statement());
  connection.sync();
  connection.receive();
  ask(dsn, "select pg_terminate_backend(" + std::to_string(connection.backend()) + ", 5000)");
  try {
    send_more(connection);
    connection.sync();
    connection.finish();
    ADD_FAILURE() << "the connection is there";
  } catch (const PostgresError& lost) {
    EXPECT_TRUE(lost.is_transient()) << lost.sqlstate() << " " << lost.what();
  }
  EXPECT_FALSE(connection.is_clean());
}

TEST(PostgresConnection, one_terminated_before_its_commit_is_lost) {
  expect_lost([](PgConnection& connection) { connection.send(commit_statement()); });
}

// Seen as an error of the program: the commit was sent again as another one, and its first one refused the second.
TEST(PostgresConnection, one_terminated_at_the_sync_of_a_pipeline_is_lost) {
  expect_lost([](PgConnection&) {});
}

TEST(PostgresStore, a_database_that_stays_away_is_unavailable) {
  auto proxy = std::make_unique<CuttingProxy>(new_database(1));
  PostgresOptions options;
  options.dsn = proxy->dsn();
  options.patience_ms = 200;
  const Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  ASSERT_TRUE(store);
  TestRun run(**store);
  proxy.reset();
  EXPECT_THROW(run.commit(run.entry()), StoreUnavailable);
}

// A host that takes the connection and says nothing: the first of several in a DSN, say.
TEST(Administration, gives_up_on_a_silent_host) {
  const SilentHost host;
  EXPECT_THROW(Administration("host=127.0.0.1 user=u dbname=d port=" + host.port(), "cairn test"), PostgresError);
}

TEST(PostgresStore, open_refuses_an_unreachable_and_an_empty_database) {
  PostgresOptions options;
  options.dsn = "host=/nowhere dbname=x";
  EXPECT_EQ(open_postgres_store(options).error().code, Code::unavailable);
  options.dsn = new_empty_database();
  EXPECT_EQ(open_postgres_store(options).error().code, Code::not_found);
}

// --- how rows change -------------------------------------------------------------------------------------------------

TEST(PostgresStore, a_claimed_and_kept_branch_moves_by_hot_updates_alone) {
  const std::string dsn = new_database(1);
  {
    const auto store = store_on(dsn);
    TestRun run(*store);
    run.row.tags = {{"a", "b"}};
    ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
    const HeldJob held = store->claim(claim_request(7)).jobs.at(0);
    for (StepId step = 1; step <= 20; ++step) {
      Entry entry = run.entry();
      entry.fences.push_back({1, 7, held.epoch, step});
      entry.jobs.push_back(keep(job_of(1, step + 1)));
      if (step == 20) entry.run.status = RunStatus::done;
      ASSERT_EQ(run.commit(entry).kind, Kind::committed);
    }
  }
  ASSERT_TRUE(wait_until([&] { return statistic(dsn, "n_tup_upd", "job") == 21; }));
  EXPECT_EQ(statistic(dsn, "n_tup_hot_upd", "job"), 21) << "one claim and 20 kept steps";
  EXPECT_EQ(statistic(dsn, "n_tup_upd", "run"), 20);
  EXPECT_EQ(statistic(dsn, "n_tup_hot_upd", "run"), 20) << "the run's end included";
}

// --- time ------------------------------------------------------------------------------------------------------------

// Half of the time that connecting took was once taken for the database's lead.
TEST(PostgresStore, the_clock_is_right_though_the_first_question_opens_a_connection) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn + " options='-c post_auth_delay=1'");
  const TimeUs said = store->database_time();
  const TimeUs after = ask_number(dsn, "select extract(epoch from clock_timestamp()) * 1000000");
  EXPECT_LE(said, after + 200'000);
}

// --- wake-ups --------------------------------------------------------------------------------------------------------

// It has heard of all that came until now.
std::unique_ptr<Store> listening_store(const std::string& dsn) {
  std::unique_ptr<Store> store = store_on(dsn, true);
  while (store->await_notification(200, NotifiedBy::any_process)) {
  }
  return store;
}

TEST(PostgresStore, a_wake_up_reaches_another_process_and_not_through_a_hot_transaction) {
  const std::string dsn = new_database(1);
  const auto here = store_on(dsn, true);
  const auto there = listening_store(dsn);
  const auto listening = [&] {
    return ask_number(dsn,
                      "select count(*) from pg_stat_activity where query = 'LISTEN cairn' "
                      "and datname = current_database()") == 1;
  };
  ASSERT_TRUE(wait_until(listening));
  TestRun run(*here);
  run.start(job_of(1, 1));
  EXPECT_FALSE(there->await_notification(1, NotifiedBy::any_process)) << "a commit sends nothing by itself";
  here->notify();
  EXPECT_TRUE(there->await_notification(10'000, NotifiedBy::any_process));
  while (there->await_notification(200, NotifiedBy::any_process) ||
         here->await_notification(200, NotifiedBy::any_process)) {
  }
  TestRun other(*here);
  const std::vector<Entry> batch{other.entry()};
  EXPECT_EQ(here->commit(0, batch, {.notify = true})[0].kind, Kind::committed);
  EXPECT_TRUE(there->await_notification(10'000, NotifiedBy::any_process));
  EXPECT_TRUE(here->await_notification(0, NotifiedBy::any_process));
  EXPECT_FALSE(here->await_notification(300, NotifiedBy::any_process))
      << "its own hint comes back from the database, and says nothing new";
}

TEST(PostgresConnection, what_nobody_waits_for_is_received_before_the_next_use) {
  PgConnection connection({new_database(1), "test", true});
  const PgStatement first{"first", "select 1"}, second{"second", "select 2"}, bad{"bad", "select 1 / $1::int"};
  for (const bool is_bad : {false, true}) {
    connection.begin_pipeline();
    connection.send(first);
    connection.sync();
    connection.leave_rest();
    is_bad ? connection.send(bad, PgParameters().add(std::int32_t{0})) : connection.send(second);
    connection.sync();
    EXPECT_EQ(connection.receive().int4(0, 0), 1);
    connection.finish();
    EXPECT_TRUE(connection.is_clean());
    EXPECT_EQ(connection.query(second).int4(0, 0), 2);
    connection.execute("select 1");
    EXPECT_TRUE(connection.is_clean());
  }
}

TEST(PostgresStore, a_listener_comes_back_after_its_connection_was_lost) {
  const std::string dsn = new_database(1);
  const auto here = store_on(dsn, true);
  const auto there = store_on(dsn, true);
  there->await_notification(1, NotifiedBy::any_process);
  ask(dsn,
      "select pg_terminate_backend(pid, 1000) from pg_stat_activity where datname = current_database() "
      "and pid <> pg_backend_pid() and application_name = 'cairn'");
  EXPECT_TRUE(wait_until([&] {
    here->notify();
    return there->await_notification(10, NotifiedBy::any_process);
  }));
}

TEST(PostgresStore, only_a_process_that_waits_for_others_listens_to_them) {
  const std::string dsn = new_database(1);
  const auto here = store_on(dsn, true);
  const auto there = store_on(dsn, true);
  const auto listeners = [&] {
    return ask_number(dsn,
                      "select count(*) from pg_stat_activity where query = 'LISTEN cairn' "
                      "and datname = current_database()");
  };
  EXPECT_FALSE(there->await_notification(100, NotifiedBy::this_process));
  EXPECT_EQ(listeners(), 0);
  there->await_notification(100, NotifiedBy::any_process);
  EXPECT_EQ(listeners(), 1);
  EXPECT_TRUE(wait_until([&] {
    there->await_notification(100, NotifiedBy::this_process);
    return listeners() == 0;
  }));
  here->notify();
  EXPECT_FALSE(there->await_notification(100, NotifiedBy::this_process));
  std::atomic<bool> has_heard{false};
  there->await_notification(100, NotifiedBy::any_process);
  EXPECT_EQ(listeners(), 1);
  std::thread waiter([&] { has_heard = there->await_notification(60'000, NotifiedBy::this_process); });
  EXPECT_TRUE(wait_until([&] {
    here->notify();
    return has_heard.load();
  })) << "connections that stand are heard by whoever waits";
  waiter.join();
}

TEST(PostgresStore, a_thread_that_waits_listens_once_the_one_that_did_has_left) {
  const std::string dsn = new_database(1);
  const auto here = store_on(dsn, true);
  const auto there = listening_store(dsn);
  std::atomic<bool> begins{false};
  std::thread first([&] {
    begins = true;
    there->await_notification(1'000, NotifiedBy::any_process);
  });
  while (!begins) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it listens by now
  std::atomic<bool> has_heard{false};
  std::thread second([&] { has_heard = there->await_notification(60'000, NotifiedBy::any_process); });
  first.join();
  here->notify();
  EXPECT_TRUE(wait_until([&] { return has_heard.load(); }));
  second.join();
}

TEST(PostgresStore, a_notification_of_this_process_alone_reaches_no_other) {
  const std::string dsn = new_database(1);
  const auto here = store_on(dsn, true);
  const auto there = listening_store(dsn);
  here->notify_here();
  EXPECT_TRUE(here->await_notification(0, NotifiedBy::this_process));
  EXPECT_FALSE(there->await_notification(200, NotifiedBy::any_process));
}

TEST(PostgresStore, a_commit_of_one_job_names_it_to_other_processes) {
  const std::string dsn = new_database(1);
  const auto here = store_on(dsn, true);
  const auto there = listening_store(dsn);
  TestRun older(*here), newer(*here);
  ASSERT_EQ(older.start(job_of(1, 1, noon - 1)).kind, Kind::committed);
  ClaimRequest of_another = claim_request(7);
  of_another.queues = {"other"};
  ASSERT_TRUE(there->claim(of_another).jobs.empty()) << "what was heard before is told";
  Entry entry = newer.entry();
  entry.jobs.push_back(offer(job_of(1, 1)));
  ASSERT_EQ(here->commit(0, std::vector<Entry>{entry}, {.notify = true})[0].kind, Kind::committed);
  ASSERT_TRUE(there->await_notification(10'000, NotifiedBy::any_process));
  ClaimRequest request = claim_request(7);
  request.notified_only = true;
  const std::vector<HeldJob> claimed = there->claim(request).jobs;
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].run, newer.id());
}

// A run continues after a pause in the same commit in which another begins: the notification is for both.
TEST(PostgresStore, a_commit_that_offers_one_job_and_frees_another_names_none) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn);
  TestRun paused(*store), begins(*store);
  ASSERT_EQ(paused.start(job_of(1, 1, never_us)).kind, Kind::committed);
  Entry goes_on = paused.entry();
  goes_on.jobs.push_back(adjust(job_of(1, 1)));
  Entry begun = begins.entry();
  begun.jobs.push_back(offer(job_of(1, 1)));
  for (const Verdict& verdict : store->commit(0, std::vector<Entry>{goes_on, begun}, {.notify = true}))
    ASSERT_EQ(verdict.kind, Kind::committed);
  ClaimRequest request = claim_request(7);
  request.notified_only = true;
  EXPECT_EQ(store->claim(request).jobs.size(), 2u);
}

// A rebuild may be under way while workers run.
TEST(PostgresStore, a_look_at_what_is_held_passes_over_a_job_whose_run_has_lost_its_row) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn);
  TestRun whole(*store), torn(*store);
  whole.start(job_of(1, 1));
  torn.start(job_of(1, 1));
  ASSERT_EQ(store->claim(claim_request(7, 2)).jobs.size(), 2u);
  ask(dsn, "delete from cairn.run where run_id = '" + to_string(torn.id()) + "'");
  const HeldScan look = store->sessions().scan_held(7, noon, 10);
  ASSERT_EQ(look.own.size(), 1u);
  EXPECT_EQ(look.own[0].run, whole.id());
}

// --- roles -----------------------------------------------------------------------------------------------------------

class Roles : public ::testing::Test {
 protected:
  void SetUp() override {
    dsn_ = new_database(1);
    ask(dsn_, "drop role if exists ann");
    ask(dsn_, "create role ann login in role cairn_app");
  }
  void TearDown() override { ask(dsn_, "drop role ann"); }
  std::string refusal(const std::string& sql) {
    try {
      ask(with_user(dsn_, "ann"), sql);
      return "done";
    } catch (const PostgresError& error) {
      return error.sqlstate();
    }
  }
  std::string dsn_;
};

TEST_F(Roles, an_application_login_can_do_all_that_the_store_does) {
  const auto store = store_on(with_user(dsn_, "ann"));
  TestRun run(*store);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
  SessionRow session;
  session.id = 7;
  store->sessions().open(session);
  store->sessions().beat(7);
  const HeldJob held = store->claim(claim_request(7)).jobs.at(0);
  Entry entry = run.entry();
  entry.fences.push_back(fence_of(held));
  QuestionRow question;
  question.id = "q1";
  entry.asked.push_back(question);
  entry.jobs = {keep(job_of(1, 2)), hold(job_of(2, 2), 7), offer(job_of(3, 3))};
  ASSERT_EQ(run.commit(entry).kind, Kind::committed);
  Entry last = run.entry();
  last.closed_questions = {"q1"};
  last.jobs = {drop(2), adjust(job_of(3, 3, noon + 1))};
  ASSERT_EQ(run.commit(last).kind, Kind::committed);
  std::vector<Entry> linked{run.entry(), TestRun(*store).entry()};
  linked[0].chain_before[0] ^= 1;
  linked[0].link = linked[1].link = 1;
  EXPECT_EQ(store->commit(0, linked, {})[1].kind, Kind::conflict);
  const std::vector<std::pair<RunId, Fence>> holds{{run.id(), {1, 7, held.epoch, 2}}};
  store->jobs().release(holds, noon);
  store->graphs().put({"g", "v", "{}", true});
  store->graphs().put({"g", "w", "{}", true});
  store->values().put(0, Hash{}, "x");
  store->snapshots().put(run.id(), {1, 1, Hash{}, "s"});
  store->snapshots().put(run.id(), {1, 1, Hash{}, "t"});
  EXPECT_EQ(store->graphs().all().size(), 2u);
  EXPECT_EQ(store->sessions().all().size(), 1u);
  store->jobs().queues();
  store->runs({});
  store->all_runs().questions({}, 1);
  OrphanMark mark;
  store->all_runs().orphans(mark, 1);
  store->all_runs().loose_ends({}, 1);
  store->all_runs().tie_ends({});
  store->sessions().held_by(7, 1, {});
  store->sessions().scan_held(7, noon, 1);
  store->sessions().held_counts();
  store->sessions().close(7);
  EXPECT_EQ(chain_fault(*store, run.id()), "");
}

TEST_F(Roles, an_application_login_cannot_change_history) {
  const auto store = store_on(dsn_);
  TestRun run(*store);
  run.start(job_of(1, 1));
  EXPECT_EQ(refusal("update cairn.event set payload = 'x'"), "42501");
  EXPECT_EQ(refusal("delete from cairn.event"), "42501");
  EXPECT_EQ(refusal("truncate cairn.event"), "42501");
  EXPECT_EQ(refusal("drop table cairn.event"), "42501");
  EXPECT_EQ(refusal("update cairn.checkpoint set n = 1"), "42501");
  EXPECT_EQ(refusal("select count(*) from cairn.event"), "done");
}

// A server looks a token up; its login can make none.
TEST_F(Roles, H7_an_application_login_reads_tokens_and_makes_none) {
  ask(dsn_, "insert into cairn.token values ('ann', 'x', '{admin}', '{}', '{}', 1, 'user:ann')");
  EXPECT_EQ(refusal("select name, hash from cairn.token"), "done");
  EXPECT_EQ(refusal("insert into cairn.token values ('bob', 'y', '{admin}', '{}', '{}', 1, 'user:bob')"), "42501");
  EXPECT_EQ(refusal("update cairn.token set roles = '{admin}'"), "42501");
  EXPECT_EQ(refusal("delete from cairn.token"), "42501");
  ask(dsn_, "revoke cairn_app from ann");
  ask(dsn_, "grant cairn_read to ann");
  EXPECT_EQ(refusal("select name from cairn.token"), "42501");
}

TEST_F(Roles, a_reading_login_reads_and_no_more) {
  ask(dsn_, "revoke cairn_app from ann");
  ask(dsn_, "grant cairn_read to ann");
  EXPECT_EQ(refusal("select * from cairn.events"), "done");
  EXPECT_EQ(refusal("select * from cairn.runs"), "done");
  EXPECT_EQ(refusal("delete from cairn.run"), "42501");
  EXPECT_EQ(refusal("insert into cairn.queue (name) values ('x')"), "42501");
}

}  // namespace
}  // namespace cairn
