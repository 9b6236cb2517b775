// A database that is silent: it closes nothing and answers nothing, because its processes are stopped or the network
// loses everything. Every call ends in time.
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/reachable.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"
#include "tests/storage/silent_host.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"
#include "tests/waiting.hpp"

namespace cairn::test {
namespace {

using Seconds = std::chrono::duration<double>;

template <class Work>
double seconds_of(Work&& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::steady_clock::now() - began).count();
}

std::unique_ptr<Store> open_through(const CuttingProxy& proxy, std::int64_t patience_ms) {
  PostgresOptions options;
  options.dsn = proxy.dsn();
  options.patience_ms = patience_ms;
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  EXPECT_TRUE(store.ok());
  return *std::move(store);
}

// A backend that is stopped, as SIGSTOP of a server does.
class StoppedBackend {
 public:
  explicit StoppedBackend(const PgConnection& connection) : pid_(connection.backend()) { kill(pid_, SIGSTOP); }
  ~StoppedBackend() { kill(pid_, SIGCONT); }
  StoppedBackend(const StoppedBackend&) = delete;
  StoppedBackend& operator=(const StoppedBackend&) = delete;

 private:
  pid_t pid_;
};

TEST(Silence, D1_a_commit_on_a_network_that_swallows_everything_is_given_up_within_the_patience) {
  CuttingProxy proxy(new_database(1));
  const auto store = open_through(proxy, 2'000);
  TestRun run(*store);
  run.commit(run.entry());
  proxy.swallow();
  const double took = seconds_of([&] { EXPECT_THROW(run.commit(run.entry()), StoreUnavailable); });
  EXPECT_GT(took, 1.5);
  EXPECT_LT(took, 9);  // the second attempt may have to open a connection, which has five seconds of its own
}

TEST(Silence, D1_a_stopped_backend_fails_its_call_and_its_connection_is_not_used_again) {
  PgConnectOptions options{.dsn = new_database(1)};
  options.silence_ms = 300;
  PgConnection connection(options);
  {
    const StoppedBackend stopped(connection);
    try {
      connection.query(statement("database_time"));
      ADD_FAILURE() << "it answered";
    } catch (const PostgresError& failure) {
      EXPECT_TRUE(failure.is_transient());
      EXPECT_STREQ(failure.what(), "the server said nothing for 300 ms");
    }
  }
  EXPECT_FALSE(connection.is_clean());
}

// More than its socket takes: the send itself would wait.
TEST(Silence, D1_a_stopped_backend_that_takes_no_more_bytes_is_noticed_as_well) {
  PgConnectOptions options{.dsn = new_database(1)};
  options.silence_ms = 300;
  PgConnection connection(options);
  const StoppedBackend stopped(connection);
  const std::string large(30'000'000, 'x');
  EXPECT_THROW(connection.query({"large", "select length($1::text)"}, PgParameters().add(large)), PostgresError);
}

// By libpq it was moved to the front of a buffer after each write that the socket took in part.
TEST(Silence, a_large_statement_is_sent_whole_and_the_connection_goes_on) {
  PgConnectOptions options{.dsn = new_database(1)};
  options.silence_ms = 10'000;
  PgConnection connection(options);
  for (const std::size_t bytes : {std::size_t{17} << 20, (std::size_t{96} << 20) + 1}) {
    const PgResult length =
        connection.query({"large", "select length($1::text)"}, PgParameters().add(std::string(bytes, 'x')));
    EXPECT_EQ(length.int4(0, 0), static_cast<std::int32_t>(bytes));
  }
  EXPECT_TRUE(connection.is_clean());
  EXPECT_EQ(connection.query(statement("database_time")).rows(), 1);
}

TEST(Silence, a_large_statement_is_given_up_with_what_it_is_for) {
  std::atomic<bool> is_given_up{false};
  PgConnectOptions options{.dsn = new_database(1)};
  options.is_given_up = &is_given_up;
  PgConnection connection(options);
  const StoppedBackend stopped(connection);
  const std::jthread gives_up([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    is_given_up = true;
  });
  const std::string large(30'000'000, 'x');
  const double took = seconds_of([&] {
    EXPECT_THROW(connection.query({"large", "select length($1::text)"}, PgParameters().add(large)), PostgresError);
  });
  EXPECT_LT(took, 5);
}

TEST(Silence, D1_a_slow_statement_is_no_silence_while_rows_arrive) {
  PgConnectOptions options{.dsn = new_database(1)};
  options.silence_ms = 500;
  PgConnection connection(options);
  const PgResult rows =
      connection.query({"slow", "select repeat('x', 20000), pg_sleep(0.05)::text from generate_series(1, 30)"});
  EXPECT_EQ(rows.rows(), 30);
}

TEST(Silence, D8_attempts_count_towards_the_patience_and_not_pauses_alone) {
  PostgresPool pool({new_database(1), "test"}, 1, 1'500);
  int attempts = 0;
  const double took = seconds_of([&] {
    EXPECT_THROW(pool.run([&](PgConnection&) -> int {
      ++attempts;
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      throw PostgresError("53100", "no room");
    }),
                 StoreUnavailable);
  });
  EXPECT_LT(took, 3);
  EXPECT_LE(attempts, 4);
  EXPECT_GE(attempts, 2);
}

TEST(Silence, D2_administration_gives_up_a_statement_and_the_opening_of_a_connection) {
  CuttingProxy proxy(new_database(1));
  Administration database(proxy.dsn(), "test", 500);
  EXPECT_EQ(database.query("backend").size(), 1u);
  proxy.swallow();
  const double took = seconds_of([&] {
    try {
      database.query("backend");
      ADD_FAILURE() << "it answered";
    } catch (const PostgresError& failure) {
      EXPECT_TRUE(failure.is_transient());
      EXPECT_STREQ(failure.what(), "the server gave no answer for 500 ms");
    }
  });
  EXPECT_LT(took, 3);
  EXPECT_LT(seconds_of([&] { EXPECT_THROW(Administration(proxy.dsn(), "test"), PostgresError); }), 12);
}

TEST(Silence, D1_readiness_is_refused_within_seconds) {
  CuttingProxy proxy(new_database(1));
  EXPECT_TRUE(probe_database(proxy.dsn()).ok());
  proxy.swallow();
  EXPECT_LT(seconds_of([&] { EXPECT_FALSE(probe_database(proxy.dsn()).ok()); }), 5);
}

TEST(Silence, D1_calls_under_way_end_at_once_when_the_store_is_given_up) {
  CuttingProxy proxy(new_database(1));
  const auto store = open_through(proxy, 60'000);
  EXPECT_EQ(store->sessions().all().size(), 0u);
  proxy.swallow();
  std::atomic<bool> has_ended = false;
  std::thread caller([&] {
    EXPECT_THROW(store->sessions().all(), StoreUnavailable);
    has_ended = true;
  });
  EXPECT_TRUE(wait_until([&] { return proxy.swallowed() > 0; }));
  store->give_up();
  EXPECT_TRUE(wait_until([&] { return has_ended.load(); }, std::chrono::seconds(5)));
  caller.join();
  EXPECT_THROW(store->sessions().all(), StoreUnavailable);
}

// Without client_connection_check_interval it would wait for the lock on, one more with each attempt.
TEST(Silence, D1_a_statement_that_was_given_up_ends_on_the_server) {
  const std::string dsn = new_database(1);
  PgConnection holder({dsn, "holder"});
  holder.execute("BEGIN; LOCK TABLE cairn.queue");
  PostgresPool pool({dsn, "given up"}, 1, 1'000);
  EXPECT_THROW(pool.query("queue_limits"), StoreUnavailable);
  const auto left = [&] {
    return ask_number(dsn, "select count(*) from pg_stat_activity where application_name = 'given up'");
  };
  EXPECT_TRUE(wait_until([&] { return left() == 0; }, std::chrono::seconds(15))) << left();
}

TEST(Silence, A19_what_is_committed_is_on_disk_whatever_the_database_says) {
  const std::string dsn = new_database(1);
  const auto setting = [&] {
    PostgresPool pool({dsn, "test"}, 1);
    return pool.run([](PgConnection& connection) {
      return std::string(connection.query({"shown", "select current_setting('synchronous_commit')"}).text(0, 0));
    });
  };
  EXPECT_EQ(setting(), "on");
  const std::string database = ask_text(dsn, "current_database()");
  for (const auto& [said, means] : {std::pair("off", "on"), {"local", "local"}, {"remote_apply", "remote_apply"}}) {
    ask(dsn, "alter database " + database + " set synchronous_commit = " + said);
    EXPECT_EQ(setting(), means);
  }
}

// --- several hosts ---------------------------------------------------------------------------------------------------

// Two that take connections, and two that are gone.
class SilentHosts {
 public:
  std::string dsn() const {
    return "host=127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1 port=" + ports() + " user=tester dbname=postgres";
  }
  // The last host answers.
  std::string dsn_before(const std::string& database) const {
    return database + " host='127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1," + socket_folder_of(database) +
           "' port=" + ports() + ",5432";
  }
  const SilentHost& first() const { return hanging_[0]; }

 private:
  std::string ports() const {
    return hanging_[0].port() + "," + absent_[0].port() + "," + hanging_[1].port() + "," + absent_[1].port();
  }

  SilentHost hanging_[2];
  AbsentHost absent_[2];
};

// Each had three seconds of its own, whatever the patience.
TEST(Silence, D2_hosts_that_say_nothing_share_the_patience_and_the_one_after_them_is_reached) {
  const SilentHosts hosts;
  PostgresPool pool({hosts.dsn_before(new_database(1))}, 1, 5'000);
  EXPECT_LT(seconds_of([&] { EXPECT_EQ(pool.query("identity").rows(), 1); }), 9);
}

TEST(Silence, D2_hosts_of_which_none_answers_are_given_up_within_the_patience) {
  const SilentHosts hosts;
  PostgresPool pool({hosts.dsn()}, 1, 2'000);
  const auto says = [&] {
    try {
      (void)pool.query("identity");
    } catch (const StoreUnavailable& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  std::string said;
  EXPECT_LT(seconds_of([&] { said = says(); }), 7);
  EXPECT_NE(said.find("127.0.0.1, port " + hosts.first().port() + ", said nothing for "), std::string::npos) << said;
}

TEST(Silence, D2_hosts_that_are_being_connected_to_keep_no_process_from_its_end) {
  const SilentHosts hosts;
  PostgresPool pool({hosts.dsn()}, 1, 60'000);
  std::thread ending([&] {
    EXPECT_TRUE(hosts.first().is_asked());
    pool.give_up();
  });
  EXPECT_LT(seconds_of([&] { EXPECT_THROW(pool.query("identity"), StoreUnavailable); }), 7);
  ending.join();
}

// libpq asks all for a standby first, and comes back to the first host then.
TEST(Silence, D2_a_standby_that_is_preferred_and_says_nothing_does_not_keep_from_the_primary) {
  const std::string database = new_database(1), place = socket_folder_of(database);
  const SilentHost hanging;
  const AbsentHost absent;
  for (const auto& [hosts, ports] :
       {std::pair("127.0.0.1," + place, absent.port() + ",5432"), {place + ",127.0.0.1", "5432," + hanging.port()}}) {
    PostgresPool pool({database + " host='" + hosts + "' port=" + ports + " target_session_attrs=prefer-standby"}, 1,
                      6'000);
    EXPECT_LT(seconds_of([&] { EXPECT_EQ(pool.query("identity").rows(), 1); }), 9) << hosts;
  }
}

// A name may have several addresses, of which the first takes connections and says nothing.
TEST(Silence, D2_an_address_is_left_as_well_where_its_host_is_named) {
  const SilentHost hanging;
  const std::string database = new_database(1);
  PostgresPool pool(
      {database + " host='localhost," + socket_folder_of(database) + "' port=" + hanging.port() + ",5432"}, 1, 5'000);
  EXPECT_LT(seconds_of([&] { EXPECT_EQ(pool.query("identity").rows(), 1); }), 9);
}

}  // namespace
}  // namespace cairn::test
