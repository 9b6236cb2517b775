// A server that loses processes, its clock or its data, or hangs; rows that a foreign transaction holds; entries that
// it refuses; statements that it gives no time.
#include <csignal>
#include <gtest/gtest.h>
#include <iostream>
#include <thread>

#include "storage/postgres/administration.hpp"
#include "tests/faults/load.hpp"
#include "tests/faults/server.hpp"
#include "tests/faults/tampering.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A load on a server of its own, broken and looked at.
void break_server(const std::string& name, const std::string& fault, ServerOptions options,
                  const std::function<int(OwnServer&, Load&)>& breaks) {
  OwnServer server(name, std::move(options));
  Load load({.name = name, .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  const int injected = breaks(server, load);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled(fault, injected);
}

TEST(Faults, half_of_the_backends_killed) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("halved", "SIGKILL of half of the backends at once, crash recovery", {},
               [](OwnServer& server, Load& load) {
                 int killed = 0;
                 load.under(3, milliseconds(700),
                            [&] { load.lose(Unwritten::claims, [&] { killed += server.kill_backends(2); }); });
                 return killed;
               });
}

TEST(Faults, processes_of_the_server_itself_are_killed_and_it_is_restarted) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("helpless", "SIGKILL of the checkpointer, the WAL writer, the autovacuum launcher; a fast restart", {},
               [](OwnServer& server, Load& load) {
                 for (const char* kind : {"checkpointer", "walwriter", "autovacuum launcher", ""})
                   load.under(2, milliseconds(700), [&] {
                     load.lose(Unwritten::claims,
                               [&] { *kind == 0 ? server.restart_fast() : server.kill_process(kind); });
                   });
                 return 8;
               });
}

TEST(Faults, the_postmaster_alone_is_killed) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("headless", "SIGKILL of the postmaster alone, started again by hand", {},
               [](OwnServer& server, Load& load) {
                 load.under(2, milliseconds(700), [&] {
                   load.lose(Unwritten::claims, [&] {
                     server.kill_postmaster();
                     server.start();
                   });
                 });
                 return 2;
               });
}

// A step that is queued while it is ahead stands until then (tests/attacks.md, D9): here for seconds.
TEST(Faults, the_clock_of_the_server_is_set_forward_and_back) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  ASSERT_TRUE(OwnServer::can_set_clock()) << "its Debian package is faketime";
  break_server("timeless", "the server's clock an hour back for 4 s, then right; 5 s ahead for 4 s, then right",
               {.has_clock = true}, [](OwnServer& server, Load& load) {
                 for (const int by : {-3'600, 0, 5, 0}) load.under(1, seconds(4), [&] { server.set_clock(by); });
                 EXPECT_TRUE(wait_until([&] { return load.has_said("clock was set"); }));
                 return 4;
               });
}

// Its runs wait, with what shares their commits; all others go on.
TEST(Faults, a_writer_that_sleeps_on_rows) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("asleep", "a foreign transaction idle with locks on three runs for 3 s, twice", {},
               [](OwnServer& server, Load& load) {
                 load.start_batch(is_full() ? 300 : 3);
                 const auto hold_rows = [&] {
                   Administration writer(server.dsn(), "sleeper");
                   writer.execute(
                       "begin; select run_id from cairn.run where status = 'running' order by run_id limit 3 "
                       "for update");
                   std::this_thread::sleep_for(seconds(3));
                   writer.execute("rollback");
                 };
                 load.measure_during([&] { load.under(2, seconds(2), hold_rows); }, 0.95);
                 return 2;
               });
}

// By a trigger of the operator's: as a damaged page, a bound, an encoding or a rule would refuse it.
TEST(Faults, entries_that_the_database_refuses_for_good) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("refusing", "entries that the database refuses for good (XX001, 22P05, 23514, 54000)", {},
               [](OwnServer& server, Load& load) {
                 test::ask(server.dsn(),
                           "create function public.refuse() returns trigger language plpgsql as $$ begin "
                           "if position('no database takes this' in new.payload) > 0 then "
                           "raise exception 'refused' using errcode = "
                           "(array['XX001', '22P05', '23514', '54000'])[1 + new.seq % 4]; end if; return new; end $$");
                 test::ask(server.dsn(),
                           "create trigger refuse before insert on cairn.event for each row execute function "
                           "public.refuse()");
                 load.under(is_full() ? 12 : 2, milliseconds(200), [&] { load.start_poison("refused"); });
                 return is_full() ? 12 : 2;
               });
}

// A statement that takes longer is cancelled, and one that would wait for a lock fails.
TEST(Faults, a_login_whose_statements_have_four_milliseconds) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer server("hasty");
  cairn_ok({"migrate", "--dsn", server.dsn()});
  test::ask(server.dsn(), "create role hasty login in role cairn_app");
  Load load({.name = "hasty", .worker_dsns = {test::with_user(server.dsn(), "hasty")}, .dsn = server.dsn()});
  const auto limit = [&](int statement_ms, int lock_ms) {
    test::ask(server.dsn(), "alter role hasty set statement_timeout = " + std::to_string(statement_ms));
    test::ask(server.dsn(), "alter role hasty set lock_timeout = " + std::to_string(lock_ms));
    test::ask(server.dsn(), "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'hasty'");
  };
  load.start_plans(6);
  load.measure_before();
  load.measure_during([&] {
    load.under(1, milliseconds(0), [&] {
      limit(4, 1);
      std::this_thread::sleep_for(seconds(15));
      limit(0, 0);
    });
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("statement_timeout of 4 ms and lock_timeout of 1 ms for the workers, for 15 s",
                                      1);
}

TEST(Faults, the_folder_of_the_data_is_moved_away_and_back) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("homeless", "the server's data folder moved away for 3 s, and back", {},
               [](OwnServer& server, Load& load) {
                 load.under(2, seconds(2), [&] {
                   load.lose(Unwritten::claims, [&] {
                     server.take_data();
                     std::this_thread::sleep_for(seconds(3));
                     server.return_data();
                   });
                 });
                 return 2;
               });
}

// Acknowledged runs that the copy lacks are gone, each named by `verify`, and workers say that the history has gone
// back.
TEST(Faults, an_older_backup_is_restored_under_the_workers) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("restored", "a backup of some seconds ago restored", {}, [](OwnServer& server, Load& load) {
    load.lose(Unwritten::commits, [&] {
      server.back_up();
      load.start_plans(5);
      std::this_thread::sleep_for(seconds(2));
      server.restore();
    });
    load.fault_ended();
    load.start_plans(3);
    EXPECT_TRUE(wait_until([&] { return load.has_said("has gone back"); }, seconds(30)));
    return 1;
  });
}

// Its machine hangs, and is gone before anybody notices: nothing is closed, nothing is answered any more.
TEST(Faults, a_standby_takes_over_from_a_primary_that_hangs) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer primary("hung_primary");
  OwnServer standby("hung_standby", primary);
  primary.set("synchronous_standby_names", "*");
  Load load({.name = "hung", .dsn = primary.dsn_with(standby)});
  load.outlive_primary([&] { primary.signal_all(SIGSTOP); }, [&] { standby.promote(); },
                       "primary hangs for good, its standby promoted after 3 s");
}

// After the load; each alteration is undone before the next, and at the end all is sound again.
TEST(Faults, an_altered_history_is_found) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_server("altered", "events altered, swapped, removed, a tail cut, a run removed; each found by verify", {},
               [](OwnServer& server, Load& load) {
                 load.wait_until_ended();
                 load.start_plans(2);
                 load.wait_until_ended();
                 const int found = tamper_and_verify(load, server.dsn());
                 load.start_plans(2);
                 load.fault_ended();
                 return found;
               });
}

}  // namespace
}  // namespace cairn::program
